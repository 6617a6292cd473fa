import { api, array, int16, int32, int64, type RequestOf, type ResponseOf, string, struct, uuid } from '../schema.ts'

const topic = struct({
  topicId: uuid,
  partitions: array(struct({ partition: int32, leaderEpoch: int32 })),
})

const partition = struct({
  partition: int32,
  errorCode: int16,
  errorMessage: string.nullable().default(null),
  stateEpoch: int32,
  leaderEpoch: int32,
  startOffset: int64,
  deliveryCompleteCount: int32.since(1, { absent: -1 }).ignorable,
})

/** Where share partitions start, without their batches (KIP-932); used for describing a group and its lag. */
export const ReadShareGroupStateSummary = api({
  key: 87,
  name: 'ReadShareGroupStateSummary',
  versions: [0, 1],
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
export type ReadShareGroupStateSummaryRequest = RequestOf<typeof ReadShareGroupStateSummary>
export type ReadShareGroupStateSummaryResponse = ResponseOf<typeof ReadShareGroupStateSummary>
