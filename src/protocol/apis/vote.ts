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
  uint16,
  uuid,
} from '../schema.ts'

const partition = struct({
  partitionIndex: int32,
  replicaEpoch: int32,
  replicaId: int32,
  replicaDirectoryId: uuid.since(1).ignorable,
  voterDirectoryId: uuid.since(1).ignorable,
  lastOffsetEpoch: int32,
  lastOffset: int64,
  preVote: bool.since(2),
})

const partitionResult = struct({
  partitionIndex: int32,
  errorCode: int16,
  leaderId: int32,
  leaderEpoch: int32,
  voteGranted: bool,
})

/**
 * A candidate asks a voter for its vote (KIP-595). Version 1 names voters with their directories (KIP-853), 2 asks
 * without raising the epoch first: pre-vote (KIP-996).
 */
export const Vote = api({
  key: 52,
  name: 'Vote',
  versions: [0, 2],
  flexible: 0,
  listeners: ['controller'],
  request: struct({
    clusterId: string.nullable().default(null),
    voterId: int32.since(1, { absent: -1 }).ignorable,
    topics: array(struct({ topicName: string, partitions: array(partition) })),
  }),
  response: struct({
    errorCode: int16,
    topics: array(struct({ topicName: string, partitions: array(partitionResult) })),
    nodeEndpoints: array(struct({ nodeId: int32, host: string, port: uint16 }))
      .since(1)
      .tag(0),
  }),
})
export type VoteRequest = RequestOf<typeof Vote>
export type VoteResponse = ResponseOf<typeof Vote>
