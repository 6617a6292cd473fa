import type { Admin } from '../../client/admin.ts'
import type { TopicInfo } from '../../client/metadata.ts'
import { PartitionMap } from '../../client/topic-partitions.ts'

/** What is asked of the leaders and data folders about one partition. Null: nobody could say. */
export interface PartitionFacts {
  readonly startOffset: number | null
  readonly endOffset: number | null
  /** Of one copy. */
  readonly bytes: number | null
}

/** Offsets and sizes of all partitions of these topics that have a leader. */
export async function partitionFacts(
  admin: Admin,
  topics: readonly TopicInfo[],
): Promise<PartitionMap<PartitionFacts>> {
  const led = topics.flatMap(({ name, partitions }) =>
    partitions.filter(({ leader }) => leader >= 0).map(({ partition }) => ({ topic: name, partition })),
  )
  const [starts, ends, folders] = await Promise.all([
    admin.listOffsets(led.map((partition) => ({ ...partition, at: 'earliest' as const }))),
    admin.listOffsets(led.map((partition) => ({ ...partition, at: 'latest' as const }))),
    admin.describeLogDirs(),
  ])
  const sizes = new PartitionMap<number>()
  for (const { replicas } of folders) {
    for (const replica of replicas) sizes.set(replica, Math.max(replica.bytes, sizes.get(replica) ?? 0))
  }
  return new PartitionMap(
    led.map((partition) => [
      partition,
      {
        startOffset: starts.get(partition)?.offset ?? null,
        endOffset: ends.get(partition)?.offset ?? null,
        bytes: sizes.get(partition) ?? null,
      },
    ]),
  )
}
