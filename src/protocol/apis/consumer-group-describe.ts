import {
  api,
  array,
  bool,
  int16,
  int32,
  int8,
  type RequestOf,
  type ResponseOf,
  string,
  struct,
  uuid,
} from '../schema.ts'

const topicPartition = struct({
  topicId: uuid,
  topicName: string,
  partitions: array(int32),
})

const assignment = struct({
  topicPartitions: array(topicPartition),
})

const member = struct({
  memberId: string,
  instanceId: string.nullable().default(null),
  rackId: string.nullable().default(null),
  memberEpoch: int32,
  clientId: string,
  clientHost: string,
  subscribedTopicNames: array(string),
  subscribedTopicRegex: string.nullable().default(null),
  assignment,
  targetAssignment: assignment,
  memberType: int8.since(1, { absent: -1 }).ignorable,
})

const group = struct({
  errorCode: int16,
  errorMessage: string.nullable().default(null),
  groupId: string,
  groupState: string,
  groupEpoch: int32,
  assignmentEpoch: int32,
  assignorName: string,
  members: array(member),
  authorizedOperations: int32.default(-0x80000000),
})

/** State and members of consumer groups, with what they have and what they should get (KIP-848). */
export const ConsumerGroupDescribe = api({
  key: 69,
  name: 'ConsumerGroupDescribe',
  versions: [0, 1],
  flexible: 0,
  listeners: ['broker'],
  request: struct({
    groupIds: array(string),
    includeAuthorizedOperations: bool,
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    groups: array(group),
  }),
})
export type ConsumerGroupDescribeRequest = RequestOf<typeof ConsumerGroupDescribe>
export type ConsumerGroupDescribeResponse = ResponseOf<typeof ConsumerGroupDescribe>
