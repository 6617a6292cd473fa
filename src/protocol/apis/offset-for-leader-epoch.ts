import { api, array, int16, int32, int64, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const partition = struct({
  partition: int32,
  currentLeaderEpoch: int32.default(-1),
  leaderEpoch: int32,
})

const partitionResult = struct({
  errorCode: int16,
  partition: int32,
  leaderEpoch: int32.default(-1),
  endOffset: int64.default(-1),
})

/**
 * Where a leader epoch ended in the leader's log: by this a consumer or follower finds out whether its own log
 * diverged (KIP-101, KIP-320).
 */
export const OffsetForLeaderEpoch = api({
  key: 23,
  name: 'OffsetForLeaderEpoch',
  versions: [2, 4],
  flexible: 4,
  listeners: ['broker'],
  request: struct({
    replicaId: int32.since(3, { absent: -2 }).ignorable,
    topics: array(struct({ topic: string, partitions: array(partition) })),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    topics: array(struct({ topic: string, partitions: array(partitionResult) })),
  }),
})
export type OffsetForLeaderEpochRequest = RequestOf<typeof OffsetForLeaderEpoch>
export type OffsetForLeaderEpochResponse = ResponseOf<typeof OffsetForLeaderEpoch>
