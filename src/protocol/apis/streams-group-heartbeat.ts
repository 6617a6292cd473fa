import {
  api,
  array,
  bool,
  int16,
  int32,
  int64,
  int8,
  type RequestOf,
  type ResponseOf,
  string,
  struct,
  uint16,
} from '../schema.ts'

const keyValue = struct({
  key: string,
  value: string,
})

const topicInfo = struct({
  name: string,
  partitions: int32,
  replicationFactor: int16,
  topicConfigs: array(keyValue),
})

const copartitionGroup = struct({
  sourceTopics: array(int16),
  sourceTopicRegex: array(int16),
  repartitionSourceTopics: array(int16),
})

const subtopology = struct({
  subtopologyId: string,
  sourceTopics: array(string),
  sourceTopicRegex: array(string),
  stateChangelogTopics: array(topicInfo),
  repartitionSinkTopics: array(string),
  repartitionSourceTopics: array(topicInfo),
  copartitionGroups: array(copartitionGroup),
})

const tasks = struct({
  subtopologyId: string,
  partitions: array(int32),
})

const endpoint = struct({
  host: string,
  port: uint16,
})

const taskOffset = struct({
  subtopologyId: string,
  partition: int32,
  offset: int64,
})

const status = struct({
  statusCode: int8,
  statusDetail: string,
})

const topicPartition = struct({
  topic: string,
  partitions: array(int32),
})

const endpointPartitions = struct({
  userEndpoint: endpoint,
  activePartitions: array(topicPartition),
  standbyPartitions: array(topicPartition),
})

/**
 * The heartbeat of a Kafka Streams client (KIP-1071): brings the topology, tells its tasks, and gets its assignment.
 */
export const StreamsGroupHeartbeat = api({
  key: 88,
  name: 'StreamsGroupHeartbeat',
  versions: [0, 1],
  flexible: 0,
  listeners: ['broker'],
  request: struct({
    groupId: string,
    memberId: string,
    memberEpoch: int32,
    endpointInformationEpoch: int32,
    instanceId: string.nullable().default(null),
    rackId: string.nullable().default(null),
    rebalanceTimeoutMs: int32.default(-1),
    topology: struct({ epoch: int32, subtopologies: array(subtopology) })
      .nullable()
      .default(null),
    activeTasks: array(tasks).nullable().default(null),
    standbyTasks: array(tasks).nullable().default(null),
    warmupTasks: array(tasks).nullable().default(null),
    processId: string.nullable().default(null),
    userEndpoint: endpoint.nullable().default(null),
    clientTags: array(keyValue).nullable().default(null),
    taskOffsets: array(taskOffset).nullable().default(null),
    taskEndOffsets: array(taskOffset).nullable().default(null),
    shutdownApplication: bool.default(false),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    errorMessage: string.nullable().default(null),
    memberId: string,
    memberEpoch: int32,
    heartbeatIntervalMs: int32,
    acceptableRecoveryLagLegacy: int32.until(0),
    taskOffsetIntervalMs: int32,
    acceptableRecoveryLag: int64.since(1, { absent: -1 }).ignorable,
    status: array(status).nullable(),
    activeTasks: array(tasks).nullable().default(null),
    standbyTasks: array(tasks).nullable().default(null),
    warmupTasks: array(tasks).nullable().default(null),
    topologyDescriptionRequired: bool.since(1),
    endpointInformationEpoch: int32,
    partitionsByUserEndpoint: array(endpointPartitions).nullable().default(null),
  }),
})
export type StreamsGroupHeartbeatRequest = RequestOf<typeof StreamsGroupHeartbeat>
export type StreamsGroupHeartbeatResponse = ResponseOf<typeof StreamsGroupHeartbeat>
