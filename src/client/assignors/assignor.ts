import type { TopicPartition } from '../../model/ids.ts'

/** What the leader of a group knows of a member. */
export interface GroupMember {
  readonly memberId: string
  /** Of a static member; else null. */
  readonly groupInstanceId: string | null
  readonly topics: readonly string[]
  /** What it says it has, and since which generation (-1: it does not say). */
  readonly owned: readonly TopicPartition[]
  readonly generation: number
}

/** Partitions of each topic that exists. */
export type PartitionCounts = ReadonlyMap<string, number>
export type Assignment = Map<string, TopicPartition[]>

/** A way to share the partitions of a group among its members. One member, the leader, computes it for all. */
export interface Assignor {
  /** As all members of the group spell it. */
  readonly name: string
  /**
   * A cooperative one never gives a partition to a member while another still has it: first it is taken away, and the
   * next rebalance gives it on (KIP-429). So members keep working on what they keep.
   */
  readonly isCooperative: boolean
  /** Kafka's Java client expects more of its own assignors than the topics. */
  userData(generation: number): Buffer | null
  assign(members: readonly GroupMember[], partitionCounts: PartitionCounts): Assignment
}

/** Static members keep their place when they come back under another member id. */
export function byStableId(one: GroupMember, other: GroupMember): number {
  if ((one.groupInstanceId === null) !== (other.groupInstanceId === null)) return one.groupInstanceId === null ? 1 : -1
  const left = one.groupInstanceId ?? one.memberId
  const right = other.groupInstanceId ?? other.memberId
  return left < right ? -1 : left > right ? 1 : 0
}

export function partitionKey({ topic, partition }: TopicPartition): string {
  return `${topic}-${partition}`
}
