import {
  api,
  array,
  int16,
  int32,
  int64,
  int8,
  type RequestOf,
  type ResponseOf,
  string,
  struct,
  uuid,
} from '../schema.ts'

const topic = struct({
  topicId: uuid,
  partitions: array(struct({ partition: int32, leaderEpoch: int32 })),
})

const stateBatch = struct({
  firstOffset: int64,
  lastOffset: int64,
  deliveryState: int8,
  deliveryCount: int16,
})

const partition = struct({
  partition: int32,
  errorCode: int16,
  errorMessage: string.nullable().default(null),
  stateEpoch: int32,
  startOffset: int64,
  stateBatches: array(stateBatch),
})

/** The leader of a share partition loads its state from the share coordinator, fencing older leaders (KIP-932). */
export const ReadShareGroupState = api({
  key: 84,
  name: 'ReadShareGroupState',
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
export type ReadShareGroupStateRequest = RequestOf<typeof ReadShareGroupState>
export type ReadShareGroupStateResponse = ResponseOf<typeof ReadShareGroupState>
