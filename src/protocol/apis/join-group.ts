import { api, array, bool, bytes, int16, int32, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const member = struct({
  memberId: string,
  groupInstanceId: string.nullable().since(5, { absent: null }).ignorable,
  metadata: bytes,
})

/**
 * A member of a classic group joins a rebalance, and is answered when all have joined; the leader's answer lists the
 * members. Since version 4 a new member is first sent back with an id (KIP-394); 5 brings static members (KIP-345),
 * 8 a reason (KIP-800), 9 tells a leader that it need not assign anew (KIP-814).
 */
export const JoinGroup = api({
  key: 11,
  name: 'JoinGroup',
  versions: [0, 9],
  flexible: 6,
  listeners: ['broker'],
  request: struct({
    groupId: string,
    sessionTimeoutMs: int32,
    rebalanceTimeoutMs: int32.since(1, { absent: -1 }).ignorable,
    // Empty at first.
    memberId: string,
    groupInstanceId: string.nullable().since(5, { absent: null }),
    protocolType: string,
    protocols: array(struct({ name: string, metadata: bytes })),
    reason: string.nullable().since(8, { absent: null }).ignorable,
  }),
  response: struct({
    throttleTimeMs: int32.since(2).ignorable,
    errorCode: int16,
    generationId: int32.default(-1),
    protocolType: string.nullable().since(7, { absent: null }).ignorable,
    protocolName: string.nullable(7),
    leader: string,
    skipAssignment: bool.since(9),
    memberId: string,
    // Only the leader gets them.
    members: array(member),
  }),
})
export type JoinGroupRequest = RequestOf<typeof JoinGroup>
export type JoinGroupResponse = ResponseOf<typeof JoinGroup>
