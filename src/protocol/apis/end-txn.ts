import { api, bool, int16, int32, int64, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

/**
 * Commits or aborts a transaction. Since version 5 the answer brings a new epoch, so that nothing late can land in
 * the next one (KIP-890).
 */
export const EndTxn = api({
  key: 26,
  name: 'EndTxn',
  versions: [0, 5],
  flexible: 3,
  listeners: ['broker'],
  request: struct({
    transactionalId: string,
    producerId: int64,
    producerEpoch: int16,
    committed: bool,
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    producerId: int64.since(5, { absent: -1 }).ignorable,
    producerEpoch: int16.since(5, { absent: -1 }).ignorable,
  }),
})
export type EndTxnRequest = RequestOf<typeof EndTxn>
export type EndTxnResponse = ResponseOf<typeof EndTxn>
