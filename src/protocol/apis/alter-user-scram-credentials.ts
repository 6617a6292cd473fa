import { api, array, bytes, int16, int32, int8, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const upsertion = struct({
  name: string,
  mechanism: int8,
  iterations: int32,
  salt: bytes,
  saltedPassword: bytes,
})

const result = struct({
  user: string,
  errorCode: int16,
  errorMessage: string.nullable(),
})

/**
 * Sets and deletes SCRAM credentials (KIP-554). What comes is already salted, so that the password does not travel.
 */
export const AlterUserScramCredentials = api({
  key: 51,
  name: 'AlterUserScramCredentials',
  versions: [0, 0],
  flexible: 0,
  listeners: ['broker', 'controller'],
  request: struct({
    deletions: array(struct({ name: string, mechanism: int8 })),
    upsertions: array(upsertion),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    results: array(result),
  }),
})
export type AlterUserScramCredentialsRequest = RequestOf<typeof AlterUserScramCredentials>
export type AlterUserScramCredentialsResponse = ResponseOf<typeof AlterUserScramCredentials>
