import { api, array, bytes, int16, int32, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

/** The second half of a classic rebalance: the leader hands in everyone's assignment, each member gets its own. */
export const SyncGroup = api({
  key: 14,
  name: 'SyncGroup',
  versions: [0, 5],
  flexible: 4,
  listeners: ['broker'],
  request: struct({
    groupId: string,
    generationId: int32,
    memberId: string,
    groupInstanceId: string.nullable().since(3, { absent: null }),
    protocolType: string.nullable().since(5, { absent: null }).ignorable,
    protocolName: string.nullable().since(5, { absent: null }).ignorable,
    assignments: array(struct({ memberId: string, assignment: bytes })),
  }),
  response: struct({
    throttleTimeMs: int32.since(1).ignorable,
    errorCode: int16,
    protocolType: string.nullable().since(5, { absent: null }).ignorable,
    protocolName: string.nullable().since(5, { absent: null }).ignorable,
    assignment: bytes,
  }),
})
export type SyncGroupRequest = RequestOf<typeof SyncGroup>
export type SyncGroupResponse = ResponseOf<typeof SyncGroup>
