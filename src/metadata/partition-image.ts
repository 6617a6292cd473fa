import type { PartitionImage } from './image.ts'
import { NO_LEADER_CHANGE, NO_RECOVERY_CHANGE, type PartitionChangeRecord, type PartitionRecord } from './records.ts'

export function partitionFrom(record: PartitionRecord): PartitionImage {
  return {
    replicas: record.replicas,
    directories: record.directories,
    isr: record.isr,
    removingReplicas: record.removingReplicas,
    addingReplicas: record.addingReplicas,
    leader: record.leader,
    leaderRecoveryState: record.leaderRecoveryState,
    leaderEpoch: record.leaderEpoch,
    partitionEpoch: record.partitionEpoch,
    elr: record.eligibleLeaderReplicas ?? NONE,
    lastKnownElr: record.lastKnownElr ?? NONE,
  }
}

/** Every change counts in the partition epoch; a leader named, even the one it was, begins a leader epoch. */
export function changePartition(partition: PartitionImage, change: PartitionChangeRecord): PartitionImage {
  const led = change.leader !== NO_LEADER_CHANGE
  const recovery = change.leaderRecoveryState
  return {
    replicas: change.replicas ?? partition.replicas,
    directories: change.directories ?? partition.directories,
    isr: change.isr ?? partition.isr,
    removingReplicas: change.removingReplicas ?? partition.removingReplicas,
    addingReplicas: change.addingReplicas ?? partition.addingReplicas,
    leader: led ? change.leader : partition.leader,
    leaderRecoveryState: recovery === NO_RECOVERY_CHANGE ? partition.leaderRecoveryState : recovery,
    leaderEpoch: partition.leaderEpoch + (led ? 1 : 0),
    partitionEpoch: partition.partitionEpoch + 1,
    elr: change.eligibleLeaderReplicas ?? partition.elr,
    lastKnownElr: change.lastKnownElr ?? partition.lastKnownElr,
  }
}

/** The same partition when it has nothing to clear. */
export function clearElr(partition: PartitionImage): PartitionImage {
  if (partition.elr.length === 0 && partition.lastKnownElr.length === 0) return partition
  return { ...partition, elr: NONE, lastKnownElr: NONE, partitionEpoch: partition.partitionEpoch + 1 }
}

const NONE: readonly number[] = []
