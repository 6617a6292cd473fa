import { array, bytes, coordinatorRecord, int32, int64, string, struct } from '../schema.ts'

const memberMetadata = struct({
  memberId: string,
  groupInstanceId: string.nullable().since(3, { absent: null }).ignorable,
  clientId: string,
  clientHost: string,
  rebalanceTimeout: int32.since(1, { absent: -1 }).ignorable,
  sessionTimeout: int32,
  subscription: bytes,
  assignment: bytes,
})

/**
 * A classic group after each completed rebalance: generation, leader, members with their subscriptions and
 * assignments. No members means that the group is empty but its offsets stay.
 */
export const GroupMetadataRecord = coordinatorRecord({
  id: 2,
  name: 'GroupMetadata',
  key: struct({ group: string }),
  versions: [0, 4],
  flexible: 4,
  value: struct({
    protocolType: string,
    generation: int32,
    protocol: string.nullable(),
    leader: string.nullable(),
    currentStateTimestamp: int64.since(2, { absent: -1 }).ignorable,
    members: array(memberMetadata),
  }),
})
