import { api, array, bool, bytes, int16, int32, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const member = struct({
  memberId: string,
  groupInstanceId: string.nullable().since(4, { absent: null }).ignorable,
  clientId: string,
  clientHost: string,
  memberMetadata: bytes,
  memberAssignment: bytes,
})

const group = struct({
  errorCode: int16,
  errorMessage: string.nullable().since(6, { absent: null }),
  groupId: string,
  groupState: string,
  protocolType: string,
  protocolData: string,
  members: array(member),
  authorizedOperations: int32.since(3, { absent: -0x80000000 }),
})

/**
 * State and members of classic groups. Metadata and assignment are the members' own blobs, for consumers those of
 * `consumer-protocol.ts`. Version 6 answers GROUP_ID_NOT_FOUND with a message instead of a dead group (KIP-1043).
 */
export const DescribeGroups = api({
  key: 15,
  name: 'DescribeGroups',
  versions: [0, 6],
  flexible: 5,
  listeners: ['broker'],
  request: struct({
    groups: array(string),
    includeAuthorizedOperations: bool.since(3),
  }),
  response: struct({
    throttleTimeMs: int32.since(1).ignorable,
    groups: array(group),
  }),
})
export type DescribeGroupsRequest = RequestOf<typeof DescribeGroups>
export type DescribeGroupsResponse = ResponseOf<typeof DescribeGroups>
