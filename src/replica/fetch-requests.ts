import { assert } from '../base/assert.ts'
import type { Fetch } from '../protocol/apis/fetch.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { RequestInput } from '../protocol/schema.ts'
import type { Followed } from './followed.ts'
import { FollowedSet } from './followed-set.ts'

type FetchRequestInput = RequestInput<typeof Fetch>
type TopicInput = FetchRequestInput['topics'][number]
type PartitionInput = TopicInput['partitions'][number]

/** Versions a follower asks in: those that name topics by id, and can say where histories part (KIP-516, KIP-595). */
export const FETCH_VERSIONS: readonly [number, number] = [13, 18]

const NO_SESSION = 0
const INITIAL_EPOCH = 0
const LAST_EPOCH = 2 ** 31 - 1

export interface FetchLimits {
  /** `replica.fetch.max.bytes`, `replica.fetch.response.max.bytes`, `replica.fetch.wait.max.ms`, `replica.fetch.min.bytes` */
  readonly partitionMaxBytes: number
  readonly maxBytes: number
  readonly maxWaitMs: number
  readonly minBytes: number
}

/**
 * The follower's end of one fetch session (KIP-227): it names to the leader only what has changed since the last
 * request, so that an idle fetch of thousands of partitions is a few bytes.
 */
export class FetchRequests {
  readonly #limits: FetchLimits
  #sessionId = NO_SESSION
  #epoch = INITIAL_EPOCH
  /** What the leader's session knows. */
  readonly #known = new FollowedSet()
  /** The leader gives no session: then each request is whole, and waits. */
  #isWithoutSession = false

  constructor(limits: FetchLimits) {
    this.#limits = limits
  }

  /** What a wake names while the request is under way; null: it does not wait. */
  get waiting(): { readonly sessionId: number; readonly sessionEpoch: number } | null {
    return this.#epoch === INITIAL_EPOCH ? null : { sessionId: this.#sessionId, sessionEpoch: this.#epoch }
  }

  get isFull(): boolean {
    return this.#epoch === INITIAL_EPOCH
  }

  /** The next request, about `changed` (or about all that are being fetched, in `all`). Whoever is gone is forgotten. */
  next(
    { changed, all }: { changed: Iterable<Followed>; all: Iterable<Followed> },
    from: { readonly replicaId: number; readonly replicaEpoch: number },
  ): FetchRequestInput {
    const topics = new Map<string, PartitionInput[]>()
    const forgotten = new Map<string, number[]>()
    const rest: Followed[] = []
    // The first answer brings the session, which has to be known to be woken.
    let isAwaited = this.isFull && !this.#isWithoutSession
    for (const followed of this.isFull ? all : changed) {
      if (followed.mayAsk) this.#name(followed, topics)
      else rest.push(followed)
      // Clients of this node are sent on when the leader is there, even if it has nothing to say.
      isAwaited ||= followed.mayAsk && followed.partition.isHandingOver
    }
    // A partition must not be in both lists: the one that is followed in a new epoch has just taken the old one's place.
    for (const followed of rest) this.#forget(followed, forgotten)
    const { maxWaitMs, minBytes, maxBytes } = this.#limits
    return {
      replicaId: -1,
      replicaState: from,
      maxWaitMs: isAwaited ? 0 : maxWaitMs,
      minBytes,
      maxBytes,
      isolationLevel: 0,
      sessionId: this.#sessionId,
      sessionEpoch: this.#epoch,
      topics: Array.from(topics, ([topicId, partitions]) => ({ topicId, partitions })),
      forgottenTopicsData: Array.from(forgotten, ([topicId, partitions]) => ({ topicId, partitions })),
    }
  }

  /** The answer to the last request, or its error. False: the leader has lost the session, all must be named again. */
  answered({ errorCode, sessionId }: { readonly errorCode: number; readonly sessionId: number }): boolean {
    if (errorCode !== ErrorCode.NONE) {
      this.reset()
      return false
    }
    this.#isWithoutSession = sessionId === NO_SESSION
    if (this.#isWithoutSession) this.reset()
    else {
      this.#sessionId = sessionId
      this.#epoch = this.#epoch === LAST_EPOCH ? 1 : this.#epoch + 1
    }
    return true
  }

  /** Nobody knows what the leader has heard. The next request closes its old session, if that still exists. */
  reset(): void {
    this.#epoch = INITIAL_EPOCH
    for (const followed of this.#known) followed.askedOffset = -1
    this.#known.clear()
  }

  #name(followed: Followed, topics: Map<string, PartitionInput[]>): void {
    const { topicId } = followed.partition
    let partitions = topics.get(topicId)
    if (partitions === undefined) {
      partitions = []
      topics.set(topicId, partitions)
    }
    partitions.push(this.#asked(followed))
    this.#known.set(followed)
  }

  #asked(followed: Followed): PartitionInput {
    const { log, highWatermark, topicPartition } = followed.partition
    assert(log !== null, `${followed.partition.name} is fetched without a log`)
    const { endOffset, logStartOffset } = log
    const { durableOffset, writtenOffset } = log
    followed.askedOffset = endOffset
    return {
      partition: topicPartition.partition,
      currentLeaderEpoch: followed.machine.leaderEpoch,
      fetchOffset: endOffset,
      // Of the last record: an epoch in which nothing was written says nothing about the history.
      lastFetchedEpoch: log.epochs.epochAt(endOffset - 1),
      logStartOffset,
      partitionMaxBytes: this.#limits.partitionMaxBytes,
      highWatermark,
      durableOffset: durableOffset < endOffset ? durableOffset : -1,
      writtenOffset: writtenOffset < endOffset ? writtenOffset : -1,
    }
  }

  #forget(followed: Followed, forgotten: Map<string, number[]>): void {
    followed.askedOffset = -1
    if (!this.#known.delete(followed)) return
    const { topicId, topicPartition } = followed.partition
    const partitions = forgotten.get(topicId)
    if (partitions === undefined) forgotten.set(topicId, [topicPartition.partition])
    else partitions.push(topicPartition.partition)
  }
}
