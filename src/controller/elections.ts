import type { MetadataImage, PartitionImage } from '../metadata/image.ts'
import { type MetadataRecord, NO_LEADER, partitionChange } from '../metadata/records.ts'
import { isActive } from './partition-records.ts'

/**
 * The changes of all partitions when `brokerId` leaves: fenced, stopping, or come back as another incarnation. It leads
 * no more and leaves each ISR, unless it is the last in it: only it is known to hold all that was acknowledged.
 */
export function withoutBroker(image: MetadataImage, brokerId: number): MetadataRecord[] {
  return eachPartition(image, (partition) => {
    if (!partition.isr.includes(brokerId)) return null
    const others = partition.isr.filter((id) => id !== brokerId)
    const isr = others.length > 0 ? others : partition.isr
    const isrChange = others.length > 0 ? { isr } : {}
    if (partition.leader !== brokerId) return others.length > 0 ? isrChange : null
    const leader = electLeader({ ...partition, isr }, (id) => id !== brokerId && isActive(image, id))
    return { ...isrChange, leader }
  })
}

/** The changes when `brokerId` comes to serve: it leads what had no leader and has it in sync. */
export function withBroker(image: MetadataImage, brokerId: number): MetadataRecord[] {
  return eachPartition(image, (partition) => {
    if (partition.leader !== NO_LEADER || !partition.isr.includes(brokerId)) return null
    return { leader: electLeader(partition, (id) => id === brokerId || isActive(image, id)) }
  })
}

/** The first replica, in their order of preference, that is in sync and may lead; NO_LEADER when there is none. */
export function electLeader(partition: PartitionImage, mayLead: (brokerId: number) => boolean): number {
  return partition.replicas.find((id) => partition.isr.includes(id) && mayLead(id)) ?? NO_LEADER
}

type Change = { readonly isr?: readonly number[]; readonly leader?: number }

function eachPartition(image: MetadataImage, change: (partition: PartitionImage) => Change | null): MetadataRecord[] {
  const records: MetadataRecord[] = []
  // In the order of names, so that equal images give equal logs.
  for (const { topicId, partitions } of image.topicsByName.sorted()) {
    for (const [partitionId, partition] of partitions.entries()) {
      const changed = change(partition)
      if (changed !== null) records.push(partitionChange({ topicId, partitionId, ...changed }))
    }
  }
  return records
}
