import {
  api,
  array,
  bool,
  int16,
  int32,
  type RequestOf,
  type ResponseOf,
  string,
  struct,
  uint16,
  uuid,
} from '../schema.ts'

/**
 * Adds a voter to the quorum (KIP-853); since version 1 the answer can come as soon as the change is written, not
 * committed (KIP-1186).
 */
export const AddRaftVoter = api({
  key: 80,
  name: 'AddRaftVoter',
  versions: [0, 1],
  flexible: 0,
  listeners: ['broker', 'controller'],
  request: struct({
    clusterId: string.nullable(),
    timeoutMs: int32,
    voterId: int32,
    voterDirectoryId: uuid,
    listeners: array(struct({ name: string, host: string, port: uint16 })),
    ackWhenCommitted: bool.since(1, { absent: true }),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    errorMessage: string.nullable(),
  }),
})
export type AddRaftVoterRequest = RequestOf<typeof AddRaftVoter>
export type AddRaftVoterResponse = ResponseOf<typeof AddRaftVoter>
