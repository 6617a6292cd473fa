import { trimFreeBlocks } from '../../base/blocks.ts'
import type { Env } from '../../env/env.ts'
import type { Timer } from '../../env/clock.ts'
import type { Address, Connection, Listener } from '../../env/net.ts'
import { AnswerBudget } from '../../replica/answer-budget.ts'
import type { NodeEndpoint } from '../../replica/types.ts'
import { ByteBudget } from './byte-budget.ts'
import { ClientConnection, type ConnectionHost, SWEEP_MS } from './client-connection.ts'
import { CloseLog } from './close-log.ts'
import type { ConnectionLimits } from './limits.ts'

export interface ConnectionCounts {
  accepted: number
  /** Refused at the door: too many, too fast. */
  refusedAtAccept: number
  /** Closed by us for what they sent or failed to send. */
  closedByUs: number
}

/** Accepts connections within the limits, keeps them, and closes those that outlive a deadline. */
export class Acceptor implements ConnectionHost {
  /** Replaced as a whole when a config changes. Connections that are there stay. */
  limits: ConnectionLimits
  readonly budget: ByteBudget
  readonly answers: AnswerBudget
  readonly counts: ConnectionCounts = { accepted: 0, refusedAtAccept: 0, closedByUs: 0 }
  readonly #env: Env
  readonly #dispatch: (connection: ClientConnection, frame: Buffer) => string | null
  readonly #serves: (apiKey: number) => boolean
  readonly #endpointOf: (connection: ClientConnection, nodeId: number) => NodeEndpoint | null
  readonly #closed: ((connection: ClientConnection) => void) | undefined
  readonly #closeLog: CloseLog
  readonly #connections = new Set<ClientConnection>()
  readonly #perIp = new Map<string, number>()
  readonly #listeners: Listener[] = []
  /** Accepted before `open`: nothing is read from them, so their requests wait in the kernel. */
  #atTheGate: ClientConnection[] | null = []
  #sweep: Timer | null = null
  #rateWindowMs = 0
  #acceptedInWindow = 0
  #stopped = false

  constructor(options: {
    env: Env
    limits: ConnectionLimits
    dispatch: (connection: ClientConnection, frame: Buffer) => string | null
    /** Whether requests with this key are answered here. */
    serves: (apiKey: number) => boolean
    endpointOf: (connection: ClientConnection, nodeId: number) => NodeEndpoint | null
    /** A connection that had been accepted is gone. */
    closed?: (connection: ClientConnection) => void
  }) {
    this.#env = options.env
    this.limits = options.limits
    this.#dispatch = options.dispatch
    this.#serves = options.serves
    this.#endpointOf = options.endpointOf
    this.#closed = options.closed
    this.budget = new ByteBudget(options.limits.nodeInFlightBytesMax)
    this.answers = new AnswerBudget(options.limits.answerBytesMax)
    this.#closeLog = new CloseLog(options.env.log, options.env.clock)
  }

  get connections(): ReadonlySet<ClientConnection> {
    return this.#connections
  }

  /** Rejects with a `NetError`. Returns the address really bound. */
  async listen(listenerName: string, address: Address): Promise<Address> {
    const listener = await this.#env.net.listen(address, (connection) => this.#accept(connection, listenerName))
    this.#listeners.push(listener)
    return listener.address
  }

  /** From here on requests are read. Listeners may be bound long before, so that a taken address is noticed first. */
  open(): void {
    const waiting = this.#atTheGate ?? []
    this.#atTheGate = null
    for (const client of waiting) client.start()
  }

  /** Accepts no more; open connections go on. */
  async stopListening(): Promise<void> {
    await Promise.all(this.#listeners.splice(0).map((listener) => listener.close()))
  }

  /** Lets every connection send what it has been answered, and end. */
  endAll(): void {
    this.#stopped = true
    this.#sweep?.cancel()
    for (const connection of [...this.#connections]) connection.end()
  }

  /** Drops every connection at once. */
  destroyAll(): void {
    this.#stopped = true
    this.#sweep?.cancel()
    for (const connection of [...this.#connections]) connection.destroy()
  }

  monotonicMs(): number {
    return this.#env.clock.monotonicMs()
  }

  dispatch(connection: ClientConnection, frame: Buffer): string | null {
    return this.#dispatch(connection, frame)
  }

  serves(apiKey: number): boolean {
    return this.#serves(apiKey)
  }

  endpointOf(connection: ClientConnection, nodeId: number): NodeEndpoint | null {
    return this.#endpointOf(connection, nodeId)
  }

  refused(connection: ClientConnection, reason: string): void {
    this.counts.closedByUs++
    this.#closeLog.refused('connection closed', {
      reason,
      remote: `${connection.remote.host}:${connection.remote.port}`,
      listener: connection.listenerName,
      client: connection.clientSoftware || undefined,
    })
  }

  closed(connection: ClientConnection): void {
    if (!this.#connections.delete(connection)) return
    const host = connection.remote.host
    const left = (this.#perIp.get(host) ?? 1) - 1
    if (left > 0) this.#perIp.set(host, left)
    else this.#perIp.delete(host)
    this.#closed?.(connection)
  }

  #accept(connection: Connection, listenerName: string): void {
    const refusal = this.#stopped ? 'the node stops' : this.#refusal(connection.remote.host)
    const client = new ClientConnection(connection, listenerName, this)
    if (refusal !== null) {
      this.counts.refusedAtAccept++
      this.#closeLog.refused('connection refused', {
        reason: refusal,
        remote: connection.remote.host,
        listener: listenerName,
      })
      client.start()
      client.destroy()
      return
    }
    this.counts.accepted++
    this.#connections.add(client)
    this.#perIp.set(connection.remote.host, (this.#perIp.get(connection.remote.host) ?? 0) + 1)
    if (this.#atTheGate === null) client.start()
    else this.#atTheGate.push(client)
    this.#sweep ??= this.#env.timers.after(SWEEP_MS, () => this.#closeOverdue())
  }

  #refusal(host: string): string | null {
    const { limits } = this
    if (this.#connections.size >= limits.connectionsMax) return `max.connections is ${limits.connectionsMax}`
    const perIpMax = limits.connectionsPerIpOverrides.get(host) ?? limits.connectionsPerIpMax
    if ((this.#perIp.get(host) ?? 0) >= perIpMax) return `max.connections.per.ip is ${perIpMax}`
    const nowMs = this.monotonicMs()
    if (nowMs - this.#rateWindowMs >= 1_000) {
      this.#rateWindowMs = nowMs
      this.#acceptedInWindow = 0
    }
    if (++this.#acceptedInWindow > limits.connectionsPerSecondMax) {
      return `max.connection.creation.rate is ${limits.connectionsPerSecondMax}`
    }
    return null
  }

  #closeOverdue(): void {
    this.#sweep = null
    trimFreeBlocks()
    const nowMs = this.monotonicMs()
    for (const connection of [...this.#connections]) {
      const reason = connection.overdue(nowMs)
      if (reason !== null) connection.refuse(reason)
      else if (connection.isIdle(nowMs)) connection.destroy()
    }
    if (this.#connections.size > 0) this.#sweep = this.#env.timers.after(SWEEP_MS, () => this.#closeOverdue())
  }
}
