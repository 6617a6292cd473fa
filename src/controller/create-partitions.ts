import type { MetadataImage, TopicImage } from '../metadata/image.ts'
import type { MetadataRecord } from '../metadata/records.ts'
import type { CreatePartitionsRequest, CreatePartitionsResponse } from '../protocol/apis/create-partitions.ts'
import { ErrorCode } from '../protocol/errors.ts'
import {
  ACCEPTED,
  type Decision,
  type DecisionContext,
  PARTITIONS_PER_REQUEST_MAX,
  type Refusal,
  refusal,
  tooManyPartitions,
} from './decision.ts'
import { manualAssignmentProblem, newPartition } from './partition-records.ts'
import { placeReplicas } from './placement.ts'
import { spreadShortfall } from './spread.ts'

type Wanted = CreatePartitionsRequest['topics'][number]

/** `count` is the number of partitions afterwards. Each topic succeeds or fails on its own. */
export function createPartitions(
  context: DecisionContext,
  request: CreatePartitionsRequest,
): Decision<CreatePartitionsResponse> {
  const records: MetadataRecord[] = []
  const results: CreatePartitionsResponse['results'][number][] = []
  const perName = Map.groupBy(request.topics, (topic) => topic.name)
  const excess = excessOf(context.image, [...perName.values()].filter((wanted) => wanted.length === 1).flat())
  for (const [name, wanted] of perName) {
    const made =
      wanted.length > 1
        ? refusal(ErrorCode.INVALID_REQUEST, 'Duplicate topic name.')
        : (excess ?? growTopic(context, wanted[0] as Wanted))
    if ('errorCode' in made) results.push({ name, ...made, note: null })
    else {
      records.push(...made)
      results.push({ name, ...ACCEPTED, note: shortfall(context, wanted[0] as Wanted) })
    }
  }
  return { records: request.validateOnly ? [] : records, response: { throttleTimeMs: 0, results } }
}

/** Why nothing of the request is done: the topics that it names once would grow by too much. */
function excessOf(image: MetadataImage, topics: readonly Wanted[]): Refusal | null {
  const wanted = topics.map(({ name, count }) => count - (image.topic(name)?.partitions.length ?? count))
  const additional = wanted.reduce((sum, more) => sum + Math.max(more, 0), 0)
  return additional > PARTITIONS_PER_REQUEST_MAX ? tooManyPartitions(additional) : null
}

/** What the copies of the new partitions want for. */
function shortfall({ image }: DecisionContext, { name, assignments }: Wanted): string | null {
  const topic = image.topic(name)
  return assignments !== null || topic === undefined ? null : spreadShortfall(image.brokers.values(), copiesOf(topic))
}

/** Those that a reassignment is adding do not count yet. */
function copiesOf(topic: TopicImage): number {
  const first = topic.partitions[0]
  return first === undefined ? 1 : first.replicas.length - first.addingReplicas.length
}

function growTopic({ image }: DecisionContext, wanted: Wanted): MetadataRecord[] | Refusal {
  const topic = image.topic(wanted.name)
  if (topic === undefined) return refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
  const countRefusal = checkCount(topic, wanted)
  if (countRefusal !== null) return countRefusal
  const first = topic.partitions.length
  const replicationFactor = copiesOf(topic)
  const manual = wanted.assignments?.map(({ brokerIds }) => brokerIds) ?? null
  for (const replicas of manual ?? []) {
    const problem = manualAssignmentProblem(image, replicas, replicationFactor)
    if (problem !== null) return refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)
  }
  const placed =
    manual ??
    placeReplicas([...image.brokers.values()], {
      firstPartition: first,
      partitions: wanted.count - first,
      replicationFactor,
      rotation: rotationOf(topic),
    })
  if ('error' in placed) return refusal(ErrorCode.INVALID_REPLICATION_FACTOR, placed.error)
  const records: MetadataRecord[] = []
  for (const [i, replicas] of placed.entries()) {
    const record = newPartition(image, topic.topicId, first + i, replicas)
    if (record === null) return noLeader(manual !== null, first + i, replicationFactor)
    records.push(record)
  }
  return records
}

function checkCount(topic: TopicImage, { name, count, assignments }: Wanted): Refusal | null {
  const existing = topic.partitions.length
  const additional = count - existing
  if (additional === 0) {
    return refusal(ErrorCode.INVALID_PARTITIONS, `Topic already has ${existing} partition(s).`)
  }
  if (additional < 0) {
    return refusal(
      ErrorCode.INVALID_PARTITIONS,
      `The topic ${name} currently has ${existing} partition(s); ${count} would not be an increase.`,
    )
  }
  if (assignments !== null && assignments.length !== additional) {
    return refusal(
      ErrorCode.INVALID_REPLICA_ASSIGNMENT,
      `Attempted to add ${additional} additional partition(s), but only ${assignments.length} assignment(s) were specified.`,
    )
  }
  return null
}

/** Goes on where the placement of the first partitions ended, as far as the first leader tells. */
function rotationOf(topic: TopicImage): number {
  return topic.partitions[0]?.replicas[0] ?? 0
}

function noLeader(manual: boolean, partition: number, replicationFactor: number): Refusal {
  if (manual) {
    return refusal(
      ErrorCode.INVALID_REPLICA_ASSIGNMENT,
      `All brokers specified in the manual partition assignment for partition ${partition} are fenced or in controlled shutdown.`,
    )
  }
  return refusal(
    ErrorCode.INVALID_REPLICATION_FACTOR,
    `Unable to replicate the partition ${replicationFactor} time(s): All brokers are currently fenced or in controlled shutdown.`,
  )
}
