import type { FetchRequest } from '../protocol/apis/fetch.ts'

type RequestTopic = FetchRequest['topics'][number]
type RequestPartition = RequestTopic['partitions'][number]

/** One partition that a client reads: what it asked for, and in a session what it was told last. */
export interface FetchTarget {
  /** Empty when the request goes by topic ids. */
  readonly topic: string
  readonly topicId: string
  readonly partition: number
  /** What the topic of the id was called when it was last known: it may be deleted while a session goes on. */
  nameOfId: string | null
  currentLeaderEpoch: number
  fetchOffset: number
  lastFetchedEpoch: number
  maxBytes: number
  /** -1: nothing, or an error, after which everything is told again. */
  toldHighWatermark: number
  toldLastStableOffset: number
  toldLogStartOffset: number
}

/** The part of an answer that decides whether an incremental answer must have it. */
export interface FetchNews {
  readonly errorCode: number
  readonly highWatermark: number
  readonly lastStableOffset: number
  readonly logStartOffset: number
  readonly bytes: number
  readonly diverges: boolean
}

export function targetsOf(topics: FetchRequest['topics']): FetchTarget[] {
  const targets: FetchTarget[] = []
  for (const topic of topics) for (const partition of topic.partitions) targets.push(targetOf(topic, partition))
  return targets
}

function targetOf({ topic, topicId }: RequestTopic, asked: RequestPartition): FetchTarget {
  return {
    topic,
    topicId,
    partition: asked.partition,
    nameOfId: null,
    currentLeaderEpoch: believedEpoch(asked),
    fetchOffset: asked.fetchOffset,
    lastFetchedEpoch: asked.lastFetchedEpoch,
    maxBytes: asked.partitionMaxBytes,
    toldHighWatermark: -1,
    toldLastStableOffset: -1,
    toldLogStartOffset: -1,
  }
}

/** Fetch takes every negative epoch for none, other requests only -1. */
function believedEpoch({ currentLeaderEpoch }: RequestPartition): number {
  return Math.max(currentLeaderEpoch, -1)
}

const LAST_EPOCH = 2 ** 31 - 1

/**
 * What one client reads, remembered between its requests (KIP-227): it sends only what changes, and is answered only
 * what changed. Partitions that had data go to the back, so that the first in line do not starve the others.
 */
export class FetchSession {
  readonly id: number
  readonly usesTopicIds: boolean
  readonly createdMs: number
  lastUsedMs: number
  /** The epoch that the next request must carry. */
  nextEpoch = 1
  readonly #targets = new Map<string, FetchTarget>()

  constructor(
    { id, usesTopicIds, nowMs }: { id: number; usesTopicIds: boolean; nowMs: number },
    targets: readonly FetchTarget[],
  ) {
    this.id = id
    this.usesTopicIds = usesTopicIds
    this.createdMs = nowMs
    this.lastUsedMs = nowMs
    for (const target of targets) this.#targets.set(this.#key(target.topic, target.topicId, target.partition), target)
  }

  get size(): number {
    return this.#targets.size
  }

  /** In the order in which they are served. */
  targets(): readonly FetchTarget[] {
    return [...this.#targets.values()]
  }

  used(nowMs: number): void {
    this.lastUsedMs = nowMs
    this.nextEpoch = this.nextEpoch === LAST_EPOCH ? 1 : this.nextEpoch + 1
  }

  update({ topics, forgottenTopicsData }: FetchRequest): void {
    for (const topic of topics) for (const asked of topic.partitions) this.#set(topic, asked)
    for (const { topic, topicId, partitions } of forgottenTopicsData) {
      for (const partition of partitions) this.#targets.delete(this.#key(topic, topicId, partition))
    }
  }

  #set(topic: RequestTopic, asked: RequestPartition): void {
    const key = this.#key(topic.topic, topic.topicId, asked.partition)
    const known = this.#targets.get(key)
    if (known === undefined) {
      this.#targets.set(key, targetOf(topic, asked))
      return
    }
    known.currentLeaderEpoch = believedEpoch(asked)
    known.fetchOffset = asked.fetchOffset
    known.lastFetchedEpoch = asked.lastFetchedEpoch
    known.maxBytes = asked.partitionMaxBytes
  }

  /** Whether the answer must have this partition; remembers what it is told. */
  tell(target: FetchTarget, news: FetchNews): boolean {
    const changed =
      news.bytes > 0 ||
      news.errorCode !== 0 ||
      news.diverges ||
      news.highWatermark !== target.toldHighWatermark ||
      news.lastStableOffset !== target.toldLastStableOffset ||
      news.logStartOffset !== target.toldLogStartOffset
    target.toldHighWatermark = news.errorCode === 0 ? news.highWatermark : -1
    target.toldLastStableOffset = news.lastStableOffset
    target.toldLogStartOffset = news.logStartOffset
    if (news.bytes > 0) this.#toTheBack(target)
    return changed
  }

  #toTheBack(target: FetchTarget): void {
    const key = this.#key(target.topic, target.topicId, target.partition)
    if (this.#targets.delete(key)) this.#targets.set(key, target)
  }

  #key(topic: string, topicId: string, partition: number): string {
    return `${this.usesTopicIds ? topicId : topic}:${partition}`
  }
}
