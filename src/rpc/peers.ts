import type { Timers } from '../env/clock.ts'
import type { Address, Net } from '../env/net.ts'
import type { AnyApi, RequestInput, ResponseOf } from '../protocol/schema.ts'
import { BrokerConnection, type ConnectionOptions, printAddress, type RequestOptions } from './connection.ts'
import { ConnectionError } from './errors.ts'

/** One of several connections to the same address: what may be parked at the server must not hold up what is quick. */
export type Lane = string

interface Kept {
  readonly opening: Promise<BrokerConnection>
  connection: BrokerConnection | null
}

/**
 * Connections of this node to other nodes, by address and lane, opened when first needed and kept until they break. It
 * repeats nothing and waits for nothing: whoever asks decides whether and when to ask again. Life cycle: `close` once.
 */
export class Peers {
  readonly #net: Net
  readonly #timers: Timers
  readonly #options: ConnectionOptions
  readonly #onLost: (to: Address) => void
  readonly #kept = new Map<string, Kept>()
  #isClosed = false

  /** `onLost`: a connection to that node broke, and not by our doing. */
  constructor(net: Net, timers: Timers, options: ConnectionOptions, onLost: (to: Address) => void = () => {}) {
    this.#onLost = onLost
    this.#net = net
    this.#timers = timers
    this.#options = options
  }

  /** Rejects with a `ClientError`. Requests of one lane are answered in the order in which they were asked. */
  async request<A extends AnyApi>(
    to: Address,
    lane: Lane,
    api: A,
    body: RequestInput<A> | ((version: number) => RequestInput<A>),
    options: RequestOptions = {},
  ): Promise<ResponseOf<A>> {
    const connection = await this.connection(to, lane)
    return connection.request(api, body, options)
  }

  /** The open connection of the lane; for who wants to know the peer's versions, or when it breaks. */
  connection(to: Address, lane: Lane): Promise<BrokerConnection> {
    if (this.#isClosed) return Promise.reject(new ConnectionError('this node is stopping'))
    const key = `${printAddress(to)}/${lane}`
    return (this.#kept.get(key) ?? this.#open(key, to)).opening
  }

  #open(key: string, to: Address): Kept {
    const opening = BrokerConnection.open(this.#net, this.#timers, to, this.#options)
    const kept: Kept = { opening, connection: null }
    this.#kept.set(key, kept)
    const forget = () => {
      if (this.#kept.get(key) === kept) this.#kept.delete(key)
    }
    opening.then((connection) => {
      kept.connection = connection
      connection.onClosed = () => {
        forget()
        if (connection.isLost && !this.#isClosed) this.#onLost(to)
      }
      if (this.#isClosed) connection.close()
    }, forget)
    return kept
  }

  /** Breaks what is open to the address, with all that waits there. */
  drop(to: Address): void {
    const prefix = `${printAddress(to)}/`
    for (const [key, { connection }] of [...this.#kept]) if (key.startsWith(prefix)) connection?.close()
  }

  /** Ends every connection, with all that waits for it. */
  close(): void {
    this.#isClosed = true
    for (const { connection } of [...this.#kept.values()]) connection?.close()
    this.#kept.clear()
  }
}
