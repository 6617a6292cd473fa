import type { MetadataImage } from '../metadata/image.ts'
import { type MetadataRecord, ResourceType } from '../metadata/records.ts'
import type { CreateTopicsRequest, CreateTopicsResponse } from '../protocol/apis/create-topics.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { NO_TOPIC_ID } from '../model/ids.ts'
import { checkConfigs } from './config-checks.ts'
import { type ConfigDef, parseConfig } from './config-def.ts'
import { topicConfigs } from './config-defs.ts'
import { configRecord } from './config-record.ts'
import { brokerNumber, isBrokerConfigSet } from './config-view.ts'
import {
  type Decision,
  type DecisionContext,
  type Notice,
  PARTITIONS_PER_REQUEST_MAX,
  type Refusal,
  refusal,
  tooManyPartitions,
} from './decision.ts'
import { describeTopic } from './describe-configs.ts'
import { manualAssignmentProblem, newPartition } from './partition-records.ts'
import { placeReplicas } from './placement.ts'
import { spreadShortfall } from './spread.ts'
import { type CollidingNames, isMetadataTopic, topicNameProblem } from './topic-names.ts'

type Wanted = CreateTopicsRequest['topics'][number]
type Result = CreateTopicsResponse['topics'][number]
type Replicas = readonly (readonly number[])[]

/** With no number given and none set, a topic gets this many copies, or one on each broker while there are fewer. */
export const REPLICATION_FACTOR_WANTED = 3

/**
 * Each topic succeeds or fails on its own; what succeeds is committed together. Where there are too few hosts or zones for
 * its copies, a topic is created all the same, and its answer says so.
 */
export function createTopics(
  context: DecisionContext,
  collidingNames: CollidingNames,
  request: CreateTopicsRequest,
): Decision<CreateTopicsResponse> {
  const perName = Map.groupBy(request.topics, ({ name }) => name)
  const records: MetadataRecord[] = []
  const results: Result[] = []
  const notices: Notice[] = []
  let rotation = context.image.topicsById.size
  const partitions = partitionsOf(context, request)
  if (partitions > PARTITIONS_PER_REQUEST_MAX) {
    const topics = request.topics.map(({ name }) => failed(name, tooManyPartitions(partitions)))
    return { records, response: { throttleTimeMs: 0, topics } }
  }
  for (const [name, wanted] of perName) {
    const topic = wanted[0] as Wanted
    const made =
      wanted.length > 1
        ? refusal(ErrorCode.INVALID_REQUEST, 'Duplicate topic name.')
        : createTopic(context, collidingNames, topic, rotation++)
    if ('errorCode' in made) results.push(failed(name, made))
    else {
      records.push(...made.records)
      results.push(made.result)
      if (made.result.note !== null && !request.validateOnly) notices.push(shortfall(made.result))
    }
  }
  return { records: request.validateOnly ? [] : records, notices, response: { throttleTimeMs: 0, topics: results } }
}

/** What the whole request asks for: over the limit nothing of it is done. */
function partitionsOf({ image, broker }: DecisionContext, { topics }: CreateTopicsRequest): number {
  const wanted = topics.map(({ numPartitions, assignments }) => {
    if (assignments.length > 0) return assignments.length
    return numPartitions === -1 ? brokerNumber(image, broker, 'num.partitions') : Math.max(numPartitions, 0)
  })
  return wanted.reduce((sum, more) => sum + more, 0)
}

function shortfall({ name, note }: Result): Notice {
  return { level: 'info', message: `Topic ${name} is created. ${note}`, details: { topic: name } }
}

function failed(name: string, { errorCode, errorMessage }: Refusal): Result {
  return {
    name,
    topicId: NO_TOPIC_ID,
    errorCode,
    errorMessage,
    topicConfigErrorCode: 0,
    numPartitions: -1,
    replicationFactor: -1,
    configs: [],
    note: null,
  }
}

interface Made {
  readonly records: readonly MetadataRecord[]
  readonly result: Result
}

function createTopic(
  context: DecisionContext,
  collidingNames: CollidingNames,
  topic: Wanted,
  rotation: number,
): Made | Refusal {
  const { image, broker } = context
  const nameRefusal = checkName(image, collidingNames, topic.name)
  if (nameRefusal !== null) return nameRefusal
  const configs = checkedConfigs(context, topic)
  if ('errorCode' in configs) return configs
  const replicas = replicasOf(context, topic, rotation)
  if ('errorCode' in replicas) return replicas
  const topicId = context.newId()
  const resource = { type: ResourceType.topic, name: topic.name }
  const records: MetadataRecord[] = [{ type: 'Topic', value: { name: topic.name, topicId } }]
  for (const [key, value] of configs.own) records.push(configRecord(resource, key, value))
  for (const [partitionId, brokerIds] of replicas.entries()) {
    const record = newPartition(image, topicId, partitionId, brokerIds)
    if (record === null) return noLeader(topic, partitionId, brokerIds)
    records.push(record)
  }
  const replicationFactor = (replicas[0] as readonly number[]).length
  const described = describeTopic(image, broker, topic.name, { own: configs.own, replicationFactor })
  return {
    records,
    result: {
      name: topic.name,
      topicId,
      errorCode: ErrorCode.NONE,
      errorMessage: null,
      topicConfigErrorCode: ErrorCode.NONE,
      numPartitions: replicas.length,
      replicationFactor,
      configs: described.map(({ name, value, readOnly, configSource, isSensitive }) => {
        return { name, value, readOnly, configSource, isSensitive }
      }),
      note: topic.assignments.length > 0 ? null : spreadShortfall(image.brokers.values(), replicationFactor),
    },
  }
}

function checkName(image: MetadataImage, collidingNames: CollidingNames, name: string): Refusal | null {
  if (isMetadataTopic(name)) {
    return refusal(ErrorCode.INVALID_REQUEST, `Creation of internal topic ${name} is prohibited.`)
  }
  const problem = topicNameProblem(name)
  if (problem !== null) return refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
  if (image.topic(name) !== undefined) {
    return refusal(ErrorCode.TOPIC_ALREADY_EXISTS, `Topic '${name}' already exists.`)
  }
  const other = collidingNames.collisionOf(name)
  if (other === null) return null
  return refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, `Topic '${name}' collides with existing topic: ${other}`)
}

function checkedConfigs(
  { image, broker }: DecisionContext,
  { name, configs }: Wanted,
): { readonly own: Map<string, string> } | Refusal {
  const nulls = configs.filter(({ value }) => value === null).map((config) => config.name)
  if (nulls.length > 0) {
    return refusal(ErrorCode.INVALID_CONFIG, `Null value not supported for topic configs: ${nulls.join(',')}`)
  }
  const given = new Map(configs.map((config) => [config.name, config.value as string]))
  const checked = checkConfigs(image, broker, { type: ResourceType.topic, name }, given)
  if (checked.errorCode !== ErrorCode.NONE) return checked
  const own = new Map<string, string>()
  for (const [key, value] of given) {
    const parsed = parseConfig(topicConfigs.get(key) as ConfigDef, value)
    if ('value' in parsed) own.set(key, parsed.value)
  }
  return { own }
}

/** The replicas of each partition: as given, or placed. */
function replicasOf(context: DecisionContext, topic: Wanted, rotation: number): Replicas | Refusal {
  const { image, broker } = context
  if (topic.assignments.length > 0) return manualReplicas(image, topic)
  if (topic.replicationFactor < -1 || topic.replicationFactor === 0) {
    return refusal(
      ErrorCode.INVALID_REPLICATION_FACTOR,
      'Replication factor must be larger than 0, or -1 to use the default value.',
    )
  }
  if (topic.numPartitions < -1 || topic.numPartitions === 0) {
    const message = 'Number of partitions was set to an invalid non-positive value.'
    return refusal(ErrorCode.INVALID_PARTITIONS, message)
  }
  const partitions = topic.numPartitions === -1 ? brokerNumber(image, broker, 'num.partitions') : topic.numPartitions
  const replicationFactor = topic.replicationFactor === -1 ? defaultReplicationFactor(context) : topic.replicationFactor
  const placed = placeReplicas([...image.brokers.values()], {
    firstPartition: 0,
    partitions,
    replicationFactor,
    rotation,
  })
  if (!('error' in placed)) return placed
  return refusal(
    ErrorCode.INVALID_REPLICATION_FACTOR,
    `Unable to replicate the partition ${replicationFactor} time(s): ${placed.error}`,
  )
}

/** What `default.replication.factor` says; unset, as many copies as are wanted and possible. */
export function defaultReplicationFactor({ image, broker }: Pick<DecisionContext, 'image' | 'broker'>): number {
  if (isBrokerConfigSet(image, broker, 'default.replication.factor')) {
    return brokerNumber(image, broker, 'default.replication.factor')
  }
  return Math.max(1, Math.min(REPLICATION_FACTOR_WANTED, image.brokers.size))
}

function manualReplicas(image: MetadataImage, topic: Wanted): Replicas | Refusal {
  const bad = (message: string) => refusal(ErrorCode.INVALID_REQUEST, message)
  const wrong = (message: string) => refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
  if (topic.replicationFactor !== -1) {
    return bad('A manual partition assignment was specified, but replication factor was not set to -1.')
  }
  if (topic.numPartitions !== -1) {
    return bad('A manual partition assignment was specified, but numPartitions was not set to -1.')
  }
  const byPartition = new Map<number, readonly number[]>()
  let replicationFactor: number | null = null
  for (const { partitionIndex, brokerIds } of topic.assignments) {
    if (byPartition.has(partitionIndex)) {
      return wrong(`Found multiple manual partition assignments for partition ${partitionIndex}`)
    }
    const problem = manualAssignmentProblem(image, brokerIds, replicationFactor)
    if (problem !== null) return wrong(problem)
    replicationFactor = brokerIds.length
    byPartition.set(partitionIndex, brokerIds)
  }
  const replicas: (readonly number[])[] = []
  for (let partition = 0; partition < byPartition.size; partition++) {
    const brokerIds = byPartition.get(partition)
    if (brokerIds === undefined) return wrong('partitions should be a consecutive 0-based integer sequence')
    replicas.push(brokerIds)
  }
  return replicas
}

function noLeader(topic: Wanted, partition: number, brokerIds: readonly number[]): Refusal {
  if (topic.assignments.length > 0) {
    return refusal(
      ErrorCode.INVALID_REPLICA_ASSIGNMENT,
      `All brokers specified in the manual partition assignment for partition ${partition} are fenced or in controlled shutdown.`,
    )
  }
  return refusal(
    ErrorCode.INVALID_REPLICATION_FACTOR,
    `Unable to replicate the partition ${brokerIds.length} time(s): All brokers are currently fenced or in controlled shutdown.`,
  )
}
