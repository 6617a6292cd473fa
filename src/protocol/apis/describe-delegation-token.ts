import { api, array, bytes, int16, int32, int64, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const token = struct({
  principalType: string,
  principalName: string,
  tokenRequesterPrincipalType: string.since(3),
  tokenRequesterPrincipalName: string.since(3),
  issueTimestamp: int64,
  expiryTimestamp: int64,
  maxTimestamp: int64,
  tokenId: string,
  hmac: bytes,
  renewers: array(struct({ principalType: string, principalName: string })),
})

/** The delegation tokens of some or all (null) owners (KIP-48). */
export const DescribeDelegationToken = api({
  key: 41,
  name: 'DescribeDelegationToken',
  versions: [1, 3],
  flexible: 2,
  listeners: ['broker', 'controller'],
  request: struct({
    owners: array(struct({ principalType: string, principalName: string })).nullable(),
  }),
  response: struct({
    errorCode: int16,
    tokens: array(token),
    throttleTimeMs: int32.default(0),
  }),
})
export type DescribeDelegationTokenRequest = RequestOf<typeof DescribeDelegationToken>
export type DescribeDelegationTokenResponse = ResponseOf<typeof DescribeDelegationToken>
