import { api, array, int16, int32, type RequestOf, type ResponseOf, string, struct, uuid } from '../schema.ts'

const topicResponse = struct({
  topicName: string,
  topicId: uuid,
  errorCode: int16,
  errorMessage: string.nullable().default(null),
})

/** Forgets topics of a share group; the group must be empty (KIP-932). */
export const DeleteShareGroupOffsets = api({
  key: 92,
  name: 'DeleteShareGroupOffsets',
  versions: [0, 0],
  flexible: 0,
  listeners: ['broker'],
  request: struct({
    groupId: string,
    topics: array(struct({ topicName: string })),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    errorMessage: string.nullable().default(null),
    responses: array(topicResponse),
  }),
})
export type DeleteShareGroupOffsetsRequest = RequestOf<typeof DeleteShareGroupOffsets>
export type DeleteShareGroupOffsetsResponse = ResponseOf<typeof DeleteShareGroupOffsets>
