import { array, bytes, int32, message, string, struct } from '../schema.ts'

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

export const ConsumerProtocolAssignment = message({
  name: 'ConsumerProtocolAssignment',
  versions: [0, 3],
  newer: 'as last known',
  fields: struct({
    assignedPartitions: array(struct({ topic: string, partitions: array(int32) })),
    userData: bytes.nullable().default(null),
  }),
})
