import { api, array, bool, bytes, int16, int32, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const member = struct({
  memberId: string,
  groupInstanceId: string.nullable().since(5, { absent: null }).ignorable,
  metadata: bytes,
})

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
    members: array(member),
  }),
})
export type JoinGroupRequest = RequestOf<typeof JoinGroup>
export type JoinGroupResponse = ResponseOf<typeof JoinGroup>
