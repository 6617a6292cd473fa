import { type BrokerContext, brokerNumber } from '../../controller/config-view.ts'
import { isInternalTopic, topicNameProblem } from '../../controller/topic-names.ts'
import type { TopicImage } from '../../metadata/image.ts'
import { NO_TOPIC_ID } from '../../model/ids.ts'
import {
  DescribeTopicPartitions,
  type DescribeTopicPartitionsRequest,
} from '../../protocol/apis/describe-topic-partitions.ts'
import { ErrorCode } from '../../protocol/errors.ts'
import type { ResponseInput } from '../../protocol/schema.ts'
import type { Laggard } from '../../replica/laggards.ts'
import type { Call } from '../connections/call.ts'
import { type ServedApi, serve } from '../dispatch/served-api.ts'
import type { Endpoints } from '../endpoints.ts'
import type { MetadataSource } from '../services.ts'
import { TOPIC_OPERATIONS } from './authorized-operations.ts'
import { PartitionViewer } from './topic-view.ts'

type Response = ResponseInput<typeof DescribeTopicPartitions>
type TopicAnswer = Response['topics'][number]

/** Served at 0 (KIP-966). Topics come sorted by name, page by page: the cursor says where the next page begins. */
export function describeTopicPartitions(
  source: MetadataSource,
  broker: BrokerContext,
  endpoints: Endpoints,
  laggards: LaggardsOf,
): ServedApi {
  const handle = ({ topics, cursor, responsePartitionLimit }: DescribeTopicPartitionsRequest, call: Call): Response => {
    const problem = cursorProblem(topics, cursor)
    if (problem !== null) return { topics: topics.map(({ name }) => refused(name, problem)), nextCursor: null }
    const image = source.image()
    const mostPartitions = brokerNumber(image, broker, 'max.request.partition.size.limit')
    const viewer = new PartitionViewer(image, endpoints, call.connection)
    const names = topics.length > 0 ? topics.map(({ name }) => name) : [...image.topicsByName].map(([name]) => name)
    const answers: TopicAnswer[] = []
    let room = Math.max(1, Math.min(responsePartitionLimit, mostPartitions))
    for (const name of [...new Set(names)].sort()) {
      if (cursor !== null && name < cursor.topicName) continue
      if (room === 0) return { topics: answers, nextCursor: { topicName: name, partitionIndex: 0 } }
      const topic = image.topic(name)
      if (topic === undefined) {
        answers.push(absent(name))
        continue
      }
      const first = cursor?.topicName === name ? cursor.partitionIndex : 0
      const shown = topic.partitions.slice(first, first + room)
      answers.push(
        present(
          topic,
          shown.map((partition, index) => ({
            ...view(viewer, first + index, partition),
            laggards: laggardsIn(laggards(name, first + index)),
          })),
        ),
      )
      room -= shown.length
      const next = first + shown.length
      if (next < topic.partitions.length) {
        return { topics: answers, nextCursor: { topicName: name, partitionIndex: next } }
      }
    }
    return { topics: answers, nextCursor: null }
  }
  return serve(DescribeTopicPartitions, handle)
}

/** Replicas out of sync, of a partition that this node leads. */
export type LaggardsOf = (topic: string, partition: number) => readonly Laggard[]

function laggardsIn(laggards: readonly Laggard[]) {
  return laggards.map(({ nodeId, sinceMs, behindMs, behindRecords, why }) => {
    return { nodeId, sinceMs, behindMs: behindMs ?? -1, behindRecords, isSilent: why === 'silent' }
  })
}

function view(viewer: PartitionViewer, index: number, partition: TopicImage['partitions'][number]) {
  const { elr, lastKnownElr } = partition
  return { ...viewer.view(index, partition), eligibleLeaderReplicas: elr, lastKnownElr }
}

function present(topic: TopicImage, partitions: TopicAnswer['partitions']): TopicAnswer {
  return {
    errorCode: ErrorCode.NONE,
    name: topic.name,
    topicId: topic.topicId,
    isInternal: isInternalTopic(topic.name),
    partitions,
    topicAuthorizedOperations: TOPIC_OPERATIONS,
  }
}

function cursorProblem(
  topics: DescribeTopicPartitionsRequest['topics'],
  cursor: DescribeTopicPartitionsRequest['cursor'],
): number | null {
  if (cursor === null) return null
  const isListed = topics.length === 0 || topics.some(({ name }) => name === cursor.topicName)
  return isListed && cursor.partitionIndex >= 0 ? null : ErrorCode.INVALID_REQUEST
}

function refused(name: string, errorCode: number): TopicAnswer {
  return { errorCode, name, topicId: NO_TOPIC_ID, isInternal: false, partitions: [] }
}

function absent(name: string): TopicAnswer {
  const isValid = topicNameProblem(name) === null
  return {
    errorCode: isValid ? ErrorCode.UNKNOWN_TOPIC_OR_PARTITION : ErrorCode.INVALID_TOPIC_EXCEPTION,
    name,
    topicId: NO_TOPIC_ID,
    isInternal: isInternalTopic(name),
    partitions: [],
    topicAuthorizedOperations: TOPIC_OPERATIONS,
  }
}
