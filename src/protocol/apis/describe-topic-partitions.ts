import {
  api,
  array,
  bool,
  int16,
  int32,
  int64,
  type RequestOf,
  type ResponseOf,
  string,
  struct,
  uuid,
} from '../schema.ts'

const laggard = struct({
  nodeId: int32,
  // Wall clock: out of the ISR since then, as far as the present leader knows.
  sinceMs: int64,
  // How long ago it had all there was; -1: never under this leader.
  behindMs: int64,
  behindRecords: int64,
  // It has not asked the present leader for anything.
  isSilent: bool,
})

const partition = struct({
  errorCode: int16,
  partitionIndex: int32,
  leaderId: int32,
  leaderEpoch: int32.default(-1),
  replicaNodes: array(int32),
  isrNodes: array(int32),
  eligibleLeaderReplicas: array(int32).nullable().default(null),
  lastKnownElr: array(int32).nullable().default(null),
  offlineReplicas: array(int32),
  // Ours, from the broker that leads the partition: who is not in sync.
  laggards: array(laggard).default([]).tag(10001),
})

const topic = struct({
  errorCode: int16,
  name: string.nullable(),
  topicId: uuid,
  isInternal: bool.default(false),
  partitions: array(partition),
  topicAuthorizedOperations: int32.default(-0x80000000),
})

/** Topics page by page, with eligible leader replicas (KIP-966). A partition limit and a cursor bound the answer. */
export const DescribeTopicPartitions = api({
  key: 75,
  name: 'DescribeTopicPartitions',
  versions: [0, 0],
  flexible: 0,
  listeners: ['broker'],
  request: struct({
    topics: array(struct({ name: string })),
    responsePartitionLimit: int32.default(2000),
    cursor: struct({ topicName: string, partitionIndex: int32 }).nullable().default(null),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    topics: array(topic),
    nextCursor: struct({ topicName: string, partitionIndex: int32 }).nullable().default(null),
  }),
})
export type DescribeTopicPartitionsRequest = RequestOf<typeof DescribeTopicPartitions>
export type DescribeTopicPartitionsResponse = ResponseOf<typeof DescribeTopicPartitions>
