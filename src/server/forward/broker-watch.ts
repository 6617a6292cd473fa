import { sleep } from '../../env/clock.ts'
import type { Env } from '../../env/env.ts'
import { NetError } from '../../env/net.ts'
import type { BrokerImage, MetadataImage } from '../../metadata/image.ts'
import type { ClientConnection } from '../connections/client-connection.ts'

export interface BrokerWatchOptions {
  readonly nodeId: number
  /** The newest committed. */
  image(): MetadataImage
  /** Whether this node is the active controller. */
  isActive(): boolean
  /** The process of that broker, in that incarnation, is gone. */
  lost(brokerId: number, brokerEpoch: number): void
}

/** After a connection dropped: when its broker's port is tried. A dying process may close its listener last. */
const LOOKS_AFTER_MS = [0, 10, 20, 40]
const CONNECT_TIMEOUT_MS = 200

/**
 * Notices the death of a broker's process in some tens of milliseconds, long before its session ends: the connection by
 * which it reports drops, and its port refuses. A port that merely does not answer proves nothing: a silent host is left
 * to the session timeout. A refusal counts only where the same address let us in before, in this incarnation of the
 * broker: what stands in between may refuse for reasons of its own.
 */
export class BrokerWatch {
  readonly #env: Env
  readonly #options: BrokerWatchOptions
  readonly #reporters = new Map<ClientConnection, string>()
  /** Incarnations whose port let us in. */
  readonly #reachable = new Set<string>()
  readonly #verifying = new Set<string>()

  constructor(env: Env, options: BrokerWatchOptions) {
    this.#env = env
    this.#options = options
  }

  /** The broker reported, by this connection. */
  heard(connection: ClientConnection, brokerId: number, brokerEpoch: number): void {
    const name = nameOf(brokerId, brokerEpoch)
    this.#reporters.set(connection, name)
    if (this.#reachable.has(name)) return
    const broker = this.#options.image().broker(brokerId)
    if (broker !== undefined && nameIn(broker) === name) void this.#verify(broker)
  }

  connectionClosed(connection: ClientConnection): void {
    const name = this.#reporters.get(connection)
    if (name === undefined) return
    this.#reporters.delete(connection)
    const broker = [...this.#options.image().brokers.values()].find((each) => name === nameIn(each))
    if (broker !== undefined) void this.#look(broker)
  }

  /** Whoever was active before may have died together with a broker, and never told. */
  becameActive(): void {
    for (const broker of this.#options.image().brokers.values()) void this.#look(broker)
  }

  /** Brokers may have come: their ports are tried while they are known to live. */
  async imageChanged(): Promise<void> {
    const { image, nodeId } = this.#options
    const brokers = [...image().brokers.values()].filter(({ brokerId }) => brokerId !== nodeId)
    const names = new Set(brokers.map(nameIn))
    for (const name of this.#reachable) if (!names.has(name)) this.#reachable.delete(name)
    await Promise.all(brokers.map((broker) => this.#verify(broker)))
  }

  /** Tries a port that has not let us in yet. One that does not now is tried at the next report. */
  async #verify(broker: BrokerImage): Promise<void> {
    const name = nameIn(broker)
    if (broker.fenced || this.#reachable.has(name) || this.#verifying.has(name)) return
    this.#verifying.add(name)
    if ((await this.#probe(broker)) === 'open') this.#reachable.add(name)
    this.#verifying.delete(name)
  }

  async #look(broker: BrokerImage): Promise<void> {
    const { brokerId, brokerEpoch } = broker
    for (const delayMs of LOOKS_AFTER_MS) {
      if (delayMs > 0) await sleep(this.#env.timers, delayMs)
      if (!this.#isSuspect(broker)) return
      if ((await this.#probe(broker)) !== 'refused') continue
      if (!this.#isSuspect(broker)) return
      this.#env.log.warn('The process of a broker is gone: its connection dropped, its port refuses', {
        brokerId,
        brokerEpoch,
      })
      return this.#options.lost(brokerId, brokerEpoch)
    }
  }

  /** It counts as alive and nothing shows that it is. */
  #isSuspect({ brokerId, brokerEpoch }: BrokerImage): boolean {
    const { isActive, image, nodeId } = this.#options
    if (brokerId === nodeId || !isActive()) return false
    const name = nameOf(brokerId, brokerEpoch)
    const now = image().broker(brokerId)
    if (now === undefined || now.fenced || now.brokerEpoch !== brokerEpoch) return false
    if (!this.#reachable.has(name)) return false
    return ![...this.#reporters.values()].includes(name)
  }

  async #probe({ endpoints }: BrokerImage): Promise<'open' | 'refused' | 'unknown'> {
    const endpoint = endpoints[0]
    if (endpoint === undefined) return 'unknown'
    const { host, port } = endpoint
    try {
      const connection = await this.#env.net.connect({ host, port }, { timeoutMs: CONNECT_TIMEOUT_MS })
      connection.start({ data() {}, drained() {}, closed() {} })
      connection.destroy()
      return 'open'
    } catch (error) {
      if (!(error instanceof NetError)) throw error
      return error.code === 'ECONNREFUSED' ? 'refused' : 'unknown'
    }
  }
}

function nameOf(brokerId: number, brokerEpoch: number): string {
  return `${brokerId}/${brokerEpoch}`
}

function nameIn({ brokerId, brokerEpoch }: BrokerImage): string {
  return nameOf(brokerId, brokerEpoch)
}
