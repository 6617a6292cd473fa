import { api, array, int16, int32, int64, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const activeProducer = struct({
  producerId: int64,
  producerEpoch: int32,
  lastSequence: int32.default(-1),
  lastTimestamp: int64.default(-1),
  coordinatorEpoch: int32,
  currentTxnStartOffset: int64.default(-1),
})

const partition = struct({
  partitionIndex: int32,
  errorCode: int16,
  errorMessage: string.nullable().default(null),
  activeProducers: array(activeProducer),
})

/** The producers that partitions know, with their open transactions (KIP-664). */
export const DescribeProducers = api({
  key: 61,
  name: 'DescribeProducers',
  versions: [0, 0],
  flexible: 0,
  listeners: ['broker'],
  request: struct({
    topics: array(struct({ name: string, partitionIndexes: array(int32) })),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    topics: array(struct({ name: string, partitions: array(partition) })),
  }),
})
export type DescribeProducersRequest = RequestOf<typeof DescribeProducers>
export type DescribeProducersResponse = ResponseOf<typeof DescribeProducers>
