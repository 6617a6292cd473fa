import { api, bytes, int16, int32, int64, type RequestOf, type ResponseOf, struct } from '../schema.ts'

/** Moves the expiry of a delegation token, up to its maximum lifetime (KIP-48). */
export const RenewDelegationToken = api({
  key: 39,
  name: 'RenewDelegationToken',
  versions: [1, 2],
  flexible: 2,
  listeners: ['broker', 'controller'],
  request: struct({
    hmac: bytes,
    renewPeriodMs: int64,
  }),
  response: struct({
    errorCode: int16,
    expiryTimestampMs: int64,
    throttleTimeMs: int32.default(0),
  }),
})
export type RenewDelegationTokenRequest = RequestOf<typeof RenewDelegationToken>
export type RenewDelegationTokenResponse = ResponseOf<typeof RenewDelegationToken>
