import { api, array, int16, int32, int64, type RequestOf, type ResponseOf, string, struct, uuid } from '../schema.ts'

const partition = struct({
  partitionIndex: int32,
  committedOffset: int64,
  committedLeaderEpoch: int32.since(2, { absent: -1 }).ignorable,
  committedMetadata: string.nullable(),
})

const topic = struct({
  name: string.until(5).ignorable,
  topicId: uuid.since(6).ignorable,
  partitions: array(partition),
})

const topicResult = struct({
  name: string.until(5).ignorable,
  topicId: uuid.since(6).ignorable,
  partitions: array(struct({ partitionIndex: int32, errorCode: int16 })),
})

/**
 * Commits a group's offsets as part of a transaction: pending until its marker comes. Version 3 fences by the member
 * (KIP-447), 5 needs no AddOffsetsToTxn before (KIP-890), 6 brings topic ids.
 */
export const TxnOffsetCommit = api({
  key: 28,
  name: 'TxnOffsetCommit',
  versions: [0, 6],
  flexible: 3,
  listeners: ['broker'],
  request: struct({
    transactionalId: string,
    groupId: string,
    producerId: int64,
    producerEpoch: int16,
    generationIdOrMemberEpoch: int32.since(3, { absent: -1 }),
    memberId: string.since(3),
    groupInstanceId: string.nullable().since(3, { absent: null }),
    topics: array(topic),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    topics: array(topicResult),
  }),
})
export type TxnOffsetCommitRequest = RequestOf<typeof TxnOffsetCommit>
export type TxnOffsetCommitResponse = ResponseOf<typeof TxnOffsetCommit>
