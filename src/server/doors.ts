import type { Env } from '../env/env.ts'
import { type Address, NetError } from '../env/net.ts'
import type { NodeEndpoint } from '../replica/types.ts'
import { formatAddress, type ListenerConfig } from './config/listeners.ts'
import type { NodeConfig } from './config/node-config.ts'
import { Acceptor } from './connections/acceptor.ts'
import type { ClientConnection } from './connections/client-connection.ts'
import type { ConnectionLimits } from './connections/limits.ts'
import { Dispatcher } from './dispatch/dispatcher.ts'
import type { ServedApi } from './dispatch/served-api.ts'

export interface BoundListener extends ListenerConfig {
  readonly bound: Address
}

export interface DoorsOptions {
  readonly env: Env
  readonly config: NodeConfig
  readonly limits: ConnectionLimits
  endpointOf(connection: ClientConnection, nodeId: number): NodeEndpoint | null
  /** A connection of another node, on the listener for controllers, is gone. */
  controllerConnectionClosed(connection: ClientConnection): void
  bug(error: unknown): void
}

/**
 * Where others come in: clients and brokers by their listeners, the nodes of the quorum by theirs. All are bound before
 * anything is read, so that an address in use is noticed first; that of the quorum is opened long before the others, since without
 * it nobody can be elected. The two share no limit: clients must not be able to keep the quorum out.
 */
export class Doors {
  readonly clients: Acceptor
  readonly controllers: Acceptor
  /** Where clients connect, once bound. */
  listeners: readonly BoundListener[] = []
  controllerAddress: Address | null = null
  readonly #options: DoorsOptions
  /** By the kind of listener, once it is open. */
  readonly dispatchers: { broker?: Dispatcher; controller?: Dispatcher } = {}

  constructor(options: DoorsOptions) {
    this.#options = options
    const { env, limits, endpointOf } = options
    this.clients = new Acceptor({
      env,
      limits,
      endpointOf,
      dispatch: (connection, frame) => (this.dispatchers.broker as Dispatcher).dispatch(connection, frame),
      serves: (apiKey) => (this.dispatchers.broker as Dispatcher).serves(apiKey),
    })
    this.controllers = new Acceptor({
      env,
      limits,
      endpointOf,
      dispatch: (connection, frame) => (this.dispatchers.controller as Dispatcher).dispatch(connection, frame),
      serves: (apiKey) => (this.dispatchers.controller as Dispatcher).serves(apiKey),
      closed: (connection) => options.controllerConnectionClosed(connection),
    })
  }

  /** Rejects with a `NetError`. */
  async bind(): Promise<void> {
    const { listeners, controllerListener, membership } = this.#options.config
    const bound: BoundListener[] = []
    if (membership.roles.includes('broker')) {
      for (const listener of listeners) bound.push({ ...listener, bound: await this.#bind(this.clients, listener) })
    }
    this.listeners = bound
    if (membership.roles.includes('controller')) {
      this.controllerAddress = await this.#bind(this.controllers, controllerListener)
    }
  }

  async #bind(acceptor: Acceptor, listener: ListenerConfig): Promise<Address> {
    try {
      return await acceptor.listen(listener.name, bindAddress(listener))
    } catch (error) {
      if (!(error instanceof NetError)) throw error
      const { name, host, port } = listener
      const { settings } = this.#options.config
      const where = `${name}://${formatAddress({ host, port })} (listeners, ${settings.where('listeners')})`
      throw new NetError(error.code, `cannot listen on ${where}: ${error.message}`, { cause: error })
    }
  }

  /** From here on what nodes of the quorum ask is read and answered. */
  openForControllers(apis: readonly ServedApi[]): void {
    this.dispatchers.controller = new Dispatcher(apis, this.#options.bug)
    this.controllers.open()
  }

  openForClients(apis: readonly ServedApi[]): void {
    this.dispatchers.broker = new Dispatcher(apis, this.#options.bug)
    this.clients.open()
  }

  destroyAll(): void {
    this.clients.destroyAll()
    this.controllers.destroyAll()
  }
}

/** An empty host, as in `PLAINTEXT://:9092`, binds every interface. */
function bindAddress({ host, port }: Address): Address {
  return { host: host === '' ? '0.0.0.0' : host, port }
}
