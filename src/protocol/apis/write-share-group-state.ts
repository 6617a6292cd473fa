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

const stateBatch = struct({
  firstOffset: int64,
  lastOffset: int64,
  deliveryState: int8,
  deliveryCount: int16,
})

const partition = struct({
  partition: int32,
  stateEpoch: int32,
  leaderEpoch: int32,
  startOffset: int64,
  deliveryCompleteCount: int32.since(1, { absent: -1 }).ignorable,
  stateBatches: array(stateBatch),
})

const partitionResult = struct({
  partition: int32,
  errorCode: int16,
  errorMessage: string.nullable().default(null),
})

/** The leader of a share partition stores what changed in its state (KIP-932). */
export const WriteShareGroupState = api({
  key: 85,
  name: 'WriteShareGroupState',
  versions: [0, 1],
  flexible: 0,
  listeners: ['broker'],
  request: struct({
    groupId: string,
    topics: array(struct({ topicId: uuid, partitions: array(partition) })),
  }),
  response: struct({
    results: array(struct({ topicId: uuid, partitions: array(partitionResult) })),
  }),
})
export type WriteShareGroupStateRequest = RequestOf<typeof WriteShareGroupState>
export type WriteShareGroupStateResponse = ResponseOf<typeof WriteShareGroupState>
