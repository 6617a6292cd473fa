import { MalformedError } from '../base/bytes.ts'
import { NO_TOPIC_ID, type TopicId } from '../model/ids.ts'
import { Fetch, type FetchResponse } from '../protocol/apis/fetch.ts'
import { ErrorCode, isRetriable } from '../protocol/errors.ts'
import type { Client, Lane } from './client.ts'
import { BrokerError, ClientError, ProtocolError } from '../rpc/errors.ts'
import { type ConsumerRecord, FetchedRecords } from './fetched-records.ts'
import type { PartitionState, Positions } from './positions.ts'
import { byTopic } from './topic-partitions.ts'

export interface FetchOptions {
  readonly minBytes: number
  readonly maxWaitMs: number
  readonly maxBytes: number
  readonly partitionBytes: number
  readonly readCommitted: boolean
  readonly lane: Lane
}

export interface FetchEvents {
  /** Something came that the reader waits for. */
  arrived(): void
  /** The position is outside the log. */
  outOfRange(state: PartitionState): void
}

/** Topics are named by id from this version of Fetch on. */
const TOPIC_IDS_VERSION = 13
/** Of an answer, beside the time the server may wait for data. */
const ANSWER_MARGIN_MS = 30_000

type PartitionAnswer = FetchResponse['responses'][number]['partitions'][number]
interface Asked {
  readonly state: PartitionState
  readonly version: number
  readonly position: number
}

/**
 * Fetches ahead for the partitions of a consumer: one request under way to each server, for partitions of which no more than
 * the answer in hand is there. So no more than two answers per server and partition are ever in memory, however slow the
 * reader, and one that is not slow finds the next when it is through with the last.
 */
export class Fetcher {
  readonly #client: Client
  readonly #positions: Positions
  readonly #options: FetchOptions
  readonly #busyNodes = new Set<number>()
  readonly #events: FetchEvents
  /** Told to the reader at its next call. */
  failure: ClientError | null = null
  #isClosed = false
  #isRefreshing = false

  constructor(client: Client, positions: Positions, options: FetchOptions, events: FetchEvents) {
    this.#client = client
    this.#positions = positions
    this.#options = options
    this.#events = events
  }

  close(): void {
    this.#isClosed = true
  }

  /** Asks for what is missing. */
  pump(): void {
    if (this.#isClosed || this.#client.isClosed) return
    const nowMs = this.#client.env.clock.monotonicMs()
    const byNode = new Map<number, PartitionState[]>()
    for (const state of this.#positions.all) {
      if (state.isPaused || state.isFetching || state.notBeforeMs > nowMs || state.fetchOffset === null) continue
      const leader = this.#client.view.partition(state.topic, state.partition)?.leader ?? -1
      if (leader < 0) this.#refresh(state)
      else if (!this.#busyNodes.has(leader)) byNode.set(leader, [...(byNode.get(leader) ?? []), state])
    }
    for (const [nodeId, states] of byNode) void this.#fetch(nodeId, states)
  }

  /** Up to `max` records, from one partition as long as it lasts, then from the next. */
  take(max: number): ConsumerRecord[] {
    const records: ConsumerRecord[] = []
    for (const state of this.#positions.all) {
      if (state.fetched === null || state.isPaused) continue
      if (records.length >= max) break
      this.#takeFrom(state, records, max)
    }
    return records
  }

  #takeFrom(state: PartitionState, records: ConsumerRecord[], max: number): void {
    let { fetched } = state
    if (fetched === null) return
    try {
      while (records.length < max) {
        const record = fetched.next()
        state.position = fetched.position
        if (record === null) {
          state.fetched = state.ahead
          state.ahead = null
          if (state.fetched === null) break
          fetched = state.fetched
          continue
        }
        state.leaderEpoch = record.leaderEpoch
        records.push(record)
      }
      if (records.length < max) this.#positions.toEnd(state)
      return
    } catch (error) {
      const isBroken = error instanceof MalformedError || error instanceof ClientError
      if (!isBroken) throw error
      // What came before is handed out first. The position stays: nothing that cannot be read is passed over.
      const what = `${state.topic}-${state.partition} at ${state.position}: ${error.message}`
      this.failure ??= error instanceof ClientError ? error : new ProtocolError(what, { cause: error })
    }
    state.fetched = null
    state.ahead = null
  }

  async #fetch(nodeId: number, states: readonly PartitionState[]): Promise<void> {
    this.#busyNodes.add(nodeId)
    const asked = states.map((state) => {
      state.isFetching = true
      return { state, version: state.version, position: state.fetchOffset ?? 0 }
    })
    try {
      this.#onAnswer(await this.#request(nodeId, asked), asked)
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
      for (const one of asked) this.#putOff(one)
      if (error.retriable) this.#client.forget()
      else this.#fail(error)
      this.#refreshAll(states)
    } finally {
      this.#busyNodes.delete(nodeId)
      for (const { state, version } of asked) if (state.version === version) state.isFetching = false
      this.pump()
    }
  }

  #request(nodeId: number, asked: readonly Asked[]): Promise<FetchResponse> {
    const { view } = this.#client
    const { minBytes, maxWaitMs, maxBytes, partitionBytes, readCommitted } = this.#options
    const topics = byTopic(
      asked.map(({ state, position }) => ({ topic: state.topic, partition: state.partition, position })),
    )
    const knowsIds = topics.every(([topic]) => (view.topics.get(topic)?.topicId ?? NO_TOPIC_ID) !== NO_TOPIC_ID)
    return this.#client.request(
      nodeId,
      Fetch,
      {
        maxWaitMs,
        minBytes,
        maxBytes,
        isolationLevel: readCommitted ? 1 : 0,
        topics: topics.map(([topic, partitions]) => ({
          topic,
          topicId: view.topics.get(topic)?.topicId ?? NO_TOPIC_ID,
          partitions: partitions.map(({ partition, position }) => ({
            partition,
            currentLeaderEpoch: view.partition(topic, partition)?.leaderEpoch ?? -1,
            fetchOffset: position,
            partitionMaxBytes: partitionBytes,
          })),
        })),
      },
      {
        lane: this.#options.lane,
        timeoutMs: maxWaitMs + ANSWER_MARGIN_MS,
        versions: [Fetch.versions[0], knowsIds ? Fetch.versions[1] : TOPIC_IDS_VERSION - 1],
      },
    )
  }

  #onAnswer(response: FetchResponse, asked: readonly Asked[]): void {
    if (response.errorCode !== ErrorCode.NONE) throw new BrokerError(response.errorCode, 'Fetch')
    const answers = new Map<string, PartitionAnswer>()
    for (const { topic, topicId, partitions } of response.responses) {
      const name = topic === '' ? this.#client.view.nameOf(topicId as TopicId) : topic
      for (const answer of partitions) answers.set(`${name}-${answer.partitionIndex}`, answer)
    }
    for (const { nodeId, host, port, rack } of response.nodeEndpoints) {
      this.#client.view.brokers.set(nodeId, { nodeId, host, port, rack })
    }
    for (const one of asked) {
      const { state, version } = one
      // A seek, or a rebalance, has made the answer useless.
      if (state.version !== version) continue
      const answer = answers.get(`${state.topic}-${state.partition}`)
      if (answer === undefined) this.#putOff(one)
      else this.#onPartition(one, answer)
    }
  }

  #onPartition(asked: Asked, answer: PartitionAnswer): void {
    const { state, position } = asked
    const { errorCode, currentLeader } = answer
    if (currentLeader.leaderId >= 0) {
      this.#client.view.setLeader(state.topic, state.partition, currentLeader.leaderId, currentLeader.leaderEpoch)
    }
    if (errorCode === ErrorCode.NONE) {
      state.highWatermark = answer.highWatermark
      const buffer = oneBuffer(answer.records)
      if (buffer.length === 0) return
      const aborted = this.#options.readCommitted ? (answer.abortedTransactions ?? []) : null
      const { topic, partition } = state
      const records = new FetchedRecords({ topic, partition, position, buffer, aborted })
      if (records.endOffset !== null && records.endOffset <= position) {
        // Asked again at once it would say the same, over and over.
        this.#putOff(asked)
        this.#fail(new ProtocolError(`${topic}-${partition} at ${position}: an answer without a whole batch`))
        return
      }
      if (state.fetched === null) state.fetched = records
      else state.ahead = records
      this.#events.arrived()
    } else if (state.fetched !== null && !isRetriable(errorCode)) {
      // What is at hand comes first; then it is asked and told again.
      this.#putOff(asked)
    } else if (errorCode === ErrorCode.OFFSET_OUT_OF_RANGE) {
      this.#events.outOfRange(state)
    } else if (isRetriable(errorCode)) {
      this.#putOff(asked)
      this.#client.forget()
      this.#refresh(state)
    } else this.#fail(new BrokerError(errorCode, `fetch from ${state.topic}-${state.partition} at ${position}`))
  }

  #putOff({ state, version }: Asked): void {
    // A timer would keep a process alive that has nothing else to do.
    if (this.#isClosed || state.version !== version) return
    const { clock, timers } = this.#client.env
    const pauseMs = this.#client.options.retryBackoffMs
    state.notBeforeMs = clock.monotonicMs() + pauseMs
    timers.after(pauseMs, () => this.pump())
  }

  #fail(error: ClientError): void {
    this.failure ??= error
    this.#events.arrived()
  }

  #refreshAll(states: readonly PartitionState[]): void {
    const [first] = states
    if (first !== undefined) this.#refresh(first)
  }

  #refresh({ topic }: PartitionState): void {
    if (this.#isRefreshing || this.#isClosed) return
    this.#isRefreshing = true
    const done = () => {
      this.#client.env.timers.after(this.#client.options.retryBackoffMs, () => {
        this.#isRefreshing = false
        this.pump()
      })
    }
    this.#client.refresh([topic]).then(done, (error: unknown) => {
      if (!(error instanceof ClientError)) throw error
      done()
    })
  }
}

const NOTHING = Buffer.alloc(0)

function oneBuffer(records: readonly Buffer[] | null): Buffer {
  if (records === null || records.length === 0) return NOTHING
  return records.length === 1 ? (records[0] as Buffer) : Buffer.concat(records)
}
