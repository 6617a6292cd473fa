import { api, bytes, int16, type RequestOf, type ResponseOf, struct } from '../schema.ts'

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
  }),
})
export type EnvelopeRequest = RequestOf<typeof Envelope>
export type EnvelopeResponse = ResponseOf<typeof Envelope>
