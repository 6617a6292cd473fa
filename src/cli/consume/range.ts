import type { Admin } from '../../client/admin.ts'
import type { ListedOffset, OffsetAt } from '../../client/list-offsets.ts'
import type { PartitionMap } from '../../client/topic-partitions.ts'
import type { TopicPartition } from '../../model/ids.ts'
import type { OffsetBound, OffsetRange } from '../records/offset-range.ts'

/** What is to be read of one partition. `until` is exclusive; null reads on for ever. */
export interface PartitionRange extends TopicPartition {
  readonly from: number
  readonly until: number | null
  /** Where the log ends now. */
  readonly end: number
}

/** Turns the words of a range into offsets, by what the leaders say now. */
export async function resolveRange(
  admin: Admin,
  partitions: readonly TopicPartition[],
  range: OffsetRange,
): Promise<PartitionRange[]> {
  const ask = (at: OffsetAt) => admin.listOffsets(partitions.map((partition) => ({ ...partition, at })))
  const askTime = (bound: OffsetBound | null) => (bound?.type === 'time' ? ask(bound.timestampMs) : null)
  const [starts, ends, from, until] = await Promise.all([
    ask('earliest'),
    ask('latest'),
    askTime(range.from),
    askTime(range.until),
  ])
  const resolve = (bound: OffsetBound, partition: TopicPartition, times: PartitionMap<ListedOffset> | null): number => {
    const start = starts.get(partition)?.offset ?? 0
    const end = ends.get(partition)?.offset ?? 0
    const within = (offset: number) => Math.min(Math.max(offset, start), end)
    switch (bound.type) {
      case 'start':
        return start
      case 'end':
        return end
      case 'after-start':
        return within(start + bound.count)
      case 'before-end':
        return within(end - bound.count)
      case 'exact':
        // An offset that is yet to come is waited for.
        return Math.max(bound.offset, start)
      case 'time': {
        const offset = times?.get(partition)?.offset ?? -1
        return offset < 0 ? end : offset
      }
    }
  }
  return partitions.map((partition) => ({
    ...partition,
    from: resolve(range.from, partition, from),
    until: range.until === null ? null : resolve(range.until, partition, until),
    end: ends.get(partition)?.offset ?? 0,
  }))
}
