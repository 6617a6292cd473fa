import { api, array, int16, int32, int64, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const transactionState = struct({
  transactionalId: string,
  producerId: int64,
  transactionState: string,
})

/**
 * The transactions of a coordinator, narrowed by state and producer (KIP-664), duration (1, KIP-994) and a pattern
 * of the id (2, KIP-1152).
 */
export const ListTransactions = api({
  key: 66,
  name: 'ListTransactions',
  versions: [0, 2],
  flexible: 0,
  listeners: ['broker'],
  request: struct({
    stateFilters: array(string),
    producerIdFilters: array(int64),
    durationFilter: int64.since(1, { absent: -1 }),
    transactionalIdPattern: string.nullable().since(2, { absent: null }),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    unknownStateFilters: array(string),
    transactionStates: array(transactionState),
  }),
})
export type ListTransactionsRequest = RequestOf<typeof ListTransactions>
export type ListTransactionsResponse = ResponseOf<typeof ListTransactions>
