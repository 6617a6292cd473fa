import { array, bigint64, coordinatorRecord, int16, int32, int64, int8, string, struct, uint16 } from '../schema.ts'

const lastAssignmentConfig = struct({
  key: string,
  value: string,
})

/**
 * A streams group and its epoch (KIP-1071), with the topology that was last validated and the configs of the last
 * assignment.
 */
export const StreamsGroupMetadataRecord = coordinatorRecord({
  id: 17,
  name: 'StreamsGroupMetadata',
  key: struct({ groupId: string }),
  versions: [0, 0],
  flexible: 0,
  value: struct({
    epoch: int32,
    metadataHash: bigint64,
    validatedTopologyEpoch: int32.default(-1).tag(0),
    lastAssignmentConfigs: array(lastAssignmentConfig).nullable().tag(1),
    storedDescriptionTopologyEpoch: int32.default(-1).tag(2),
    failedDescriptionTopologyEpoch: int32.default(-1).tag(3),
  }),
})

const endpoint = struct({
  host: string,
  port: uint16,
})

const keyValue = struct({
  key: string,
  value: string,
})

/** What a client of a streams group says about itself. */
export const StreamsGroupMemberMetadataRecord = coordinatorRecord({
  id: 19,
  name: 'StreamsGroupMemberMetadata',
  key: struct({ groupId: string, memberId: string }),
  versions: [0, 0],
  flexible: 0,
  value: struct({
    instanceId: string.nullable(),
    rackId: string.nullable(),
    clientId: string,
    clientHost: string,
    rebalanceTimeoutMs: int32.default(-1),
    topologyEpoch: int32,
    processId: string,
    userEndpoint: endpoint.nullable().default(null),
    clientTags: array(keyValue),
  }),
})

const topicConfig = struct({
  key: string,
  value: string,
})

const topicInfo = struct({
  name: string,
  partitions: int32,
  replicationFactor: int16,
  topicConfigs: array(topicConfig),
})

const copartitionGroup = struct({
  sourceTopics: array(int16),
  sourceTopicRegex: array(int16),
  repartitionSourceTopics: array(int16),
})

const subtopology = struct({
  subtopologyId: string,
  sourceTopics: array(string),
  sourceTopicRegex: array(string),
  stateChangelogTopics: array(topicInfo),
  repartitionSinkTopics: array(string),
  repartitionSourceTopics: array(topicInfo),
  copartitionGroups: array(copartitionGroup),
})

/** The topology of a streams group: its sub-topologies with their source, repartition and changelog topics. */
export const StreamsGroupTopologyRecord = coordinatorRecord({
  id: 23,
  name: 'StreamsGroupTopology',
  key: struct({ groupId: string }),
  versions: [0, 0],
  flexible: 0,
  value: struct({
    epoch: int32,
    subtopologies: array(subtopology),
  }),
})

/** The epoch for which the target assignment of a streams group was computed. */
export const StreamsGroupTargetAssignmentMetadataRecord = coordinatorRecord({
  id: 20,
  name: 'StreamsGroupTargetAssignmentMetadata',
  key: struct({ groupId: string }),
  versions: [0, 0],
  flexible: 0,
  value: struct({
    assignmentEpoch: int32,
    assignmentTimestamp: int64.default(0).tag(0),
  }),
})

const task = struct({
  subtopologyId: string,
  partitions: array(int32),
})

/** The tasks that a client of a streams group should get. */
export const StreamsGroupTargetAssignmentMemberRecord = coordinatorRecord({
  id: 21,
  name: 'StreamsGroupTargetAssignmentMember',
  key: struct({ groupId: string, memberId: string }),
  versions: [0, 0],
  flexible: 0,
  value: struct({
    activeTasks: array(task),
    standbyTasks: array(task),
    warmupTasks: array(task),
  }),
})

const ownedTask = struct({
  subtopologyId: string,
  partitions: array(int32),
  assignmentEpochs: array(int32).nullable().tag(0),
})

/** The tasks that a client of a streams group has, and those it must give back first. */
export const StreamsGroupCurrentMemberAssignmentRecord = coordinatorRecord({
  id: 22,
  name: 'StreamsGroupCurrentMemberAssignment',
  key: struct({ groupId: string, memberId: string }),
  versions: [0, 0],
  flexible: 0,
  value: struct({
    memberEpoch: int32,
    previousMemberEpoch: int32,
    state: int8,
    activeTasks: array(ownedTask),
    standbyTasks: array(ownedTask),
    warmupTasks: array(ownedTask),
    activeTasksPendingRevocation: array(ownedTask),
    standbyTasksPendingRevocation: array(ownedTask),
    warmupTasksPendingRevocation: array(ownedTask),
  }),
})
