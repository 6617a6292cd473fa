import { api, array, int16, int32, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

const group = struct({
  groupId: string,
  protocolType: string,
  groupState: string.since(4).ignorable,
  groupType: string.since(5).ignorable,
})

/**
 * The groups this broker coordinates. Can be narrowed by state since version 4 (KIP-518) and by type since 5
 * (KIP-848).
 */
export const ListGroups = api({
  key: 16,
  name: 'ListGroups',
  versions: [0, 5],
  flexible: 3,
  listeners: ['broker'],
  request: struct({
    statesFilter: array(string).since(4),
    typesFilter: array(string).since(5),
  }),
  response: struct({
    throttleTimeMs: int32.since(1).ignorable,
    errorCode: int16,
    groups: array(group),
  }),
})
export type ListGroupsRequest = RequestOf<typeof ListGroups>
export type ListGroupsResponse = ResponseOf<typeof ListGroups>
