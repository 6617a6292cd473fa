import { topologyDescription } from '../parts.ts'
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

const subtopology = struct({
  subtopologyId: string,
  sourceTopics: array(string),
  repartitionSinkTopics: array(string),
  stateChangelogTopics: array(topicInfo),
  repartitionSourceTopics: array(topicInfo),
})

const topology = struct({
  epoch: int32,
  subtopologies: array(subtopology).nullable().default(null),
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

const tasks = struct({
  subtopologyId: string,
  partitions: array(int32),
})

const assignment = struct({
  activeTasks: array(tasks),
  standbyTasks: array(tasks),
  warmupTasks: array(tasks),
})

const member = struct({
  memberId: string,
  memberEpoch: int32,
  instanceId: string.nullable().default(null),
  rackId: string.nullable().default(null),
  clientId: string,
  clientHost: string,
  topologyEpoch: int32,
  processId: string,
  userEndpoint: endpoint.nullable().default(null),
  clientTags: array(keyValue),
  taskOffsets: array(taskOffset),
  taskEndOffsets: array(taskOffset),
  assignment,
  targetAssignment: assignment,
  isClassic: bool,
})

const group = struct({
  errorCode: int16,
  errorMessage: string.nullable().default(null),
  groupId: string,
  groupState: string,
  groupEpoch: int32,
  assignmentEpoch: int32,
  topology: topology.nullable().default(null),
  members: array(member),
  authorizedOperations: int32.default(-0x80000000),
  topologyDescription: topologyDescription.nullable().since(1, { absent: null }),
  topologyDescriptionStatus: int8.since(1),
  assignorName: string.nullable().since(1, { absent: null }).ignorable,
})

/** State, topology and members of streams groups (KIP-1071). */
export const StreamsGroupDescribe = api({
  key: 89,
  name: 'StreamsGroupDescribe',
  versions: [0, 1],
  flexible: 0,
  listeners: ['broker'],
  request: struct({
    groupIds: array(string),
    includeAuthorizedOperations: bool,
    includeTopologyDescription: bool.since(1),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    groups: array(group),
  }),
})
export type StreamsGroupDescribeRequest = RequestOf<typeof StreamsGroupDescribe>
export type StreamsGroupDescribeResponse = ResponseOf<typeof StreamsGroupDescribe>
