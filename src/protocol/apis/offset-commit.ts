import { api, array, int16, int32, int64, type RequestOf, type ResponseOf, string, struct, uuid } from '../schema.ts'

const partition = struct({
  partitionIndex: int32,
  committedOffset: int64,
  committedLeaderEpoch: int32.since(6, { absent: -1 }).ignorable,
  committedMetadata: string.nullable(),
})

const topic = struct({
  name: string.until(9).ignorable,
  topicId: uuid.since(10).ignorable,
  partitions: array(partition),
})

const topicResult = struct({
  name: string.until(9).ignorable,
  topicId: uuid.since(10).ignorable,
  partitions: array(struct({ partitionIndex: int32, errorCode: int16 })),
})

/**
 * How far a group has read a partition. Version 1 of the value was written for clients that set their own expiry and
 * still is for them; the time of expiry is otherwise counted from when the group became empty (KIP-211). Version 4
 * brings the topic id.
 */
export const OffsetCommit = api({
  key: 8,
  name: 'OffsetCommit',
  versions: [2, 10],
  flexible: 8,
  listeners: ['broker'],
  request: struct({
    groupId: string,
    generationIdOrMemberEpoch: int32.default(-1),
    memberId: string,
    groupInstanceId: string.nullable().since(7, { absent: null }),
    // -1: the broker's offsets.retention.minutes.
    retentionTimeMs: int64.until(4).default(-1).ignorable,
    topics: array(topic),
  }),
  response: struct({
    throttleTimeMs: int32.since(3).ignorable,
    topics: array(topicResult),
  }),
})
export type OffsetCommitRequest = RequestOf<typeof OffsetCommit>
export type OffsetCommitResponse = ResponseOf<typeof OffsetCommit>
