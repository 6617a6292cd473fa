import {
  api,
  array,
  int16,
  int32,
  int64,
  type RequestOf,
  type ResponseOf,
  string,
  struct,
  uint16,
  uuid,
} from '../schema.ts'

const topic = struct({
  topicName: string,
  partitions: array(struct({ partitionIndex: int32 })),
})

const replicaState = struct({
  replicaId: int32,
  replicaDirectoryId: uuid.since(2),
  logEndOffset: int64,
  lastFetchTimestamp: int64.since(1, { absent: -1 }).ignorable,
  lastCaughtUpTimestamp: int64.since(1, { absent: -1 }).ignorable,
})

const partition = struct({
  partitionIndex: int32,
  errorCode: int16,
  errorMessage: string.nullable().since(2).ignorable,
  leaderId: int32,
  leaderEpoch: int32,
  highWatermark: int64,
  currentVoters: array(replicaState),
  observers: array(replicaState),
})

const node = struct({
  nodeId: int32,
  listeners: array(struct({ name: string, host: string, port: uint16 })),
})

/**
 * Leader, voters and observers of the quorum with how far each has got (KIP-595, KIP-836); directories and endpoints
 * since version 2 (KIP-853).
 */
export const DescribeQuorum = api({
  key: 55,
  name: 'DescribeQuorum',
  versions: [0, 2],
  flexible: 0,
  listeners: ['broker', 'controller'],
  request: struct({
    topics: array(topic),
  }),
  response: struct({
    errorCode: int16,
    errorMessage: string.nullable().since(2).ignorable,
    topics: array(struct({ topicName: string, partitions: array(partition) })),
    nodes: array(node).since(2),
  }),
})
export type DescribeQuorumRequest = RequestOf<typeof DescribeQuorum>
export type DescribeQuorumResponse = ResponseOf<typeof DescribeQuorum>
