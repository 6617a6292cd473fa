import { topicNameProblem } from '../controller/topic-names.ts'
import type { Env } from '../env/env.ts'
import { NO_TOPIC_ID } from '../model/ids.ts'
import type { DescribeLogDirs, DescribeLogDirsRequest } from '../protocol/apis/describe-log-dirs.ts'
import type { DescribeProducers, DescribeProducersRequest } from '../protocol/apis/describe-producers.ts'
import type { OffsetForLeaderEpoch, OffsetForLeaderEpochRequest } from '../protocol/apis/offset-for-leader-epoch.ts'
import { ErrorCode, errorMessage } from '../protocol/errors.ts'
import type { ResponseInput } from '../protocol/schema.ts'
import type { StrayFigures } from '../storage/stray-directories.ts'
import type { HostedPartitions } from './hosted.ts'
import type { Partition } from './partition.ts'
import type { RequestContext } from './types.ts'

export type OffsetForLeaderEpochAnswer = ResponseInput<typeof OffsetForLeaderEpoch>
export type DescribeProducersAnswer = ResponseInput<typeof DescribeProducers>
export type DescribeLogDirsAnswer = ResponseInput<typeof DescribeLogDirs>

/** OffsetForLeaderEpoch, versions 2 to 4 (KIP-320): where the records of an epoch end on this leader. */
export function offsetForLeaderEpoch(
  hosted: HostedPartitions,
  request: OffsetForLeaderEpochRequest,
  context: RequestContext,
): OffsetForLeaderEpochAnswer {
  const topics = request.topics.map(({ topic, partitions }) => ({
    topic,
    partitions: partitions.map(({ partition: index, currentLeaderEpoch, leaderEpoch }) => {
      const partition = leaderFor(hosted, topic, index, { context, leaderEpoch: currentLeaderEpoch })
      if (typeof partition === 'number') return { partition: index, errorCode: partition }
      const { log } = partition
      if (log === null) return { partition: index, errorCode: ErrorCode.KAFKA_STORAGE_ERROR }
      return { partition: index, errorCode: 0, ...log.epochs.endOffsetFor(leaderEpoch, log.endOffset) }
    }),
  }))
  return { topics }
}

/** DescribeProducers, version 0 (KIP-664). */
export function describeProducers(
  hosted: HostedPartitions,
  request: DescribeProducersRequest,
  context: RequestContext,
): DescribeProducersAnswer {
  const topics = request.topics.map(({ name, partitionIndexes }) => ({
    name,
    partitions: partitionIndexes.map((partitionIndex) => {
      const partition =
        topicNameProblem(name) === null
          ? leaderFor(hosted, name, partitionIndex, { context, leaderEpoch: -1 })
          : ErrorCode.INVALID_TOPIC_EXCEPTION
      if (typeof partition === 'number') {
        return { partitionIndex, errorCode: partition, errorMessage: errorMessage(partition), activeProducers: [] }
      }
      return { partitionIndex, errorCode: 0, activeProducers: activeProducers(partition) }
    }),
  }))
  return { topics }
}

function leaderFor(
  hosted: HostedPartitions,
  topic: string,
  index: number,
  { context, leaderEpoch }: { context: RequestContext; leaderEpoch: number },
): Partition | number {
  if (!context.mayAccess(topic)) return ErrorCode.TOPIC_AUTHORIZATION_FAILED
  return hosted.led(topic, index, { topicId: NO_TOPIC_ID, leaderEpoch })
}

function activeProducers({ log }: Partition) {
  return Array.from(log?.producers.entries ?? [], (entry) => ({
    producerId: entry.producerId,
    producerEpoch: entry.epoch,
    lastSequence: entry.lastSequence,
    lastTimestamp: entry.lastTimestampMs,
    coordinatorEpoch: entry.coordinatorEpoch,
    currentTxnStartOffset: entry.transactionFirstOffset,
  }))
}

const UNKNOWN_SPACE = { totalBytes: -1, freeBytes: -1 }

/** DescribeLogDirs, versions 1 to 5, of the one directory a node has. */
export async function describeLogDirs(
  { env, folder, hosted, strays }: { env: Env; folder: string; hosted: HostedPartitions; strays: StrayFigures },
  request: DescribeLogDirsRequest,
): Promise<DescribeLogDirsAnswer> {
  const wanted =
    request.topics === null
      ? null
      : new Map(request.topics.map(({ topic, partitions }) => [topic, new Set(partitions)]))
  const byTopic = new Map<
    string,
    { partitionIndex: number; partitionSize: number; offsetLag: number; isFutureKey: boolean }[]
  >()
  for (const { topicPartition, log } of hosted) {
    const { topic, partition } = topicPartition
    if (log === null || (wanted !== null && !wanted.get(topic)?.has(partition))) continue
    const partitions = byTopic.get(topic) ?? []
    byTopic.set(topic, partitions)
    partitions.push({ partitionIndex: partition, partitionSize: log.bytes, offsetLag: 0, isFutureKey: false })
  }
  const topics = Array.from(byTopic, ([name, partitions]) => ({ name, partitions }))
  const { totalBytes, freeBytes } = await env.disk.space(folder).catch(() => UNKNOWN_SPACE)
  const { count: strayCount, bytes: strayBytes, nextRemovalMs } = strays
  const kept = { strayCount, strayBytes, strayUntilMs: nextRemovalMs ?? -1 }
  const result = { errorCode: 0, logDir: folder, topics, totalBytes, usableBytes: freeBytes, ...kept }
  return { errorCode: 0, results: [result] }
}
