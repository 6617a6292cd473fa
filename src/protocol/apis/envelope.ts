import { api, bytes, int16, int64, type RequestOf, type ResponseOf, struct } from '../schema.ts'

/**
 * A broker passes a client's request on to the active controller, whole, with the principal it authenticated
 * (KIP-590). The inner request and response begin with their own headers and have no size prefix.
 */
export const Envelope = api({
  key: 58,
  name: 'Envelope',
  versions: [0, 0],
  flexible: 0,
  listeners: ['controller'],
  request: struct({
    requestData: bytes,
    requestPrincipal: bytes.nullable(),
    clientHostAddress: bytes,
  }),
  response: struct({
    responseData: bytes.nullable().default(null),
    errorCode: int16,
    // Ours: where the metadata log holds what was decided, so that the broker can wait until it shows that.
    metadataOffset: int64.default(-1).tag(10001),
  }),
})
export type EnvelopeRequest = RequestOf<typeof Envelope>
export type EnvelopeResponse = ResponseOf<typeof Envelope>
