import { array, bigint64, coordinatorRecord, int32, int64, int8, string, struct, uuid } from '../schema.ts'

/** A share group and its epoch (KIP-932). */
export const ShareGroupMetadataRecord = coordinatorRecord({
  id: 11,
  name: 'ShareGroupMetadata',
  key: struct({ groupId: string }),
  versions: [0, 0],
  flexible: 0,
  value: struct({
    epoch: int32,
    metadataHash: bigint64,
  }),
})

/** What a member of a share group says about itself. */
export const ShareGroupMemberMetadataRecord = coordinatorRecord({
  id: 10,
  name: 'ShareGroupMemberMetadata',
  key: struct({ groupId: string, memberId: string }),
  versions: [0, 0],
  flexible: 0,
  value: struct({
    rackId: string.nullable(),
    clientId: string,
    clientHost: string,
    subscribedTopicNames: array(string),
  }),
})

/** The epoch for which the target assignment of a share group was computed. */
export const ShareGroupTargetAssignmentMetadataRecord = coordinatorRecord({
  id: 12,
  name: 'ShareGroupTargetAssignmentMetadata',
  key: struct({ groupId: string }),
  versions: [0, 0],
  flexible: 0,
  value: struct({
    assignmentEpoch: int32,
    assignmentTimestamp: int64.default(0).tag(0),
  }),
})

/** What a member of a share group should get. */
export const ShareGroupTargetAssignmentMemberRecord = coordinatorRecord({
  id: 13,
  name: 'ShareGroupTargetAssignmentMember',
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
})

/** What a member of a share group has. */
export const ShareGroupCurrentMemberAssignmentRecord = coordinatorRecord({
  id: 14,
  name: 'ShareGroupCurrentMemberAssignment',
  key: struct({ groupId: string, memberId: string }),
  versions: [0, 0],
  flexible: 0,
  value: struct({
    memberEpoch: int32,
    previousMemberEpoch: int32,
    state: int8,
    assignedPartitions: array(topicPartition),
  }),
})

const topicPartitionsInfo = struct({
  topicId: uuid,
  topicName: string,
  partitions: array(int32),
})

const topicInfo = struct({
  topicId: uuid,
  topicName: string,
})

/**
 * The topics of a share group whose state is being started, is started, or is being deleted at the share
 * coordinator.
 */
export const ShareGroupStatePartitionMetadataRecord = coordinatorRecord({
  id: 15,
  name: 'ShareGroupStatePartitionMetadata',
  key: struct({ groupId: string }),
  versions: [0, 0],
  flexible: 0,
  value: struct({
    initializingTopics: array(topicPartitionsInfo),
    initializedTopics: array(topicPartitionsInfo),
    deletingTopics: array(topicInfo),
  }),
})
