import { api, array, int16, int32, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const topic = struct({
  name: string,
  partitions: array(struct({ partitionIndex: int32 })),
})

const topicResult = struct({
  name: string,
  partitions: array(struct({ partitionIndex: int32, errorCode: int16 })),
})

/** Forgets a group's offsets of topics that it is not subscribed to (KIP-496). Never flexible. */
export const OffsetDelete = api({
  key: 47,
  name: 'OffsetDelete',
  versions: [0, 0],
  listeners: ['broker'],
  request: struct({
    groupId: string,
    topics: array(topic),
  }),
  response: struct({
    errorCode: int16,
    throttleTimeMs: int32.default(0),
    topics: array(topicResult),
  }),
})
export type OffsetDeleteRequest = RequestOf<typeof OffsetDelete>
export type OffsetDeleteResponse = ResponseOf<typeof OffsetDelete>
