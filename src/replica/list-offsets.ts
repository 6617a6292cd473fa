import type { ListOffsets, ListOffsetsRequest } from '../protocol/apis/list-offsets.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { NO_TOPIC_ID } from '../model/ids.ts'
import type { ResponseInput } from '../protocol/schema.ts'
import { readErrorCode } from './fetch-read.ts'
import type { HostedPartitions } from './hosted.ts'
import type { Partition } from './partition.ts'
import type { RequestContext } from './types.ts'
import type { PartitionLog } from '../storage/partition-log.ts'
import type { RetentionTime } from '../storage/retention-clock.ts'

export type ListOffsetsAnswer = ResponseInput<typeof ListOffsets>
type PartitionAnswer = ListOffsetsAnswer['topics'][number]['partitions'][number]
type Asked = ListOffsetsRequest['topics'][number]['partitions'][number]

/** Timestamps that are questions of another kind, with the version each came in. */
const LATEST = -1
const EARLIEST = -2
const MAX_TIMESTAMP = -3
const EARLIEST_LOCAL = -4
const LATEST_TIERED = -5
const EARLIEST_PENDING_UPLOAD = -6
const SINCE_VERSION = new Map([
  [LATEST, 0],
  [EARLIEST, 0],
  [MAX_TIMESTAMP, 7],
  [EARLIEST_LOCAL, 8],
  [LATEST_TIERED, 9],
  [EARLIEST_PENDING_UPLOAD, 11],
])
/** Of one partition, in one request: each may be a read of the disk. */
const POSITIONS_MAX = 5000
/** Before it, an answer has no place for a leader epoch. */
const LEADER_EPOCH_VERSION = 4
/** Before it, a client does not know OFFSET_NOT_AVAILABLE. */
const OFFSET_NOT_AVAILABLE_VERSION = 5

/** ListOffsets, versions 1 to 11. Without a tiered store the last two questions have the answer "none" (-1). */
export async function listOffsets(
  { hosted, retentionTime }: { hosted: HostedPartitions; retentionTime(): RetentionTime },
  request: ListOffsetsRequest,
  context: Pick<RequestContext, 'version' | 'mayAccess'>,
): Promise<ListOffsetsAnswer> {
  const { version } = context
  const how = { version, readCommitted: request.isolationLevel === 1, isReplica: request.replicaId >= 0, retentionTime }
  const knowsIsolation = request.isolationLevel === 0 || request.isolationLevel === 1
  const topics: { name: string; partitions: PartitionAnswer[] }[] = []
  for (const [name, partitions] of askedByTopic(request)) {
    const allowed = context.mayAccess(name)
    const answers: PartitionAnswer[] = []
    topics.push({ name, partitions: answers })
    for (const { asked, isTwice } of partitions.values()) {
      if (!allowed) answers.push(refused(asked, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
      else if (isTwice || !knowsIsolation) answers.push(refused(asked, ErrorCode.INVALID_REQUEST))
      else {
        const answer = await listOne(hosted, name, asked, how)
        answers.push(version < LEADER_EPOCH_VERSION ? { ...answer, leaderEpoch: -1 } : answer)
      }
    }
  }
  return { topics }
}

/** As Kafka answers: each topic and each partition once, and no topic of which nothing was asked. */
function askedByTopic({ topics }: ListOffsetsRequest): Map<string, Map<number, { asked: Asked; isTwice: boolean }>> {
  const byTopic = new Map<string, Map<number, { asked: Asked; isTwice: boolean }>>()
  for (const { name, partitions } of topics) {
    if (partitions.length === 0) continue
    const known = byTopic.get(name) ?? new Map<number, { asked: Asked; isTwice: boolean }>()
    byTopic.set(name, known)
    for (const asked of partitions) {
      known.set(asked.partitionIndex, { asked, isTwice: known.has(asked.partitionIndex) })
    }
  }
  return byTopic
}

async function listOne(
  hosted: HostedPartitions,
  topic: string,
  asked: Asked,
  how: How & { retentionTime(): RetentionTime },
): Promise<PartitionAnswer> {
  // No other time before 1970 can be asked for.
  const since = asked.timestamp < 0 ? (SINCE_VERSION.get(asked.timestamp) ?? Number.POSITIVE_INFINITY) : 0
  if (how.version < since) return refused(asked, ErrorCode.UNSUPPORTED_VERSION)
  const leaderEpoch = asked.currentLeaderEpoch
  const partition = hosted.led(topic, asked.partitionIndex, { topicId: NO_TOPIC_ID, leaderEpoch })
  if (typeof partition === 'number') return refused(asked, partition)
  try {
    if (asked.positions.length > POSITIONS_MAX) return refused(asked, ErrorCode.INVALID_REQUEST)
    const answer = await answerOf(partition, asked, how)
    if (asked.positions.length === 0 || partition.log === null) return answer
    return { ...answer, standing: await standingIn(partition, partition.log, asked.positions, how.retentionTime()) }
  } catch (error) {
    return refused(asked, readErrorCode(error))
  }
}

/** For the lag of groups: docs/lag.md. */
async function standingIn(
  partition: Partition,
  log: PartitionLog,
  asked: Asked['positions'],
  time: RetentionTime,
): Promise<NonNullable<PartitionAnswer['standing']>> {
  const { highWatermark } = partition
  const positions: NonNullable<PartitionAnswer['standing']>['positions'][number][] = []
  for (const { offset, sinceMs } of asked) {
    const record = offset < highWatermark ? await log.recordAt(offset, highWatermark) : null
    const [leftMs, then] =
      record === null
        ? [Number.POSITIVE_INFINITY, null]
        : await Promise.all([
            log.timeLeft(record.offset, time),
            sinceMs < 0 ? null : log.findByTimestamp(sinceMs, { limitOffset: highWatermark }),
          ])
    const endThen = sinceMs < 0 ? -1 : (then?.offset ?? highWatermark)
    const left = Number.isFinite(leftMs) ? Math.round(leftMs) : -1
    positions.push({ offset, sinceMs, recordMs: record?.timestampMs ?? -1, leftMs: left, endThen })
  }
  return { startOffset: log.logStartOffset, highWatermark, positions }
}

interface How {
  readonly version: number
  readonly readCommitted: boolean
  readonly isReplica: boolean
}

async function answerOf(
  partition: Partition,
  asked: Asked,
  { version, readCommitted, isReplica }: How,
): Promise<PartitionAnswer> {
  const { log, leader } = partition
  if (log === null || leader === null) return refused(asked, ErrorCode.NOT_LEADER_OR_FOLLOWER)
  // A follower wants to know how far it can get, not what may be read.
  const limit = isReplica ? log.endOffset : partition.readLimit(readCommitted)
  // A new leader may not know yet how far its predecessor had committed: an end told now could be smaller than one
  // that was told before (invariant H12).
  const notAvailable =
    version >= OFFSET_NOT_AVAILABLE_VERSION ? ErrorCode.OFFSET_NOT_AVAILABLE : ErrorCode.LEADER_NOT_AVAILABLE
  const endIsKnown = limit >= leader.epochStartOffset || leader.endIsKnown
  switch (asked.timestamp) {
    case LATEST:
      if (!endIsKnown) return refused(asked, notAvailable)
      return found(asked, { offset: limit, timestampMs: -1, leaderEpoch: leader.leaderEpoch })
    case EARLIEST:
    case EARLIEST_LOCAL: {
      const offset = log.logStartOffset
      return found(asked, { offset, timestampMs: -1, leaderEpoch: log.epochs.epochAt(offset) })
    }
    case LATEST_TIERED:
    case EARLIEST_PENDING_UPLOAD:
      return none(asked)
    default: {
      const byMax = asked.timestamp === MAX_TIMESTAMP
      const record = byMax
        ? await log.maxTimestamp()
        : await log.findByTimestamp(asked.timestamp, { limitOffset: limit })
      if (record !== null && record.offset < limit) return found(asked, record)
      return endIsKnown ? none(asked) : refused(asked, notAvailable)
    }
  }
}

function found(
  { partitionIndex }: Asked,
  record: { offset: number; timestampMs: number; leaderEpoch: number },
): PartitionAnswer {
  const { offset, timestampMs: timestamp, leaderEpoch } = record
  return { partitionIndex, errorCode: 0, timestamp, offset, leaderEpoch }
}

function none({ partitionIndex }: Asked): PartitionAnswer {
  return { partitionIndex, errorCode: 0, timestamp: -1, offset: -1, leaderEpoch: -1 }
}

function refused({ partitionIndex }: Asked, errorCode: number): PartitionAnswer {
  return { partitionIndex, errorCode, timestamp: -1, offset: -1, leaderEpoch: -1 }
}
