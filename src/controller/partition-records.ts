import type { MetadataImage } from '../metadata/image.ts'
import type { MetadataRecord } from '../metadata/records.ts'

/** Among directory ids: not assigned yet (KIP-858). */
export const UNASSIGNED_DIRECTORY = 'AAAAAAAAAAAAAAAAAAAAAQ'
/** In no directory that works (KIP-858). */
export const LOST_DIRECTORY = 'AAAAAAAAAAAAAAAAAAAAAg'

/** Brokers that may be in an ISR: there, serving and not about to stop. */
export function isActive(image: MetadataImage, brokerId: number): boolean {
  const broker = image.broker(brokerId)
  return broker !== undefined && !broker.fenced && !broker.inControlledShutdown
}

/** The first record of a partition; its replicas have been checked. Null when none of them can lead. */
export function newPartition(
  image: MetadataImage,
  topicId: string,
  partitionId: number,
  replicas: readonly number[],
): MetadataRecord | null {
  const active = replicas.filter((brokerId) => isActive(image, brokerId))
  const roomy = active.filter((brokerId) => image.broker(brokerId)?.outOfSpace === 0)
  const isr = roomy.length > 0 ? roomy : active
  const leader = isr[0]
  if (leader === undefined) return null
  return {
    type: 'Partition',
    value: {
      partitionId,
      topicId,
      replicas,
      isr,
      removingReplicas: [],
      addingReplicas: [],
      leader,
      leaderRecoveryState: 0,
      leaderEpoch: 0,
      partitionEpoch: 0,
      directories: replicas.map((brokerId) => directoryFor(image, brokerId)),
      eligibleLeaderReplicas: null,
      lastKnownElr: null,
    },
  }
}

/** A broker with a single directory has no choice; others report theirs (AssignReplicasToDirs). */
export function directoryFor(image: MetadataImage, brokerId: number): string {
  const directories = image.broker(brokerId)?.logDirs ?? []
  return directories.length === 1 ? (directories[0] as string) : UNASSIGNED_DIRECTORY
}

/** Why a manual list of replicas is refused, in Kafka's words, or null. */
export function manualAssignmentProblem(
  image: MetadataImage,
  replicas: readonly number[],
  replicationFactor: number | null,
): string | null {
  if (replicas.length === 0) return 'The manual partition assignment includes an empty replica list.'
  let previous: number | null = null
  for (const brokerId of [...replicas].sort((a, b) => a - b)) {
    if (image.broker(brokerId) === undefined) {
      return `The manual partition assignment includes broker ${brokerId}, but no such broker is registered.`
    }
    if (brokerId === previous) {
      return `The manual partition assignment includes the broker ${brokerId} more than once.`
    }
    previous = brokerId
  }
  if (replicationFactor !== null && replicas.length !== replicationFactor) {
    return (
      `The manual partition assignment includes a partition with ${replicas.length} replica(s), but this is not ` +
      `consistent with previous partitions, which have ${replicationFactor} replica(s).`
    )
  }
  return null
}
