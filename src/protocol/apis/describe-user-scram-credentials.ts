import { api, array, int16, int32, int8, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const result = struct({
  user: string,
  errorCode: int16,
  errorMessage: string.nullable(),
  credentialInfos: array(struct({ mechanism: int8, iterations: int32 })),
})

/**
 * Which SCRAM mechanisms, with how many iterations, users have credentials for (KIP-554). Never the credentials
 * themselves.
 */
export const DescribeUserScramCredentials = api({
  key: 50,
  name: 'DescribeUserScramCredentials',
  versions: [0, 0],
  flexible: 0,
  listeners: ['broker', 'controller'],
  request: struct({
    users: array(struct({ name: string })).nullable(),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    errorMessage: string.nullable(),
    results: array(result),
  }),
})
export type DescribeUserScramCredentialsRequest = RequestOf<typeof DescribeUserScramCredentials>
export type DescribeUserScramCredentialsResponse = ResponseOf<typeof DescribeUserScramCredentials>
