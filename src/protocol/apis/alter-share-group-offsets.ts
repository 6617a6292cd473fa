import { api, array, int16, int32, int64, type RequestOf, type ResponseOf, string, struct, uuid } from '../schema.ts'

const topic = struct({
  topicName: string,
  partitions: array(struct({ partitionIndex: int32, startOffset: int64 })),
})

const partition = struct({
  partitionIndex: int32,
  errorCode: int16,
  errorMessage: string.nullable().default(null),
})

const topicResponse = struct({
  topicName: string,
  topicId: uuid,
  partitions: array(partition),
})

/** Sets where the share partitions of a group start; the group must be empty (KIP-932). */
export const AlterShareGroupOffsets = api({
  key: 91,
  name: 'AlterShareGroupOffsets',
  versions: [0, 0],
  flexible: 0,
  listeners: ['broker'],
  request: struct({
    groupId: string,
    topics: array(topic),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    errorMessage: string.nullable().default(null),
    responses: array(topicResponse),
  }),
})
export type AlterShareGroupOffsetsRequest = RequestOf<typeof AlterShareGroupOffsets>
export type AlterShareGroupOffsetsResponse = ResponseOf<typeof AlterShareGroupOffsets>
