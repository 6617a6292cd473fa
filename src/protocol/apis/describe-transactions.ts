import { api, array, int16, int32, int64, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const transactionState = struct({
  errorCode: int16,
  transactionalId: string,
  transactionState: string,
  transactionTimeoutMs: int32,
  transactionStartTimeMs: int64,
  producerId: int64,
  producerEpoch: int16,
  topics: array(struct({ topic: string, partitions: array(int32) })),
})

/** State, producer and partitions of transactions (KIP-664). */
export const DescribeTransactions = api({
  key: 65,
  name: 'DescribeTransactions',
  versions: [0, 0],
  flexible: 0,
  listeners: ['broker'],
  request: struct({
    transactionalIds: array(string),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    transactionStates: array(transactionState),
  }),
})
export type DescribeTransactionsRequest = RequestOf<typeof DescribeTransactions>
export type DescribeTransactionsResponse = ResponseOf<typeof DescribeTransactions>
