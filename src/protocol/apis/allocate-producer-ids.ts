import { api, int16, int32, int64, type RequestOf, type ResponseOf, struct } from '../schema.ts'

/** A broker gets a block of producer ids from the controller, to hand out on its own (KIP-730). */
export const AllocateProducerIds = api({
  key: 67,
  name: 'AllocateProducerIds',
  versions: [0, 0],
  flexible: 0,
  listeners: ['controller'],
  request: struct({
    brokerId: int32,
    brokerEpoch: int64.default(-1),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    producerIdStart: int64,
    producerIdLen: int32,
  }),
})
export type AllocateProducerIdsRequest = RequestOf<typeof AllocateProducerIds>
export type AllocateProducerIdsResponse = ResponseOf<typeof AllocateProducerIds>
