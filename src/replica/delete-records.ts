import { isInternalTopic } from '../controller/topic-names.ts'
import { NO_TOPIC_ID } from '../model/ids.ts'
import type { DeleteRecords, DeleteRecordsRequest } from '../protocol/apis/delete-records.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { ResponseInput } from '../protocol/schema.ts'
import { readErrorCode } from './fetch-read.ts'
import type { HostedPartitions } from './hosted.ts'
import type { RequestContext } from './types.ts'

export type DeleteRecordsAnswer = ResponseInput<typeof DeleteRecords>

/** "Everything up to the high watermark." */
const HIGH_WATERMARK = -1

/**
 * DeleteRecords, versions 0 to 2: moves the start of the log, durably before the answer. The low watermark answered is this
 * replica's own.
 */
export async function deleteRecords(
  hosted: HostedPartitions,
  request: DeleteRecordsRequest,
  context: RequestContext,
): Promise<DeleteRecordsAnswer> {
  const topics = await Promise.all(
    request.topics.map(async ({ name, partitions }) => {
      const results = partitions.map(async ({ partitionIndex, offset }) => {
        const result = await deleteUpTo(hosted, { topic: name, partition: partitionIndex, offset }, context)
        if (typeof result === 'object') return { partitionIndex, lowWatermark: result.lowWatermark, errorCode: 0 }
        return { partitionIndex, lowWatermark: -1, errorCode: result }
      })
      return { name, partitions: await Promise.all(results) }
    }),
  )
  return { topics }
}

async function deleteUpTo(
  hosted: HostedPartitions,
  asked: { topic: string; partition: number; offset: number },
  context: RequestContext,
): Promise<{ lowWatermark: number } | number> {
  const { topic } = asked
  if (!context.mayAccess(topic)) return ErrorCode.TOPIC_AUTHORIZATION_FAILED
  if (isInternalTopic(topic)) return ErrorCode.INVALID_TOPIC_EXCEPTION
  const partition = hosted.led(topic, asked.partition, { topicId: NO_TOPIC_ID, leaderEpoch: -1 })
  if (typeof partition === 'number') return partition
  const { log } = partition
  if (log === null) return ErrorCode.KAFKA_STORAGE_ERROR
  if (!log.config.cleanupPolicy.includes('delete')) return ErrorCode.POLICY_VIOLATION
  const offset = asked.offset === HIGH_WATERMARK ? partition.highWatermark : asked.offset
  if (offset < 0 || offset > partition.highWatermark) return ErrorCode.OFFSET_OUT_OF_RANGE
  try {
    if (offset > log.logStartOffset) await log.advanceStartOffset(offset)
    return { lowWatermark: log.logStartOffset }
  } catch (error) {
    return readErrorCode(error)
  }
}
