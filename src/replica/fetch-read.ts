import { assert } from '../base/assert.ts'
import { MalformedError } from '../base/bytes.ts'
import { DiskError } from '../env/disk.ts'
import { NO_TOPIC_ID } from '../model/ids.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { CorruptLogError, OffsetOutOfRangeError } from '../storage/errors.ts'
import type { PartitionLog } from '../storage/partition-log.ts'
import type { ReadResult } from '../storage/tail.ts'
import type { FetchNews, FetchTarget } from './fetch-session.ts'
import type { HostedPartitions } from './hosted.ts'
import type { Partition } from './partition.ts'
import { nearestReplica } from './read-replica.ts'
import type { RequestContext } from './types.ts'

/** What one partition gives to one fetch. */
export interface PartitionRead extends FetchNews {
  /** Resolved name; empty when the id is unknown. */
  readonly topic: string
  readonly divergingEpoch: { readonly epoch: number; readonly endOffset: number } | null
  /** Where the client should read on; null: here. */
  readonly preferredReplica: number | null
  /** There may be more, which is not given for now. */
  readonly isHeldBack: boolean
  readonly abortedTransactions: readonly { producerId: number; firstOffset: number }[] | null
  readonly records: readonly Buffer[]
}

/** One object for all partitions of a request; the budget is set anew before each. */
export interface ReadRequest {
  readonly context: RequestContext
  readonly readCommitted: boolean
  /** A follower here will do. */
  readonly mayReadFollower: boolean
  /** Of the client; empty: it does not say, or nobody is sent elsewhere. */
  readonly rack: string
  /** What is left of the whole answer's budget. */
  bytesLeft: number
  /** Nothing was read before: then a batch larger than any limit is given all the same (KIP-74). */
  isFirst: boolean
}

/** KIP-516. */
const FIRST_VERSION_BY_ID = 13

const UNKNOWN_EPOCH = -1

const NOTHING: readonly Buffer[] = []

/** Kafka refuses these before it turns to the log, and answers an empty list of transactions; null after that. */
const REFUSED_UNREAD = new Set<number>([
  ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
  ErrorCode.UNKNOWN_TOPIC_ID,
  ErrorCode.TOPIC_AUTHORIZATION_FAILED,
])

/** The partition to read for `target`, or the answer that says why there is none. */
export function findPartition(
  hosted: HostedPartitions,
  target: FetchTarget,
  request: ReadRequest,
): Partition | PartitionRead {
  const byName = target.topicId === NO_TOPIC_ID
  if (!byName) target.nameOfId = hosted.nameOf(target.topicId) ?? target.nameOfId
  const topic = byName ? target.topic : target.nameOfId
  // From version 13 on there is only the id, and the zero id is none.
  if (topic === null || (byName && request.context.version >= FIRST_VERSION_BY_ID))
    return failedRead('', ErrorCode.UNKNOWN_TOPIC_ID)
  if (!request.context.mayAccess(topic)) return failedRead(topic, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
  const { topicId, currentLeaderEpoch: leaderEpoch } = target
  const believed = { topicId, leaderEpoch }
  const partition = request.mayReadFollower
    ? hosted.readable(topic, target.partition, believed)
    : hosted.led(topic, target.partition, believed)
  return typeof partition === 'number' ? failedRead(topic, partition) : partition
}

/** The answer to who asks for more than this log knows. */
function beyond(
  hosted: HostedPartitions,
  partition: Partition,
  fetchOffset: number,
): PartitionRead | Promise<PartitionRead> {
  const { topic } = partition.topicPartition
  // A follower may just be behind: the client asks again, or asks the leader.
  if (partition.leader === null) return failedRead(topic, ErrorCode.OFFSET_NOT_AVAILABLE)
  if (!hosted.mayBeSucceeded()) return failedRead(topic, ErrorCode.OFFSET_OUT_OF_RANGE)
  return beyondTheEnd(partition, fetchOffset)
}

/** Reads as much of `partition` as `target` and the budget allow; a value when it is in memory. */
export function readPartition(
  hosted: HostedPartitions,
  partition: Partition,
  target: FetchTarget,
  request: ReadRequest,
): PartitionRead | Promise<PartitionRead> {
  const { log } = partition
  assert(log !== null, `${partition.name} is read without a log`)
  const { topic } = partition.topicPartition
  const { fetchOffset } = target
  const divergingEpoch = divergence(partition, target)
  // Of an epoch that this log has never heard of nothing can be said either.
  const isBeyond = divergingEpoch === null ? fetchOffset > log.endOffset : divergingEpoch.epoch === UNKNOWN_EPOCH
  if (isBeyond) return beyond(hosted, partition, fetchOffset)
  if (divergingEpoch === null && fetchOffset < log.logStartOffset) {
    return failedRead(topic, ErrorCode.OFFSET_OUT_OF_RANGE)
  }
  const { rack } = request
  const nearest = rack === '' ? null : nearestReplica(partition, { rack, fetchOffset, image: hosted.image })
  const limitOffset = partition.readLimit(request.readCommitted)
  const positions = {
    topic,
    errorCode: 0,
    highWatermark: partition.highWatermark,
    lastStableOffset: request.readCommitted ? limitOffset : partition.readLimit(true),
    logStartOffset: log.logStartOffset,
    diverges: divergingEpoch !== null,
    divergingEpoch,
    preferredReplica: nearest,
    isHeldBack: false,
  }
  const abortedTransactions = request.readCommitted && divergingEpoch === null ? [] : null
  const empty: PartitionRead = { ...positions, bytes: 0, abortedTransactions, records: NOTHING }
  const maxBytes = Math.min(target.maxBytes, request.bytesLeft)
  if (nearest !== null || divergingEpoch !== null || fetchOffset >= limitOffset || (maxBytes <= 0 && !request.isFirst))
    return empty
  try {
    const options = { maxBytes: Math.max(maxBytes, 0), limitOffset, atLeastOneBatch: request.isFirst }
    const read = log.read(fetchOffset, options)
    // Of a batch that does not fit beside others Kafka says nothing, not even that no transaction in it was aborted.
    const nothing = request.isFirst ? empty : { ...empty, abortedTransactions: null }
    if (read instanceof Promise || request.readCommitted) return finishLater(log, fetchOffset, read, { empty, nothing })
    return { ...positions, bytes: read.bytes, abortedTransactions, records: read.buffers }
  } catch (error) {
    return failedRead(topic, readErrorCode(error))
  }
}

/**
 * A later leader may have given the client more than this one has. Told that it is out of range, a client that knows no
 * epochs (KIP-320) would begin anew at an end or the beginning of the log.
 */
async function beyondTheEnd(partition: Partition, fetchOffset: number): Promise<PartitionRead> {
  const { topic } = partition.topicPartition
  const isLed = await partition.isStillLed()
  const isBeyond = fetchOffset > (partition.log?.endOffset ?? 0)
  return failedRead(topic, isLed && isBeyond ? ErrorCode.OFFSET_OUT_OF_RANGE : ErrorCode.NOT_LEADER_OR_FOLLOWER)
}

/** A read from disk, or one that needs the transactions that were aborted in its range. */
async function finishLater(
  log: PartitionLog,
  fetchOffset: number,
  reading: ReadResult | Promise<ReadResult>,
  { empty, nothing }: { readonly empty: PartitionRead; readonly nothing: PartitionRead },
): Promise<PartitionRead> {
  try {
    const { buffers, bytes, endOffset } = await reading
    if (bytes === 0) return nothing
    if (empty.abortedTransactions === null) return { ...empty, bytes, records: buffers }
    const abortedTransactions = await log.abortedTransactions(fetchOffset, endOffset)
    return { ...empty, bytes, abortedTransactions, records: buffers }
  } catch (error) {
    return failedRead(empty.topic, readErrorCode(error))
  }
}

/** What went wrong below, as far as it can: anything else is a bug of ours and goes on. */
export function readErrorCode(error: unknown): number {
  if (error instanceof OffsetOutOfRangeError) return ErrorCode.OFFSET_OUT_OF_RANGE
  if (error instanceof CorruptLogError || error instanceof DiskError || error instanceof MalformedError) {
    return ErrorCode.KAFKA_STORAGE_ERROR
  }
  throw error
}

/** The client's last batch is not on this leader's history: it must cut back to where they part (KIP-595). */
export function divergence(partition: Partition, target: FetchTarget): { epoch: number; endOffset: number } | null {
  const { log } = partition
  if (target.lastFetchedEpoch < 0 || log === null) return null
  const { leaderEpoch, endOffset } = log.epochs.endOffsetFor(target.lastFetchedEpoch, log.endOffset)
  if (leaderEpoch === target.lastFetchedEpoch && endOffset >= target.fetchOffset) return null
  return { epoch: leaderEpoch, endOffset }
}

export function failedRead(topic: string, errorCode: number): PartitionRead {
  return {
    topic,
    errorCode,
    highWatermark: -1,
    lastStableOffset: -1,
    logStartOffset: -1,
    bytes: 0,
    diverges: false,
    divergingEpoch: null,
    preferredReplica: null,
    isHeldBack: false,
    abortedTransactions: REFUSED_UNREAD.has(errorCode) ? [] : null,
    records: NOTHING,
  }
}
