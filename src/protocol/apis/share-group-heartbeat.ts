import { api, array, int16, int32, type RequestOf, type ResponseOf, string, struct, uuid } from '../schema.ts'

const topicPartition = struct({
  topicId: uuid,
  partitions: array(int32),
})

/**
 * The heartbeat of a member of a share group (KIP-932); works as ConsumerGroupHeartbeat, but nothing is revoked
 * before it is given to others.
 */
export const ShareGroupHeartbeat = api({
  key: 76,
  name: 'ShareGroupHeartbeat',
  versions: [1, 1],
  flexible: 0,
  listeners: ['broker'],
  request: struct({
    groupId: string,
    memberId: string,
    memberEpoch: int32,
    rackId: string.nullable().default(null),
    subscribedTopicNames: array(string).nullable().default(null),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    errorMessage: string.nullable().default(null),
    memberId: string.nullable().default(null),
    memberEpoch: int32,
    heartbeatIntervalMs: int32,
    assignment: struct({ topicPartitions: array(topicPartition) })
      .nullable()
      .default(null),
  }),
})
export type ShareGroupHeartbeatRequest = RequestOf<typeof ShareGroupHeartbeat>
export type ShareGroupHeartbeatResponse = ResponseOf<typeof ShareGroupHeartbeat>
