import {
  api,
  array,
  bool,
  int16,
  int32,
  int64,
  int8,
  type RequestOf,
  type ResponseOf,
  string,
  struct,
} from '../schema.ts'

const marker = struct({
  producerId: int64,
  producerEpoch: int16,
  transactionResult: bool,
  topics: array(struct({ name: string, partitionIndexes: array(int32) })),
  coordinatorEpoch: int32,
  transactionVersion: int8.since(2).ignorable,
})

const topic = struct({
  name: string,
  partitions: array(struct({ partitionIndex: int32, errorCode: int16 })),
})

/**
 * The coordinator tells the leaders to end transactions in their partitions, by a control batch each. Version 2 says
 * by which transaction version the epoch is to be checked (KIP-1228).
 */
export const WriteTxnMarkers = api({
  key: 27,
  name: 'WriteTxnMarkers',
  versions: [1, 2],
  flexible: 1,
  listeners: ['broker'],
  request: struct({
    markers: array(marker),
  }),
  response: struct({
    markers: array(struct({ producerId: int64, topics: array(topic) })),
  }),
})
export type WriteTxnMarkersRequest = RequestOf<typeof WriteTxnMarkers>
export type WriteTxnMarkersResponse = ResponseOf<typeof WriteTxnMarkers>
