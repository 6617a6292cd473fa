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

const topic = struct({
  name: string.until(9).ignorable,
  topicId: uuid.since(10).ignorable,
  partitionIndexes: array(int32),
})

const group = struct({
  groupId: string,
  memberId: string.nullable().since(9, { absent: null }).ignorable,
  memberEpoch: int32.since(9, { absent: -1 }).ignorable,
  topics: array(topic).nullable(),
})

const partition = struct({
  partitionIndex: int32,
  committedOffset: int64,
  committedLeaderEpoch: int32.since(5, { absent: -1 }).ignorable,
  metadata: string.nullable(),
  errorCode: int16,
})

const partitionResult = struct({
  partitionIndex: int32,
  committedOffset: int64,
  committedLeaderEpoch: int32.default(-1),
  metadata: string.nullable(),
  errorCode: int16,
})

const topicResult = struct({
  name: string.until(9).ignorable,
  topicId: uuid.since(10).ignorable,
  partitions: array(partitionResult),
})

const groupResult = struct({
  groupId: string,
  topics: array(topicResult),
  errorCode: int16.default(0),
})

/** Ours: what retention is about to delete of a partition, and where its log starts by now; see docs/lag.md. */
const outlook = struct({
  topic: string,
  topicId: uuid,
  partition: int32,
  leaderEpoch: int32,
  startOffset: int64,
  steps: array(struct({ endOffset: int64, leftMs: int64 })),
})

/**
 * Asks how far a group has read. Version 2 allows "all topics" (null), 7 waits for open transactions (KIP-447), 8
 * asks for several groups at once (KIP-709), 9 brings the member epoch (KIP-848), 10 topic ids.
 */
export const OffsetFetch = api({
  key: 9,
  name: 'OffsetFetch',
  versions: [1, 10],
  flexible: 6,
  listeners: ['broker'],
  request: struct({
    groupId: string.until(7),
    topics: array(struct({ name: string, partitionIndexes: array(int32) }))
      .nullable(2)
      .until(7),
    groups: array(group).since(8),
    requireStable: bool.since(7),
    // From the leader of partitions to a coordinator, which it tells and does not ask: `groups` is empty.
    outlooks: array(outlook).since(8).tag(10001),
  }),
  response: struct({
    throttleTimeMs: int32.since(3).ignorable,
    topics: array(struct({ name: string, partitions: array(partition) })).until(7),
    errorCode: int16.since(2).until(7).ignorable,
    groups: array(groupResult).since(8),
  }),
})
export type OffsetFetchRequest = RequestOf<typeof OffsetFetch>
export type OffsetFetchResponse = ResponseOf<typeof OffsetFetch>
