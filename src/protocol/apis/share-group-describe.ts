import { api, array, bool, int16, int32, type RequestOf, type ResponseOf, string, struct, uuid } from '../schema.ts'

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
  rackId: string.nullable().default(null),
  memberEpoch: int32,
  clientId: string,
  clientHost: string,
  subscribedTopicNames: array(string),
  assignment,
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

/** State and members of share groups (KIP-932). */
export const ShareGroupDescribe = api({
  key: 77,
  name: 'ShareGroupDescribe',
  versions: [1, 1],
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
export type ShareGroupDescribeRequest = RequestOf<typeof ShareGroupDescribe>
export type ShareGroupDescribeResponse = ResponseOf<typeof ShareGroupDescribe>
