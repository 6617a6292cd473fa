import {
  api,
  array,
  bool,
  bytes,
  int16,
  int32,
  int64,
  int8,
  type RequestOf,
  type ResponseOf,
  string,
  struct,
} from '../schema.ts'

const member = struct({
  memberId: string,
  groupInstanceId: string.nullable().since(4, { absent: null }).ignorable,
  clientId: string,
  clientHost: string,
  memberMetadata: bytes,
  memberAssignment: bytes,
})

/** What `trend` stands for. */
export const LAG_TRENDS = ['unknown', 'level', 'steady', 'growing', 'shrinking'] as const

/** Ours, where it is asked for; see docs/lag.md. */
const lag = struct({
  topic: string,
  partition: int32,
  committedOffset: int64,
  // -1: the leader of the partition has not answered, and the rest is not known.
  startOffset: int64,
  endOffset: int64,
  lag: int64,
  lagMs: int64,
  trend: int8,
  // -1: it does not shrink, or that is not known.
  caughtUpInMs: int64,
  // -1: for ever.
  leftMs: int64,
  isAtRisk: bool,
})
const lost = struct({ topic: string, partition: int32, from: int64, to: int64, atMs: int64 })

const group = struct({
  errorCode: int16,
  errorMessage: string.nullable().since(6, { absent: null }),
  groupId: string,
  groupState: string,
  protocolType: string,
  protocolData: string,
  members: array(member),
  authorizedOperations: int32.since(3, { absent: -0x80000000 }),
  lag: array(lag).nullable().since(5, { absent: null }).default(null).tag(10001),
  lost: array(lost).since(5).tag(10002),
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
    includeLag: bool.since(5).tag(10001),
  }),
  response: struct({
    throttleTimeMs: int32.since(1).ignorable,
    groups: array(group),
  }),
})
export type DescribeGroupsRequest = RequestOf<typeof DescribeGroups>
export type DescribeGroupsResponse = ResponseOf<typeof DescribeGroups>
