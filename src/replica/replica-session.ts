import { INT64_MAX } from '../protocol/limits.ts'
import type { FetchRequest } from '../protocol/apis/fetch.ts'
import type { FetchTarget } from './fetch-session.ts'
import type { Watcher } from './audience.ts'
import type { Partition } from './partition.ts'

type RequestTopic = FetchRequest['topics'][number]
type RequestPartition = RequestTopic['partitions'][number]

/** One partition that a follower replicates from this node. While it is in a session it hears of the partition's news. */
export class ReplicaTarget implements FetchTarget, Watcher {
  readonly topic: string
  readonly topicId: string
  readonly partition: number
  nameOfId: string | null = null
  currentLeaderEpoch = -1
  fetchOffset = 0
  lastFetchedEpoch = -1
  maxBytes = 0
  startOffset = -1
  /** Null: it does not say, so that all that it holds counts. */
  durableOffset: number | null = null
  writtenOffset: number | null = null
  /** Of the follower: by its own word, or what it was told since. INT64_MAX: it does not say (before version 18). */
  highWatermark = INT64_MAX
  toldHighWatermark = -1
  toldLastStableOffset = -1
  toldLogStartOffset = -1
  readonly #session: ReplicaSession
  #watched: Partition | null = null

  constructor(session: ReplicaSession, topic: string, topicId: string, partition: number) {
    this.#session = session
    this.topic = topic
    this.topicId = topicId
    this.partition = partition
  }

  update(asked: RequestPartition): void {
    this.currentLeaderEpoch = asked.currentLeaderEpoch
    this.fetchOffset = asked.fetchOffset
    this.lastFetchedEpoch = asked.lastFetchedEpoch
    this.maxBytes = asked.partitionMaxBytes
    this.startOffset = asked.logStartOffset
    this.durableOffset = asked.durableOffset < 0 ? null : asked.durableOffset
    this.writtenOffset = asked.writtenOffset < 0 ? null : asked.writtenOffset
    this.highWatermark = asked.highWatermark
  }

  watch(partition: Partition): void {
    if (this.#watched === partition) return
    this.unwatch()
    this.#watched = partition
    partition.audience.watchAsReplica(this)
  }

  unwatch(): void {
    this.#watched?.audience.unwatchAsReplica(this)
    this.#watched = null
  }

  partitionChanged(): void {
    this.#session.noted(this)
  }
}

/** Who waits at the leader for a session's news. */
export interface SessionWaiter {
  /** There may be something to answer: look again once the present event is over. */
  newsCame(): void
  /** Answer now, whatever there is. */
  wake(): void
  /** Another request of the session has come: this one's sender has given it up. */
  supersede(): void
}

/**
 * What one follower replicates from this node, remembered between its fetches (KIP-227). Other than a consumer's session
 * it knows which of its partitions have news, so that neither an idle fetch nor one of few records costs more because
 * there are many partitions.
 */
export class ReplicaSession {
  readonly id: number
  readonly replicaId: number
  /** The epoch that the next request must carry. */
  nextEpoch = 1
  lastUsedMs = 0
  /** To be looked at by the next answer: those not served longest first. */
  readonly news = new Set<ReplicaTarget>()
  /** The request of this epoch, which has not come yet, is not to wait. */
  wokenEpoch = -1
  waiter: SessionWaiter | null = null
  /** Of `LeadershipChecks`: the newest one made before the last answer, and before the answer that the last request follows. */
  answeredCheck = 0
  provedCheck = 0
  readonly #targets = new Map<string, Map<number, ReplicaTarget>>()
  #size = 0

  constructor(id: number, replicaId: number) {
    this.id = id
    this.replicaId = replicaId
  }

  get size(): number {
    return this.#size
  }

  /** The leader epoch in which the follower fetches the partition; null: it does not. */
  epochOf({ topicId, topicPartition: { topic, partition } }: Partition): number | null {
    const targets = this.#targets.get(topicId) ?? this.#targets.get(topic)
    return targets?.get(partition)?.currentLeaderEpoch ?? null
  }

  noted(target: ReplicaTarget): void {
    this.news.add(target)
    this.waiter?.newsCame()
  }

  /** Takes in what a request names, and returns that. */
  update({ topics, forgottenTopicsData }: FetchRequest): ReplicaTarget[] {
    for (const { topic, topicId, partitions } of forgottenTopicsData) {
      for (const partition of partitions) this.#forget(keyOf(topic, topicId), partition)
    }
    const named: ReplicaTarget[] = []
    for (const topic of topics) for (const asked of topic.partitions) named.push(this.#set(topic, asked))
    return named
  }

  *[Symbol.iterator](): Generator<ReplicaTarget> {
    for (const targets of this.#targets.values()) yield* targets.values()
  }

  close(): void {
    for (const target of this) target.unwatch()
    this.news.clear()
  }

  #set({ topic, topicId }: RequestTopic, asked: RequestPartition): ReplicaTarget {
    const key = keyOf(topic, topicId)
    let targets = this.#targets.get(key)
    if (targets === undefined) {
      targets = new Map()
      this.#targets.set(key, targets)
    }
    let target = targets.get(asked.partition)
    if (target === undefined) {
      target = new ReplicaTarget(this, topic, topicId, asked.partition)
      targets.set(asked.partition, target)
      this.#size += 1
    }
    target.update(asked)
    return target
  }

  #forget(key: string, partition: number): void {
    const targets = this.#targets.get(key)
    const target = targets?.get(partition)
    if (targets === undefined || target === undefined) return
    target.unwatch()
    this.news.delete(target)
    targets.delete(partition)
    this.#size -= 1
    if (targets.size === 0) this.#targets.delete(key)
  }
}

/** Versions from 13 on name topics by their ids only. */
function keyOf(topic: string, topicId: string): string {
  return topic === '' ? topicId : topic
}
