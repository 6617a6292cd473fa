import { Random } from '../base/random.ts'
import { sleep } from '../env/clock.ts'
import type { Env } from '../env/env.ts'
import type { Address } from '../env/net.ts'
import { FindCoordinator } from '../protocol/apis/find-coordinator.ts'
import { Metadata } from '../protocol/apis/metadata.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { AnyApi, RequestInput, ResponseOf } from '../protocol/schema.ts'
import { Backoff } from './backoff.ts'
import { BrokerConnection, parseAddresses, printAddress, type RequestOptions } from '../rpc/connection.ts'
import { checkInt32, mustBeTopicName } from './checks.ts'
import { ClosedError, UsageError } from './errors.ts'
import { BrokerError, ClientError, ConnectionError, TimeoutError } from '../rpc/errors.ts'
import { ClusterView, type TopicInfo } from './metadata.ts'

/** The parts of the world that a client lives in. */
export type ClientEnv = Pick<Env, 'net' | 'clock' | 'timers' | 'log' | 'randomBytes'>

export interface ClientOptions {
  /** Servers to ask first: `host:port`, several with commas. */
  readonly bootstrap: string | readonly Address[]
  readonly clientId?: string
  /** To connect, and again for the first answer, which says what the server speaks: one that has not started yet gives none. */
  readonly connectTimeoutMs?: number
  /** For the answer to one request. */
  readonly requestTimeoutMs?: number
  /** For a call that tries again until it works, in all. */
  readonly callTimeoutMs?: number
  readonly retryBackoffMs?: number
  readonly retryBackoffMaxMs?: number
  /** News of the cluster older than this is asked for again. */
  readonly metadataMaxAgeMs?: number
  /** Topics that are asked for come into being, where the cluster allows that (`auto.create.topics.enable`). */
  readonly createTopics?: boolean
}

/**
 * A server answers one connection's requests in order, so what may be parked there (a long poll, a JoinGroup) must not
 * share a connection with anything else. Each lane has connections of its own: `main` is for what is answered at once.
 */
export type Lane = string

/** A server by its number, or any that answers. */
export type Target = number | 'any'

const DEFAULTS = {
  clientId: 'millrace',
  connectTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  callTimeoutMs: 60_000,
  retryBackoffMs: 100,
  retryBackoffMaxMs: 1000,
  metadataMaxAgeMs: 300_000,
  createTopics: false,
}

/** Connections to a cluster and what is known of it. Shared by any number of producers, consumers and admins. */
export class Client {
  readonly env: ClientEnv
  readonly options: Required<Omit<ClientOptions, 'bootstrap'>>
  readonly view = new ClusterView()
  readonly random: Random
  readonly #bootstrap: readonly Address[]
  readonly #connections = new Map<string, Promise<BrokerConnection>>()
  readonly #open = new Set<BrokerConnection>()
  /** Topics that somebody uses: each refresh asks for all of them. */
  readonly #topics = new Set<string>()
  #refresh: { readonly topics: ReadonlySet<string>; readonly done: Promise<void> } | null = null
  #refreshedMs = Number.NEGATIVE_INFINITY
  #lanes = 0
  #isClosed = false

  constructor(env: ClientEnv, options: ClientOptions) {
    this.env = env
    const { bootstrap, ...rest } = options
    this.options = { ...DEFAULTS, ...definedOnly(rest) }
    checkInt32('requestTimeoutMs', this.options.requestTimeoutMs, 1)
    this.#bootstrap =
      typeof bootstrap === 'string' ? parseAddresses(bootstrap, (message) => new UsageError(message)) : bootstrap
    if (this.#bootstrap.length === 0) throw new UsageError('no address of a server')
    this.random = new Random(env.randomBytes(4).readUInt32BE())
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Drops all connections. What waits for an answer is rejected with `ClosedError`. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const connection of [...this.#open]) connection.close(new ClosedError('the client was closed'))
  }

  backoff(): Backoff {
    const { retryBackoffMs: firstMs, retryBackoffMaxMs: maxMs } = this.options
    return new Backoff({ firstMs, maxMs, random: this.random })
  }

  /** A connection to the server, opened when there is none. Rejects with a `ClientError`. */
  async connection(target: Target, lane: Lane = 'main'): Promise<BrokerConnection> {
    if (target !== 'any') return this.#connectTo(target, lane)
    const known = [...this.view.brokers.values()]
    const addresses: Address[] =
      known.length > 0 ? [...shuffled(known, this.random), ...this.#bootstrap] : [...this.#bootstrap]
    // A connection that is there is better than one more.
    const isOpen = (address: Address) => this.#connections.has(laneKey(address, lane))
    const ordered = [...addresses.filter(isOpen), ...addresses.filter((address) => !isOpen(address))]
    let failure: unknown = new ConnectionError('no server is known')
    for (const address of ordered) {
      try {
        return await this.#connect(address, lane)
      } catch (error) {
        if (!(error instanceof ClientError) || error instanceof ClosedError) throw error
        failure = error
      }
    }
    throw failure
  }

  async #connectTo(nodeId: number, lane: Lane): Promise<BrokerConnection> {
    // One whom nobody has named yet: whoever asks for a node by its number may be the first to ask for anything.
    if (!this.view.brokers.has(nodeId)) await this.refresh()
    const broker = this.view.brokers.get(nodeId)
    if (broker === undefined) throw new ConnectionError(`node ${nodeId} is not known`)
    return this.#connect(broker, lane)
  }

  #connect(address: Address, lane: Lane): Promise<BrokerConnection> {
    if (this.#isClosed) return Promise.reject(new ClosedError('the client was closed'))
    const key = laneKey(address, lane)
    let opening = this.#connections.get(key)
    if (opening === undefined) {
      opening = this.#openConnection(address, key)
      this.#connections.set(key, opening)
    }
    return opening
  }

  async #openConnection(address: Address, key: string): Promise<BrokerConnection> {
    const { net, timers } = this.env
    const { clientId, connectTimeoutMs, requestTimeoutMs } = this.options
    const versionsTimeoutMs = Math.min(connectTimeoutMs, requestTimeoutMs)
    const to = { host: address.host, port: address.port }
    try {
      const options = { clientId, connectTimeoutMs, requestTimeoutMs, versionsTimeoutMs }
      const connection = await BrokerConnection.open(net, timers, to, options)
      if (this.#isClosed) {
        connection.close()
        throw new ClosedError('the client was closed')
      }
      this.#open.add(connection)
      connection.onClosed = () => {
        this.#open.delete(connection)
        this.#dropKey(key, connection)
      }
      return connection
    } catch (error) {
      this.#connections.delete(key)
      throw error
    }
  }

  /** Forgets the connection, unless another one has taken its place. */
  #dropKey(key: string, connection: BrokerConnection): void {
    const opening = this.#connections.get(key)
    opening?.then((current) => {
      if (current === connection && this.#connections.get(key) === opening) this.#connections.delete(key)
    }, ignoreClientError)
  }

  /** A lane that nobody else uses. */
  newLane(name: string): Lane {
    return `${name}-${this.#lanes++}`
  }

  /** Closes the connections of a lane; what waits there is rejected with `ClosedError`. */
  closeLane(lane: Lane): void {
    for (const [key, opening] of this.#connections) {
      if (!key.startsWith(`${lane} `)) continue
      this.#connections.delete(key)
      opening.then((connection) => connection.close(new ClosedError('the lane was closed')), ignoreClientError)
    }
  }

  /** One request, one answer, no second try. */
  async request<A extends AnyApi>(
    target: Target,
    api: A,
    body: RequestInput<A> | ((version: number) => RequestInput<A>),
    { lane = 'main', ...options }: RequestOptions & { readonly lane?: Lane } = {},
  ): Promise<ResponseOf<A>> {
    const connection = await this.connection(target, lane)
    return connection.request(api, body, options)
  }

  /**
   * Tries until it works, an error comes that will not go away, or the time is over. Between tries the news of the
   * cluster is refreshed, for most retriable errors mean that it was old.
   */
  async retry<T>(what: string, attempt: () => Promise<T>, timeoutMs = this.options.callTimeoutMs): Promise<T> {
    const deadlineMs = this.env.clock.monotonicMs() + timeoutMs
    const backoff = this.backoff()
    for (;;) {
      try {
        return await attempt()
      } catch (error) {
        if (!(error instanceof ClientError) || !error.retriable || this.#isClosed) throw error
        const pauseMs = backoff.nextMs()
        if (this.env.clock.monotonicMs() + pauseMs > deadlineMs) {
          throw new TimeoutError(`${what} did not succeed within ${timeoutMs} ms: ${error.message}`, { cause: error })
        }
        await sleep(this.env.timers, pauseMs)
        this.#refreshedMs = Number.NEGATIVE_INFINITY
      }
    }
  }

  /** Asks for the news of the cluster now. Calls that overlap share one request. */
  async refresh(topics: Iterable<string> = []): Promise<void> {
    // Each refresh from now on asks for them: one that cannot be asked for would fail them all.
    for (const topic of topics) this.#topics.add(mustBeTopicName(topic))
    const current = this.#refresh
    if (current !== null && [...topics].every((topic) => current.topics.has(topic))) return current.done
    if (current !== null) await current.done.catch(ignoreClientError)
    if (this.#refresh !== null) return this.refresh(topics)
    const asked = new Set(this.#topics)
    const done = this.#fetchMetadata(asked).finally(() => {
      this.#refresh = null
    })
    this.#refresh = { topics: asked, done }
    return done
  }

  async #fetchMetadata(topics: ReadonlySet<string>): Promise<void> {
    const body = (version: number) => ({
      topics: [...topics].map((name) => ({ name })),
      allowAutoTopicCreation: version < 4 || this.options.createTopics,
    })
    this.view.update(await this.request('any', Metadata, body))
    this.#refreshedMs = this.env.clock.monotonicMs()
  }

  /** All topics of the cluster, the internal ones too. Rejects with a `ClientError`. */
  async refreshAll(): Promise<TopicInfo[]> {
    const response = await this.request('any', Metadata, (version) => ({
      topics: null,
      allowAutoTopicCreation: version < 4,
    }))
    this.view.update(response)
    return response.topics.flatMap(({ name }) => (name === null ? [] : (this.view.topics.get(name) ?? [])))
  }

  /** News about the topic that is not too old. Rejects with a `BrokerError` when there is no such topic. */
  async topic(name: string): Promise<TopicInfo> {
    const known = this.view.topics.get(name)
    const ageMs = this.env.clock.monotonicMs() - this.#refreshedMs
    if (known !== undefined && ageMs < this.options.metadataMaxAgeMs) return known
    await this.refresh([name])
    const info = this.view.topics.get(name)
    if (info === undefined) throw new BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, `topic ${name}`)
    return info
  }

  /** What is known of the topic, at once. When that is old, news is asked for on the side. */
  knownTopic(name: string): TopicInfo | undefined {
    const known = this.view.topics.get(name)
    const ageMs = this.env.clock.monotonicMs() - this.#refreshedMs
    if (known !== undefined && ageMs >= this.options.metadataMaxAgeMs && this.#refresh === null) {
      this.refresh([name]).catch(ignoreClientError)
    }
    return known
  }

  /** What is known may be wrong: the next `topic` asks again. */
  forget(): void {
    this.#refreshedMs = Number.NEGATIVE_INFINITY
  }

  /** The leader of the partition. Rejects with a retriable `BrokerError` while there is none. */
  async leaderOf(topic: string, partition: number): Promise<{ nodeId: number; leaderEpoch: number }> {
    const info = (await this.topic(topic)).partitions[partition]
    if (info === undefined) throw new BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, `${topic}-${partition}`)
    if (info.leader < 0) throw new BrokerError(ErrorCode.LEADER_NOT_AVAILABLE, `${topic}-${partition}`)
    return { nodeId: info.leader, leaderEpoch: info.leaderEpoch }
  }

  /** The node that coordinates the group now. Rejects with a `ClientError`, retriable while there is none. */
  async findCoordinator(groupId: string): Promise<number> {
    const response = await this.request('any', FindCoordinator, (version) =>
      version >= 4 ? { keyType: 0, coordinatorKeys: [groupId] } : { key: groupId },
    )
    const found = response.coordinators[0] ?? response
    if (found.errorCode !== ErrorCode.NONE) {
      throw new BrokerError(found.errorCode, `coordinator of group ${groupId}`, { message: found.errorMessage })
    }
    const { nodeId, host, port } = found
    this.view.brokers.set(nodeId, { nodeId, host, port, rack: this.view.brokers.get(nodeId)?.rack ?? null })
    return nodeId
  }
}

/** Throws unless the code is NONE. */
export function check(errorCode: number, what: string, message: string | null = null): void {
  if (errorCode !== ErrorCode.NONE) throw new BrokerError(errorCode, what, { message })
}

/** For promises whose failure somebody else deals with. */
export function ignoreClientError(error: unknown): void {
  if (!(error instanceof ClientError)) throw error
}

function laneKey(address: Address, lane: Lane): string {
  return `${lane} ${printAddress(address)}`
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  const result = [...items]
  for (let i = result.length - 1; i > 0; i--) {
    const j = random.below(i + 1)
    const moved = result[i] as T
    result[i] = result[j] as T
    result[j] = moved
  }
  return result
}

/** Options that were given; `undefined` means the default. */
export function definedOnly<T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never
}
