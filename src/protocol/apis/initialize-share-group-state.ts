import { api, array, int16, int32, int64, type RequestOf, type ResponseOf, string, struct, uuid } from '../schema.ts'

const topic = struct({
  topicId: uuid,
  partitions: array(struct({ partition: int32, stateEpoch: int32, startOffset: int64 })),
})

const partition = struct({
  partition: int32,
  errorCode: int16,
  errorMessage: string.nullable().default(null),
})

/** The group coordinator makes the share coordinator start the state of share partitions (KIP-932). */
export const InitializeShareGroupState = api({
  key: 83,
  name: 'InitializeShareGroupState',
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
export type InitializeShareGroupStateRequest = RequestOf<typeof InitializeShareGroupState>
export type InitializeShareGroupStateResponse = ResponseOf<typeof InitializeShareGroupState>
