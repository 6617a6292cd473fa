import { api, array, bool, int16, int32, int64, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

/** Ours, where it is asked for: what retention is about to take from the group, or has taken; see docs/lag.md. */
const risk = struct({
  partitions: int32.default(-1),
  records: int64.default(0),
  // Of the record that goes first; -1: none is at risk.
  leftMs: int64.default(-1),
  lostRecords: int64.default(0),
})

const group = struct({
  groupId: string,
  protocolType: string,
  groupState: string.since(4).ignorable,
  groupType: string.since(5).ignorable,
  risk: risk.since(3).tag(10001),
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
    onlyAtRisk: bool.since(3).tag(10001),
  }),
  response: struct({
    throttleTimeMs: int32.since(1).ignorable,
    errorCode: int16,
    groups: array(group),
  }),
})
export type ListGroupsRequest = RequestOf<typeof ListGroups>
export type ListGroupsResponse = ResponseOf<typeof ListGroups>
