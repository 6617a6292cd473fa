import type { Admin } from './admin.ts'
import type { GroupDescription } from './group-admin.ts'
import { PartitionMap } from './topic-partitions.ts'
import type { TopicPartition } from '../model/ids.ts'

/** Where a group stands in one partition. */
export interface PartitionLag extends TopicPartition {
  /** Null: nothing was committed. */
  readonly committed: number | null
  readonly startOffset: number
  readonly endOffset: number
  /** Records up to the end that the group has not read; from the start of the log where it has no offset. */
  readonly lag: number
  /** Member that reads it now; null for nobody. */
  readonly memberId: string | null
  readonly clientId: string | null
  readonly host: string | null
}

/** All partitions that the group has an offset for or reads, sorted. */
export async function lagOf(admin: Admin, group: GroupDescription): Promise<PartitionLag[]> {
  const committed = await admin.groups.offsets(group.groupId)
  const owners = new PartitionMap<GroupDescription['members'][number]>()
  for (const member of group.members) for (const partition of member.assignment ?? []) owners.set(partition, member)
  const partitions = new PartitionMap([...committed.keys(), ...owners.keys()].map((key) => [key, true] as const)).keys()
  const [starts, ends] = await Promise.all([
    admin.listOffsets(partitions.map((partition) => ({ ...partition, at: 'earliest' as const }))),
    admin.listOffsets(partitions.map((partition) => ({ ...partition, at: 'latest' as const }))),
  ])
  return partitions
    .map((partition) => {
      const offset = committed.get(partition)?.offset ?? null
      const startOffset = starts.get(partition)?.offset ?? 0
      const endOffset = ends.get(partition)?.offset ?? 0
      const owner = owners.get(partition) ?? null
      return {
        ...partition,
        committed: offset,
        startOffset,
        endOffset,
        lag: Math.max(0, endOffset - Math.max(offset ?? startOffset, startOffset)),
        memberId: owner?.memberId ?? null,
        clientId: owner?.clientId ?? null,
        host: owner?.clientHost ?? null,
      }
    })
    .sort(byName)
}

export function byName(left: TopicPartition, right: TopicPartition): number {
  if (left.topic !== right.topic) return left.topic < right.topic ? -1 : 1
  return left.partition - right.partition
}
