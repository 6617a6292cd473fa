import { ErrorCode } from '../protocol/errors.ts'
import type { ReadResult } from '../storage/tail.ts'
import {
  divergence,
  failedRead,
  findPartition,
  type PartitionRead,
  readErrorCode,
  type ReadRequest,
} from './fetch-read.ts'
import { Partition } from './partition.ts'
import type { HostedPartitions } from './hosted.ts'
import type { ReplicaTarget } from './replica-session.ts'

const NOTHING: readonly Buffer[] = []

/** The partition when this node leads it in the follower's epoch and the follower is one of its replicas, else why not. */
export function findLed(
  hosted: HostedPartitions,
  target: ReplicaTarget,
  request: ReadRequest & { readonly replicaId: number },
): Partition | PartitionRead {
  const partition = findPartition(hosted, target, request)
  if (!(partition instanceof Partition)) return handingOver(hosted, target) ?? partition
  const { topic } = partition.topicPartition
  const isKnown = partition.leader?.followers.some(({ id }) => id === request.replicaId)
  // A replica that is being added, and we have not heard of it yet: it asks again (as Kafka has it).
  return isKnown ? partition : failedRead(topic, ErrorCode.UNKNOWN_LEADER_EPOCH)
}

/** Its successor has not begun yet, and still asks in the epoch that is over: it is given the rest before it is refused. */
function handingOver(
  hosted: HostedPartitions,
  { topic, topicId, partition: index, ...asked }: ReplicaTarget,
): Partition | null {
  const partition = hosted.get(hosted.nameOf(topicId) ?? topic, index)
  if (partition === undefined || !partition.isHandingOver || partition.isOffline) return null
  const isOfThen = asked.currentLeaderEpoch === partition.handedOverEpoch
  return isOfThen && asked.fetchOffset < (partition.log?.endOffset ?? 0) ? partition : null
}

/** What can be told before anything is read: positions, an offset out of range, a divergence (KIP-595). */
export function glance(partition: Partition, target: ReplicaTarget): PartitionRead {
  const { log, highWatermark } = partition
  const { topic } = partition.topicPartition
  if (log === null) return failedRead(topic, ErrorCode.KAFKA_STORAGE_ERROR)
  const { logStartOffset, endOffset } = log
  const divergingEpoch = target.fetchOffset < logStartOffset ? null : divergence(partition, target)
  const isOutside = target.fetchOffset < logStartOffset || target.fetchOffset > endOffset
  const isLost = divergingEpoch !== null && divergingEpoch.endOffset < 0
  if (isLost || (isOutside && divergingEpoch === null)) {
    return { ...failedRead(topic, ErrorCode.OFFSET_OUT_OF_RANGE), logStartOffset }
  }
  return {
    ...failedRead(topic, ErrorCode.NONE),
    highWatermark,
    logStartOffset,
    diverges: divergingEpoch !== null,
    divergingEpoch,
  }
}

/** Reads up to the end of the log, for a follower; a value when it is in memory. */
export function readToEnd(
  partition: Partition,
  target: ReplicaTarget,
  { bytesLeft, isFirst }: ReadRequest,
): PartitionRead | Promise<PartitionRead> {
  const seen = glance(partition, target)
  const { log, leader } = partition
  const { fetchOffset } = target
  if (log === null || seen.errorCode !== 0 || seen.diverges) return seen
  const maxBytes = Math.min(target.maxBytes, bytesLeft)
  if (fetchOffset === log.endOffset || (maxBytes <= 0 && !isFirst)) return seen
  try {
    const limits = { maxBytes: Math.max(maxBytes, 0), limitOffset: log.endOffset, atLeastOneBatch: isFirst }
    const read = log.read(fetchOffset, limits)
    if (!(read instanceof Promise))
      return read.bytes === 0 ? seen : { ...seen, bytes: read.bytes, records: read.buffers }
    // What a leader hands over it has in memory; what else there is may be cut while it is read.
    if (leader === null) return failedRead(seen.topic, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    return finishLater(partition, leader.leaderEpoch, seen, read)
  } catch (error) {
    return failedRead(seen.topic, readErrorCode(error))
  }
}

/** While the disk was read another leader may have been elected, and this log cut. */
async function finishLater(
  partition: Partition,
  leaderEpoch: number,
  seen: PartitionRead,
  reading: Promise<ReadResult>,
): Promise<PartitionRead> {
  try {
    const { buffers, bytes } = await reading
    if (partition.leader?.leaderEpoch !== leaderEpoch) return failedRead(seen.topic, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    return { ...seen, bytes, records: bytes === 0 ? NOTHING : buffers }
  } catch (error) {
    return failedRead(seen.topic, readErrorCode(error))
  }
}
