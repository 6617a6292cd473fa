import { api, bytes, int16, int64, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

/**
 * One step of the SASL exchange. Since version 1 the answer says after how many milliseconds to authenticate again
 * (KIP-368).
 */
export const SaslAuthenticate = api({
  key: 36,
  name: 'SaslAuthenticate',
  versions: [0, 2],
  flexible: 2,
  listeners: ['broker', 'controller'],
  request: struct({
    authBytes: bytes,
  }),
  response: struct({
    errorCode: int16,
    errorMessage: string.nullable(),
    authBytes: bytes,
    sessionLifetimeMs: int64.since(1).ignorable,
  }),
})
export type SaslAuthenticateRequest = RequestOf<typeof SaslAuthenticate>
export type SaslAuthenticateResponse = ResponseOf<typeof SaslAuthenticate>
