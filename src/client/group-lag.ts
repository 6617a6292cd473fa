import type { Admin } from './admin.ts'
import type { BrokerLag, GroupDescription } from './group-admin.ts'
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
  /** What the broker knows beyond that, of offsets that were committed; null where it does not tell. */
  readonly known: Pick<BrokerLag, 'lagMs' | 'trend' | 'caughtUpInMs' | 'leftMs' | 'isAtRisk'> | null
  /** Member that reads it now; null for nobody. */
  readonly memberId: string | null
  readonly clientId: string | null
  readonly host: string | null
}

/**
 * All partitions that the group has an offset for or reads, sorted. Those that `group` was described with are taken from
 * there; the rest is asked for.
 */
export async function lagOf(admin: Admin, group: GroupDescription): Promise<PartitionLag[]> {
  const owners = new PartitionMap<GroupDescription['members'][number]>()
  for (const member of group.members) for (const partition of member.assignment ?? []) owners.set(partition, member)
  const told = new PartitionMap((group.lag ?? []).map((lag) => [lag, lag] as const))
  const committed = await admin.groups.offsets(group.groupId)
  const partitions = new PartitionMap([...committed.keys(), ...owners.keys()].map((key) => [key, true] as const)).keys()
  const untold = partitions.filter((partition) => !told.has(partition))
  const [starts, ends] = await Promise.all([
    admin.listOffsets(untold.map((partition) => ({ ...partition, at: 'earliest' as const }))),
    admin.listOffsets(untold.map((partition) => ({ ...partition, at: 'latest' as const }))),
  ])
  return partitions
    .map(({ topic, partition }) => {
      const found = told.get({ topic, partition })
      const at = found ?? {
        committed: committed.get({ topic, partition })?.offset ?? null,
        startOffset: starts.get({ topic, partition })?.offset ?? 0,
        endOffset: ends.get({ topic, partition })?.offset ?? 0,
      }
      const { committed: offset, startOffset, endOffset } = at
      const lag = found?.lag ?? Math.max(0, endOffset - Math.max(offset ?? startOffset, startOffset))
      const owner = owners.get({ topic, partition }) ?? null
      return {
        topic,
        partition,
        committed: offset,
        startOffset,
        endOffset,
        lag,
        known: found === undefined ? null : knownOf(found),
        memberId: owner?.memberId ?? null,
        clientId: owner?.clientId ?? null,
        host: owner?.clientHost ?? null,
      }
    })
    .sort(byName)
}

/** Null: it neither reads a partition nor has an offset, so nobody can say that it has read all. */
export function totalLag(partitions: readonly PartitionLag[]): number | null {
  return partitions.length === 0 ? null : partitions.reduce((sum, { lag }) => sum + lag, 0)
}

function knownOf({ lagMs, trend, caughtUpInMs, leftMs, isAtRisk }: BrokerLag): NonNullable<PartitionLag['known']> {
  return { lagMs, trend, caughtUpInMs, leftMs, isAtRisk }
}

export function byName(left: TopicPartition, right: TopicPartition): number {
  if (left.topic !== right.topic) return left.topic < right.topic ? -1 : 1
  return left.partition - right.partition
}
