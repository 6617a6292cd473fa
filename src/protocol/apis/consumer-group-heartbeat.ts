import { api, array, int16, int32, type RequestOf, type ResponseOf, string, struct, uuid } from '../schema.ts'

const topicPartition = struct({
  topicId: uuid,
  partitions: array(int32),
})

/**
 * The one request of a member of a consumer group (KIP-848): join, stay, leave and be assigned, all by heartbeat.
 * Member epoch 0 joins, -1 leaves, -2 leaves for a while as a static member. Null or -1 fields did not change since
 * the last one. Since version 1 a group can subscribe by a pattern, and the client chooses its member id (KIP-1082).
 */
export const ConsumerGroupHeartbeat = api({
  key: 68,
  name: 'ConsumerGroupHeartbeat',
  versions: [0, 1],
  flexible: 0,
  listeners: ['broker'],
  request: struct({
    groupId: string,
    memberId: string,
    memberEpoch: int32,
    instanceId: string.nullable().default(null),
    rackId: string.nullable().default(null),
    rebalanceTimeoutMs: int32.default(-1),
    subscribedTopicNames: array(string).nullable().default(null),
    subscribedTopicRegex: string.nullable().since(1, { absent: null }),
    serverAssignor: string.nullable().default(null),
    topicPartitions: array(struct({ topicId: uuid, partitions: array(int32) }))
      .nullable()
      .default(null),
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
export type ConsumerGroupHeartbeatRequest = RequestOf<typeof ConsumerGroupHeartbeat>
export type ConsumerGroupHeartbeatResponse = ResponseOf<typeof ConsumerGroupHeartbeat>
