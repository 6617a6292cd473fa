import { api, int16, int32, type RequestOf, type ResponseOf, string, struct, uuid } from '../schema.ts'

/** Removes a voter from the quorum (KIP-853). */
export const RemoveRaftVoter = api({
  key: 81,
  name: 'RemoveRaftVoter',
  versions: [0, 0],
  flexible: 0,
  listeners: ['broker', 'controller'],
  request: struct({
    clusterId: string.nullable(),
    voterId: int32,
    voterDirectoryId: uuid,
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    errorMessage: string.nullable(),
  }),
})
export type RemoveRaftVoterRequest = RequestOf<typeof RemoveRaftVoter>
export type RemoveRaftVoterResponse = ResponseOf<typeof RemoveRaftVoter>
