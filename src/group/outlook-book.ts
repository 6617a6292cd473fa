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

/** The newest outlook of each partition, on a coordinator; shared by all its shards, and older than those loaded later. */
export class OutlookBook {
  readonly #byTopic = new Map<string, Map<number, PartitionOutlook>>()

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
      const change = { outlook: { ...outlook, startOffset }, startBefore: isSame ? known.startOffset : null }
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
  }
}

/** What lies before it is in danger; the start where nothing is. */
export function dangerEnd({ startOffset, steps }: PartitionOutlook): number {
  return Math.max(startOffset, steps.at(-1)?.endOffset ?? 0)
}

/** When the record at `offset` goes, if it is in danger. */
export function dueOf({ steps }: PartitionOutlook, offset: number): number | null {
  return steps.find(({ endOffset }) => offset < endOffset)?.dueMs ?? null
}
