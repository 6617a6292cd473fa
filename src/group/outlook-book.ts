import type { TopicId } from '../model/ids.ts'

/** What the leader of a partition says about its log: see docs/lag.md. */
export interface PartitionOutlook {
  readonly topic: string
  readonly topicId: TopicId
  readonly partition: number
  readonly leaderEpoch: number
  /** Nothing before it is there any more. */
  readonly startOffset: number
  /** Oldest first: all before `endOffset` goes at `dueMs`, on the monotonic clock of this node. */
  readonly steps: readonly { readonly endOffset: number; readonly dueMs: number }[]
}

/** An outlook that is new, and where the log began as far as was known before; null: nothing was. */
export interface OutlookChange {
  readonly outlook: PartitionOutlook
  readonly startBefore: number | null
}

/** Names a partition of a topic. */
export type Knows = (named: {
  readonly topic: string
  readonly topicId: TopicId
  readonly partition: number
}) => boolean

/** Partitions that are not known here, or not yet: so many are remembered, whoever names more. */
const UNKNOWN_MAX = 1000
/** Leaders name fewer; of more, those that come first and the last, which says how far the danger reaches. */
const STEPS_MAX = 64

/** The newest outlook of each partition, on a coordinator; shared by all its shards, and older than those loaded later. */
export class OutlookBook {
  readonly #byTopic = new Map<string, Map<number, PartitionOutlook>>()
  readonly #knows: Knows
  /** The oldest first; some may have become known meanwhile. */
  readonly #unknown = new Set<PartitionOutlook>()

  constructor(knows: Knows = () => true) {
    this.#knows = knows
  }

  get(topic: string, partition: number): PartitionOutlook | undefined {
    return this.#byTopic.get(topic)?.get(partition)
  }

  /** Takes in what is not older than what is known, and says what that was. */
  update(outlooks: readonly PartitionOutlook[]): OutlookChange[] {
    const changes: OutlookChange[] = []
    for (const outlook of outlooks) {
      const known = this.get(outlook.topic, outlook.partition)
      const isSame = known !== undefined && known.topicId === outlook.topicId
      if (isSame && outlook.leaderEpoch < known.leaderEpoch) continue
      // A new leader may not have deleted yet what its predecessor had: that is gone for readers all the same.
      const startOffset = Math.max(outlook.startOffset, isSame ? known.startOffset : 0)
      const change = {
        outlook: { ...outlook, startOffset, steps: bounded(outlook.steps) },
        startBefore: isSame ? known.startOffset : null,
      }
      this.#put(change.outlook)
      changes.push(change)
    }
    return changes
  }

  forget(topic: string, topicId: TopicId): void {
    const partitions = this.#byTopic.get(topic)
    for (const { partition, topicId: id } of partitions?.values() ?? [])
      if (id === topicId) partitions?.delete(partition)
    if (partitions?.size === 0) this.#byTopic.delete(topic)
  }

  #put(outlook: PartitionOutlook): void {
    const partitions = this.#byTopic.get(outlook.topic) ?? new Map<number, PartitionOutlook>()
    this.#byTopic.set(outlook.topic, partitions)
    partitions.set(outlook.partition, outlook)
    if (!this.#knows(outlook)) this.#boundUnknown(outlook)
  }

  /** Whoever can send requests could else name partitions without end. */
  #boundUnknown(outlook: PartitionOutlook): void {
    this.#unknown.add(outlook)
    if (this.#unknown.size <= UNKNOWN_MAX) return
    const [oldest] = this.#unknown
    if (oldest === undefined) return
    this.#unknown.delete(oldest)
    if (this.get(oldest.topic, oldest.partition) !== oldest || this.#knows(oldest)) return
    const partitions = this.#byTopic.get(oldest.topic)
    partitions?.delete(oldest.partition)
    if (partitions?.size === 0) this.#byTopic.delete(oldest.topic)
  }
}

function bounded(steps: PartitionOutlook['steps']): PartitionOutlook['steps'] {
  const last = steps.at(-1)
  return steps.length <= STEPS_MAX || last === undefined ? steps : [...steps.slice(0, STEPS_MAX - 1), last]
}

/** What lies before it is in danger; the start where nothing is. */
export function dangerEnd({ startOffset, steps }: PartitionOutlook): number {
  return Math.max(startOffset, steps.at(-1)?.endOffset ?? 0)
}

/** When the record at `offset` goes, if it is in danger. */
export function dueOf({ steps }: PartitionOutlook, offset: number): number | null {
  return steps.find(({ endOffset }) => offset < endOffset)?.dueMs ?? null
}
