import { api, bool, int16, int32, int64, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

/**
 * Gives a producer its id and epoch: what idempotence and transactions rest on. With a transactional id the epoch
 * grows and the older holder is fenced. Version 3 lets a producer carry on after an error (KIP-360); 6 is for
 * two-phase commit (KIP-939), not yet stable.
 */
export const InitProducerId = api({
  key: 22,
  name: 'InitProducerId',
  versions: [0, 5],
  unstable: 6,
  flexible: 2,
  listeners: ['broker'],
  request: struct({
    transactionalId: string.nullable(),
    transactionTimeoutMs: int32,
    // Where the producer stands, when it wants to carry on after an error.
    producerId: int64.since(3, { absent: -1 }),
    producerEpoch: int16.since(3, { absent: -1 }),
    enable2Pc: bool.since(6),
    keepPreparedTxn: bool.since(6),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    producerId: int64.default(-1),
    producerEpoch: int16,
    ongoingTxnProducerId: int64.since(6, { absent: -1 }),
    ongoingTxnProducerEpoch: int16.since(6, { absent: -1 }),
  }),
})
export type InitProducerIdRequest = RequestOf<typeof InitProducerId>
export type InitProducerIdResponse = ResponseOf<typeof InitProducerId>
