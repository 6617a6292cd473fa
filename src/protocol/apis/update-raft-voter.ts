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

const currentLeader = struct({
  leaderId: int32.default(-1),
  leaderEpoch: int32.default(-1),
  host: string,
  port: int32,
})

/** A voter tells the leader its endpoints and which kraft.version it knows (KIP-853). */
export const UpdateRaftVoter = api({
  key: 82,
  name: 'UpdateRaftVoter',
  versions: [0, 0],
  flexible: 0,
  listeners: ['controller'],
  request: struct({
    clusterId: string.nullable(),
    currentLeaderEpoch: int32,
    voterId: int32,
    voterDirectoryId: uuid,
    listeners: array(struct({ name: string, host: string, port: uint16 })),
    kRaftVersionFeature: struct({ minSupportedVersion: int16, maxSupportedVersion: int16 }),
    // Ours. It takes no part until this is committed: whoever is heard as the voter meanwhile is another process.
    isElsewhere: bool.default(false).tag(10001),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    currentLeader: currentLeader.tag(0),
  }),
})
export type UpdateRaftVoterRequest = RequestOf<typeof UpdateRaftVoter>
export type UpdateRaftVoterResponse = ResponseOf<typeof UpdateRaftVoter>
