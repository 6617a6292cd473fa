import { api, int16, int32, int64, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

/**
 * Tells the coordinator that a transaction will commit offsets of a group. Not needed by producers of the second
 * transaction version (KIP-890).
 */
export const AddOffsetsToTxn = api({
  key: 25,
  name: 'AddOffsetsToTxn',
  versions: [0, 4],
  flexible: 3,
  listeners: ['broker'],
  request: struct({
    transactionalId: string,
    producerId: int64,
    producerEpoch: int16,
    groupId: string,
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
  }),
})
export type AddOffsetsToTxnRequest = RequestOf<typeof AddOffsetsToTxn>
export type AddOffsetsToTxnResponse = ResponseOf<typeof AddOffsetsToTxn>
