import { api, array, bytes, int16, int32, int64, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

/**
 * Makes a token by which clients can authenticate without the principal's own credentials (KIP-48); since version 3
 * for another owner (KIP-373).
 */
export const CreateDelegationToken = api({
  key: 38,
  name: 'CreateDelegationToken',
  versions: [1, 3],
  flexible: 2,
  listeners: ['broker', 'controller'],
  request: struct({
    ownerPrincipalType: string.nullable().since(3),
    ownerPrincipalName: string.nullable().since(3),
    renewers: array(struct({ principalType: string, principalName: string })),
    maxLifetimeMs: int64,
  }),
  response: struct({
    errorCode: int16,
    principalType: string,
    principalName: string,
    tokenRequesterPrincipalType: string.since(3),
    tokenRequesterPrincipalName: string.since(3),
    issueTimestampMs: int64,
    expiryTimestampMs: int64,
    maxTimestampMs: int64,
    tokenId: string,
    hmac: bytes,
    throttleTimeMs: int32.default(0),
  }),
})
export type CreateDelegationTokenRequest = RequestOf<typeof CreateDelegationToken>
export type CreateDelegationTokenResponse = ResponseOf<typeof CreateDelegationToken>
