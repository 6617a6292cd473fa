import { api, array, int16, int32, type RequestOf, type ResponseOf, string, struct, uuid } from '../schema.ts'

const topic = struct({
  topicId: uuid,
  partitions: array(struct({ partition: int32 })),
})

const partition = struct({
  partition: int32,
  errorCode: int16,
  errorMessage: string.nullable().default(null),
})

/** The group coordinator deletes the state of share partitions (KIP-932). */
export const DeleteShareGroupState = api({
  key: 86,
  name: 'DeleteShareGroupState',
  versions: [0, 0],
  flexible: 0,
  listeners: ['broker'],
  request: struct({
    groupId: string,
    topics: array(topic),
  }),
  response: struct({
    results: array(struct({ topicId: uuid, partitions: array(partition) })),
  }),
})
export type DeleteShareGroupStateRequest = RequestOf<typeof DeleteShareGroupState>
export type DeleteShareGroupStateResponse = ResponseOf<typeof DeleteShareGroupState>
