import type { TopicPartition } from '../../model/ids.ts'
import {
  type Assignment,
  type Assignor,
  byStableId,
  type GroupMember,
  type PartitionCounts,
  partitionKey,
} from './assignor.ts'

/**
 * Equal shares with as few moves as possible. A partition that moves is given to nobody at first: its owner sees that it
 * has lost it, gives it up and rejoins, and only then it goes to its new owner (KIP-429).
 */
export const cooperativeStickyAssignor: Assignor = {
  name: 'cooperative-sticky',
  isCooperative: true,
  userData(generation) {
    // The form in which members before KIP-792 tell since when they own what they own.
    const data = Buffer.alloc(4)
    data.writeInt32BE(generation)
    return data
  },
  assign(members, partitionCounts) {
    const owners = ownersOf(members)
    const assignment = balance(members, partitionCounts, owners)
    for (const [memberId, partitions] of assignment) {
      const kept = partitions.filter((partition) => {
        const owner = owners.get(partitionKey(partition))
        return owner === undefined || owner === memberId
      })
      assignment.set(memberId, kept)
    }
    return assignment
  },
}

/** Who has each partition now. Of two who claim it, the one with the later generation; of equals, none can be trusted. */
function ownersOf(members: readonly GroupMember[]): Map<string, string> {
  const claims = new Map<string, { memberId: string | null; generation: number }>()
  for (const { memberId, owned, generation } of members) {
    for (const partition of owned) {
      const key = partitionKey(partition)
      const claim = claims.get(key)
      if (claim === undefined || generation > claim.generation) claims.set(key, { memberId, generation })
      else if (generation === claim.generation) claims.set(key, { memberId: null, generation })
    }
  }
  const owners = new Map<string, string>()
  for (const [key, { memberId }] of claims) if (memberId !== null) owners.set(key, memberId)
  return owners
}

class Share {
  readonly member: GroupMember
  readonly topics: ReadonlySet<string>
  readonly partitions = new Map<string, TopicPartition>()

  constructor(member: GroupMember) {
    this.member = member
    this.topics = new Set(member.topics)
  }
}

function balance(
  members: readonly GroupMember[],
  partitionCounts: PartitionCounts,
  owners: ReadonlyMap<string, string>,
): Assignment {
  const shares = [...members].sort(byStableId).map((member) => new Share(member))
  const byId = new Map(shares.map((share) => [share.member.memberId, share]))
  const free: TopicPartition[] = []
  const topics = new Set(members.flatMap((member) => member.topics))
  for (const topic of [...topics].sort()) {
    for (let partition = 0; partition < (partitionCounts.get(topic) ?? 0); partition++) {
      const key = partitionKey({ topic, partition })
      const owner = byId.get(owners.get(key) ?? '')
      if (owner?.topics.has(topic)) owner.partitions.set(key, { topic, partition })
      else free.push({ topic, partition })
    }
  }
  for (const partition of free) smallest(shares, partition.topic)?.partitions.set(partitionKey(partition), partition)
  while (moveOne(shares));
  return new Map(shares.map(({ member, partitions }) => [member.memberId, [...partitions.values()]]))
}

function smallest(shares: readonly Share[], topic: string): Share | undefined {
  let best: Share | undefined
  for (const share of shares) {
    if (share.topics.has(topic) && (best === undefined || share.partitions.size < best.partitions.size)) best = share
  }
  return best
}

/** Moves one partition to a member that has at least two fewer. False when there is none: then the shares are equal. */
function moveOne(shares: readonly Share[]): boolean {
  const bySize = [...shares].sort((one, other) => other.partitions.size - one.partitions.size)
  for (const from of bySize) {
    for (const [key, partition] of [...from.partitions].reverse()) {
      const to = smallest(shares, partition.topic)
      if (to === undefined || to.partitions.size + 1 >= from.partitions.size) continue
      from.partitions.delete(key)
      to.partitions.set(key, partition)
      return true
    }
  }
  return false
}
