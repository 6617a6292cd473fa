import { array, bytes, int32, message, string, struct } from '../schema.ts'

/**
 * What a classic consumer joins its group with: the metadata of a protocol in JoinGroup. Owned partitions since
 * version 1 (cooperative rebalancing, KIP-429), the generation they are from since 2 (KIP-792), the rack since 3
 * (KIP-881).
 */
export const ConsumerProtocolSubscription = message({
  name: 'ConsumerProtocolSubscription',
  versions: [0, 3],
  newer: 'as last known',
  fields: struct({
    topics: array(string),
    userData: bytes.nullable().default(null),
    ownedPartitions: array(struct({ topic: string, partitions: array(int32) })).since(1).ignorable,
    generationId: int32.since(2, { absent: -1 }).ignorable,
    rackId: string.nullable().since(3, { absent: null }).ignorable,
  }),
})

/** What the leader of a classic group of consumers gives each of them: the assignment in SyncGroup. */
export const ConsumerProtocolAssignment = message({
  name: 'ConsumerProtocolAssignment',
  versions: [0, 3],
  newer: 'as last known',
  fields: struct({
    assignedPartitions: array(struct({ topic: string, partitions: array(int32) })),
    userData: bytes.nullable().default(null),
  }),
})
