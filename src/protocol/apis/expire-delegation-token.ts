import { api, bytes, int16, int32, int64, type RequestOf, type ResponseOf, struct } from '../schema.ts'

/** Ends a delegation token at once or at a given time (KIP-48). */
export const ExpireDelegationToken = api({
  key: 40,
  name: 'ExpireDelegationToken',
  versions: [1, 2],
  flexible: 2,
  listeners: ['broker', 'controller'],
  request: struct({
    hmac: bytes,
    expiryTimePeriodMs: int64,
  }),
  response: struct({
    errorCode: int16,
    expiryTimestampMs: int64,
    throttleTimeMs: int32.default(0),
  }),
})
export type ExpireDelegationTokenRequest = RequestOf<typeof ExpireDelegationToken>
export type ExpireDelegationTokenResponse = ResponseOf<typeof ExpireDelegationToken>
