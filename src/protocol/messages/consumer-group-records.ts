import { array, bigint64, bytes, coordinatorRecord, int32, int64, int8, string, struct, uuid } from '../schema.ts'

/** A consumer group and its epoch (KIP-848); the hash tells whether subscribed topics changed (KIP-1101). */
export const ConsumerGroupMetadataRecord = coordinatorRecord({
  id: 3,
  name: 'ConsumerGroupMetadata',
  key: struct({ groupId: string }),
  versions: [0, 0],
  flexible: 0,
  value: struct({
    epoch: int32,
    metadataHash: bigint64.default(0n).tag(0),
  }),
})

const topic = struct({
  topicId: uuid,
  topicName: string,
  numPartitions: int32,
  partitionMetadata: array(struct({ partition: int32, racks: array(string) })),
})

/**
 * The subscribed topics of a group as it last saw them. Replaced by the hash in ConsumerGroupMetadata: now only
 * read, and deleted.
 */
export const ConsumerGroupPartitionMetadataRecord = coordinatorRecord({
  id: 4,
  name: 'ConsumerGroupPartitionMetadata',
  key: struct({ groupId: string }),
  versions: [0, 0],
  flexible: 0,
  value: struct({
    topics: array(topic),
  }),
})

const classicMemberMetadata = struct({
  sessionTimeoutMs: int32,
  supportedProtocols: array(struct({ name: string, metadata: bytes })),
})

/** What a member of a consumer group says about itself. */
export const ConsumerGroupMemberMetadataRecord = coordinatorRecord({
  id: 5,
  name: 'ConsumerGroupMemberMetadata',
  key: struct({ groupId: string, memberId: string }),
  versions: [0, 0],
  flexible: 0,
  value: struct({
    instanceId: string.nullable(),
    rackId: string.nullable(),
    clientId: string,
    clientHost: string,
    subscribedTopicNames: array(string),
    subscribedTopicRegex: string.nullable(),
    rebalanceTimeoutMs: int32.default(-1),
    serverAssignor: string.nullable(),
    // Set for a member that still speaks the classic protocol. Without one say null: the default is an empty structure.
    classicMemberMetadata: classicMemberMetadata.nullable().tag(0),
  }),
})

/** The epoch for which the target assignment of a consumer group was computed. */
export const ConsumerGroupTargetAssignmentMetadataRecord = coordinatorRecord({
  id: 6,
  name: 'ConsumerGroupTargetAssignmentMetadata',
  key: struct({ groupId: string }),
  versions: [0, 0],
  flexible: 0,
  value: struct({
    assignmentEpoch: int32,
    assignmentTimestamp: int64.default(0).tag(0),
  }),
})

/** What a member of a consumer group should get. */
export const ConsumerGroupTargetAssignmentMemberRecord = coordinatorRecord({
  id: 7,
  name: 'ConsumerGroupTargetAssignmentMember',
  key: struct({ groupId: string, memberId: string }),
  versions: [0, 0],
  flexible: 0,
  value: struct({
    topicPartitions: array(struct({ topicId: uuid, partitions: array(int32) })),
  }),
})

const topicPartition = struct({
  topicId: uuid,
  partitions: array(int32),
  assignmentEpochs: array(int32).nullable().tag(0),
})

/** What a member of a consumer group has, and what it must give back first. */
export const ConsumerGroupCurrentMemberAssignmentRecord = coordinatorRecord({
  id: 8,
  name: 'ConsumerGroupCurrentMemberAssignment',
  key: struct({ groupId: string, memberId: string }),
  versions: [0, 0],
  flexible: 0,
  value: struct({
    memberEpoch: int32,
    previousMemberEpoch: int32,
    state: int8,
    assignedPartitions: array(topicPartition),
    partitionsPendingRevocation: array(topicPartition),
  }),
})

/** The topics that a group's pattern matched when it was last resolved. */
export const ConsumerGroupRegularExpressionRecord = coordinatorRecord({
  id: 16,
  name: 'ConsumerGroupRegularExpression',
  key: struct({ groupId: string, regularExpression: string }),
  versions: [0, 0],
  flexible: 0,
  value: struct({
    topics: array(string),
    version: int64,
    timestamp: int64,
  }),
})
