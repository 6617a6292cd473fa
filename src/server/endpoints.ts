import type { BrokerImage, MetadataImage } from '../metadata/image.ts'
import type { NodeEndpoint } from '../replica/types.ts'
import type { ClientConnection } from './connections/client-connection.ts'

/** Unfenced, so that clients may be sent there. */
export function isAlive(broker: BrokerImage | undefined): broker is BrokerImage {
  return broker !== undefined && !broker.fenced
}

/** Tells clients where brokers are: on the listener that the client itself came in by. */
export class Endpoints {
  readonly #nodeId: number
  readonly #advertised: ReadonlySet<string>
  readonly #image: () => MetadataImage

  /** `advertised` names the listeners of this node for which an address to tell has been configured. */
  constructor(options: { nodeId: number; advertised: ReadonlySet<string>; image: () => MetadataImage }) {
    this.#nodeId = options.nodeId
    this.#advertised = options.advertised
    this.#image = options.image
  }

  /** Null when the broker is unknown, or has no listener of the connection's name. */
  of(connection: ClientConnection, nodeId: number): NodeEndpoint | null {
    const broker = this.#image().broker(nodeId)
    return broker === undefined ? null : this.ofBroker(connection, broker)
  }

  ofBroker(connection: ClientConnection, broker: BrokerImage): NodeEndpoint | null {
    const endpoint = broker.endpoints.find(({ name }) => name === connection.listenerName)
    if (endpoint === undefined) return null
    // Nothing was said about how clients reach this node, but this client has reached it: so by the same address again.
    if (broker.brokerId === this.#nodeId && !this.#advertised.has(connection.listenerName)) {
      return { host: connection.local.host, port: connection.local.port, rack: broker.rack }
    }
    return { host: endpoint.host, port: endpoint.port, rack: broker.rack }
  }

  /** Where the brokers are that a client of this listener may talk to, in the order of their ids. */
  alive(connection: ClientConnection): (NodeEndpoint & { nodeId: number })[] {
    const found: (NodeEndpoint & { nodeId: number })[] = []
    for (const [nodeId, broker] of this.#image().brokers) {
      if (!isAlive(broker)) continue
      const endpoint = this.ofBroker(connection, broker)
      if (endpoint !== null) found.push({ nodeId, ...endpoint })
    }
    return found.sort((left, right) => left.nodeId - right.nodeId)
  }
}
