import { isInternalTopic } from '../controller/topic-names.ts'
import { NO_TOPIC_ID } from '../model/ids.ts'
import type { DeleteRecords, DeleteRecordsRequest } from '../protocol/apis/delete-records.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { ResponseInput } from '../protocol/schema.ts'
import type { AckWait } from './ack-queue.ts'
import type { Deadlines, Expiring } from './deadlines.ts'
import { readErrorCode } from './fetch-read.ts'
import type { HostedPartitions } from './hosted.ts'
import type { Partition } from './partition.ts'
import type { RequestContext } from './types.ts'

export type DeleteRecordsAnswer = ResponseInput<typeof DeleteRecords>

/** "Everything up to the high watermark." */
const HIGH_WATERMARK = -1

export interface DeletionParts {
  readonly hosted: HostedPartitions
  readonly deadlines: Deadlines
}

/**
 * DeleteRecords, versions 0 to 2: moves the start of the log, durably, and then that of every replica that is alive. The
 * low watermark that is answered holds on all of them.
 */
export async function deleteRecords(
  parts: DeletionParts,
  request: DeleteRecordsRequest,
  context: RequestContext,
): Promise<DeleteRecordsAnswer> {
  const { timeoutMs } = request
  const topics = await Promise.all(
    request.topics.map(async ({ name, partitions }) => {
      const results = partitions.map(async ({ partitionIndex, offset }) => {
        const asked = { topic: name, partition: partitionIndex, offset, timeoutMs }
        const result = await deleteUpTo(parts, asked, context)
        if (typeof result === 'object') return { partitionIndex, lowWatermark: result.lowWatermark, errorCode: 0 }
        return { partitionIndex, lowWatermark: -1, errorCode: result }
      })
      return { name, partitions: await Promise.all(results) }
    }),
  )
  // As Kafka: nothing is said of a topic of which nothing was asked.
  return { topics: topics.filter(({ partitions }) => partitions.length > 0) }
}

async function deleteUpTo(
  { hosted, deadlines }: DeletionParts,
  asked: { topic: string; partition: number; offset: number; timeoutMs: number },
  context: RequestContext,
): Promise<{ lowWatermark: number } | number> {
  const { topic } = asked
  if (!context.mayAccess(topic)) return ErrorCode.TOPIC_AUTHORIZATION_FAILED
  if (isInternalTopic(topic)) return ErrorCode.INVALID_TOPIC_EXCEPTION
  const partition = hosted.led(topic, asked.partition, { topicId: NO_TOPIC_ID, leaderEpoch: -1 })
  if (typeof partition === 'number') return partition
  const { log } = partition
  if (log === null) return ErrorCode.KAFKA_STORAGE_ERROR
  const { cleanupPolicy } = log.config
  if (cleanupPolicy.includes('compact') && !cleanupPolicy.includes('delete')) return ErrorCode.POLICY_VIOLATION
  const offset = asked.offset === HIGH_WATERMARK ? partition.highWatermark : asked.offset
  if (offset < 0 || offset > partition.highWatermark) return ErrorCode.OFFSET_OUT_OF_RANGE
  try {
    if (offset > log.logStartOffset) await log.advanceStartOffset(offset)
    const errorCode = await new PendingDeletion(partition, offset).done(deadlines, asked.timeoutMs)
    return errorCode === ErrorCode.NONE ? { lowWatermark: partition.lowWatermark } : errorCode
  } catch (error) {
    return readErrorCode(error)
  }
}

/** Waits until all replicas that are alive have deleted what is before the offset. */
class PendingDeletion implements AckWait, Expiring {
  deadlineSlot = 0
  readonly waitOffset: number
  readonly #partition: Partition
  #resolve: (errorCode: number) => void = () => {}

  constructor(partition: Partition, offset: number) {
    this.#partition = partition
    this.waitOffset = offset
  }

  async done(deadlines: Deadlines, timeoutMs: number): Promise<number> {
    const waiting = new Promise<number>((resolve) => {
      this.#resolve = resolve
    })
    deadlines.add(this, timeoutMs)
    this.#partition.whenDeleted(this)
    const errorCode = await waiting
    if (this.deadlineSlot !== 0) deadlines.remove(this)
    return errorCode
  }

  acked(errorCode: number): void {
    this.#resolve(errorCode)
  }

  expired(): void {
    this.#partition.audience.stopWaiting(this)
    this.#resolve(ErrorCode.REQUEST_TIMED_OUT)
  }
}
