import { api, array, int16, int32, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const member = struct({
  memberId: string,
  groupInstanceId: string.nullable().default(null),
  reason: string.nullable().since(5, { absent: null }).ignorable,
})

const memberResult = struct({
  memberId: string,
  groupInstanceId: string.nullable(),
  errorCode: int16,
})

/**
 * Members leave a classic group at once instead of by timeout. Since version 3 an admin can remove several
 * (KIP-345), since 5 with a reason (KIP-800).
 */
export const LeaveGroup = api({
  key: 13,
  name: 'LeaveGroup',
  versions: [0, 5],
  flexible: 4,
  listeners: ['broker'],
  request: struct({
    groupId: string,
    memberId: string.until(2),
    members: array(member).since(3),
  }),
  response: struct({
    throttleTimeMs: int32.since(1).ignorable,
    errorCode: int16,
    members: array(memberResult).since(3),
  }),
})
export type LeaveGroupRequest = RequestOf<typeof LeaveGroup>
export type LeaveGroupResponse = ResponseOf<typeof LeaveGroup>
