import type { MetadataRecord } from '../metadata/records.ts'
import type { TopicId } from '../model/ids.ts'
import type { PartitionLog } from '../storage/partition-log.ts'
import { decodeBatches } from './metadata-batch.ts'

const READ_BYTES = 1024 * 1024

/**
 * The topics of whose removal the metadata log tells, as far back as it goes: the proof that a directory which no image
 * knows was deleted, and is not there because the image is behind. Sets of records that never took effect do not count.
 */
export async function removedTopics(log: PartitionLog, endOffset: number): Promise<ReadonlySet<TopicId>> {
  const removed = new Set<TopicId>()
  /** Of the set of records that is under way; null outside of one. */
  let pending: TopicId[] | null = null
  const take = ({ type, value }: MetadataRecord): void => {
    if (type === 'BeginTransaction') pending = []
    else if (type === 'RemoveTopic') {
      if (pending === null) removed.add(value.topicId as TopicId)
      else pending.push(value.topicId as TopicId)
    } else if (type === 'EndTransaction' || type === 'AbortTransaction') {
      if (type === 'EndTransaction') for (const topicId of pending ?? []) removed.add(topicId)
      pending = null
    }
  }
  for (let offset = log.logStartOffset; offset < endOffset; ) {
    const read = await log.read(offset, { maxBytes: READ_BYTES, limitOffset: endOffset, atLeastOneBatch: true })
    if (read.endOffset <= offset) break
    for (const { records } of decodeBatches(Buffer.concat(read.buffers))) for (const record of records) take(record)
    offset = read.endOffset
  }
  return removed
}
