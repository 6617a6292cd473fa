import { Fetch, type FetchResponse } from '../../protocol/apis/fetch.ts'
import { ErrorCode, isRetriable } from '../../protocol/errors.ts'
import type { History } from '../history/history.ts'
import type { ClusterClient } from './cluster-client.ts'
import { unexpected } from './fetching.ts'
import { receivedRecords } from './received.ts'
import type { Wire } from './wire.ts'

/** From here on a topic is named by its id only, and a session may not mix both. */
const BY_ID_VERSION = 13
const WAIT_MS = 200

type Answer = FetchResponse['responses'][number]['partitions'][number]

interface Session {
  readonly wire: Wire
  readonly id: number
  epoch: number
  /** What the node was told to read, and from where. */
  readonly told: Map<number, number>
}

const SESSION_ERRORS: readonly number[] = [
  ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
  ErrorCode.INVALID_FETCH_SESSION_EPOCH,
  ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
]

/**
 * Reads all partitions of a topic that one node leads, in one fetch session (KIP-227): it says only what has changed, and is
 * answered only what has. Now and then it forgets a partition for a while, or begins another session. Never stops.
 */
export class SessionReader {
  readonly #name: string
  readonly #topic: string
  readonly #client: ClusterClient
  readonly #history: History
  /** Where each partition is to be read on. */
  readonly positions: number[]
  /** Keeps to one session from now on, and forgets nothing: whatever that leaves out, it will never see. */
  isSteady = false
  readonly #hasRead = new Set<number>()
  #session: Session | null = null

  constructor(options: {
    name: string
    topic: string
    partitions: number
    client: ClusterClient
    history: History
  }) {
    this.#name = options.name
    this.#topic = options.topic
    this.#client = options.client
    this.#history = options.history
    this.positions = Array.from({ length: options.partitions }, () => 0)
  }

  async run(): Promise<never> {
    for (;;) {
      const isDone = await this.#client.tolerate(() => this.#fetch())
      if (isDone !== null) continue
      this.#session = null
      await this.#client.backOff()
      this.#client.forget(this.#topic)
    }
  }

  /** Null: the session is over. */
  async #fetch(): Promise<true | null> {
    const { random } = this.#client
    const { topicId } = await this.#client.topic(this.#topic)
    const wire = await this.#client.leaderOf(this.#topic, 0)
    if (this.#session?.wire !== wire || (!this.isSteady && random.chance(0.03))) this.#session = null
    const session = this.#session
    const wanted = this.#wanted()
    const told = session?.told ?? new Map<number, number>()
    const changed = [...wanted].filter(([partition, offset]) => told.get(partition) !== offset)
    const forgotten = [...told.keys()].filter((partition) => !wanted.has(partition))
    const partitionMaxBytes = random.pick([1, 2000, 1 << 20])
    const partitions = changed.map(([partition, fetchOffset]) => ({ partition, fetchOffset, partitionMaxBytes }))
    const answer = await wire.request(
      Fetch,
      {
        maxWaitMs: WAIT_MS,
        minBytes: 1,
        sessionId: session?.id ?? 0,
        sessionEpoch: session?.epoch ?? 0,
        topics: partitions.length > 0 ? [{ topicId, partitions }] : [],
        forgottenTopicsData: forgotten.length > 0 ? [{ topicId, partitions: forgotten }] : [],
      },
      { fromVersion: BY_ID_VERSION },
    )
    return this.#take(answer, { wire, wanted })
  }

  /** All partitions; now and then one is left out for a moment. */
  #wanted(): Map<number, number> {
    const { random } = this.#client
    const left = !this.isSteady && random.chance(0.1) ? random.below(this.positions.length) : -1
    return new Map([...this.positions.entries()].filter(([partition]) => partition !== left))
  }

  #take(
    { errorCode, sessionId, responses }: FetchResponse,
    { wire, wanted }: { wire: Wire; wanted: Map<number, number> },
  ): true | null {
    if (SESSION_ERRORS.includes(errorCode)) return null
    if (errorCode !== 0) throw unexpected('Fetch in a session', errorCode)
    const epoch = (this.#session?.epoch ?? 0) + 1
    this.#session = sessionId === 0 ? null : { wire, id: sessionId, epoch, told: wanted }
    let isGood = true
    for (const { partitions } of responses) for (const answer of partitions) isGood &&= this.#takeOne(answer)
    return isGood ? true : null
  }

  #takeOne({ partitionIndex: partition, errorCode, records }: Answer): boolean {
    if (errorCode !== 0) {
      if (!isRetriable(errorCode)) throw unexpected(`Fetch of ${this.#topic}-${partition} in a session`, errorCode)
      return false
    }
    const from = this.positions[partition] as number
    const found = receivedRecords(Buffer.concat(records ?? []), from)
    if (found.to === from) return true
    this.#history.read({
      consumer: this.#name,
      group: null,
      partition: `${this.#topic}-${partition}`,
      from,
      to: found.to,
      records: found.records,
      continues: this.#hasRead.has(partition),
    })
    this.#hasRead.add(partition)
    this.positions[partition] = found.to
    return true
  }
}
