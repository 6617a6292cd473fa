import { array, int32, int8, logRecord, string, struct, uuid } from '../schema.ts'

/** A topic exists. Its partitions follow as records of their own. */
export const TopicRecord = logRecord({
  id: 2,
  name: 'Topic',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    name: string,
    topicId: uuid,
  }),
})

/** A partition with its whole state. */
export const PartitionRecord = logRecord({
  id: 3,
  name: 'Partition',
  versions: [0, 2],
  flexible: 0,
  fields: struct({
    partitionId: int32.default(-1),
    topicId: uuid,
    replicas: array(int32),
    isr: array(int32),
    removingReplicas: array(int32),
    addingReplicas: array(int32),
    leader: int32.default(-1),
    leaderRecoveryState: int8.default(0).tag(0),
    leaderEpoch: int32.default(-1),
    partitionEpoch: int32.default(-1),
    directories: array(uuid).since(1),
    eligibleLeaderReplicas: array(int32).nullable().since(2, { absent: null }).tag(1),
    lastKnownElr: array(int32).nullable().since(2, { absent: null }).tag(2),
  }),
})

/**
 * What changed about a partition. Null, leader -2 and recovery state -1 mean "as before". Each raises the partition
 * epoch; one that names a leader, even the same, raises the leader epoch.
 */
export const PartitionChangeRecord = logRecord({
  id: 5,
  name: 'PartitionChange',
  versions: [0, 2],
  flexible: 0,
  fields: struct({
    partitionId: int32.default(-1),
    topicId: uuid,
    isr: array(int32).nullable().default(null).tag(0),
    leader: int32.default(-2).tag(1),
    replicas: array(int32).nullable().default(null).tag(2),
    removingReplicas: array(int32).nullable().default(null).tag(3),
    addingReplicas: array(int32).nullable().default(null).tag(4),
    leaderRecoveryState: int8.default(-1).tag(5),
    directories: array(uuid).nullable().since(1, { absent: null }).tag(8),
    eligibleLeaderReplicas: array(int32).nullable().since(2, { absent: null }).tag(6),
    lastKnownElr: array(int32).nullable().since(2, { absent: null }).tag(7),
  }),
})

/** A topic is deleted with all of its partitions. */
export const RemoveTopicRecord = logRecord({
  id: 9,
  name: 'RemoveTopic',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    topicId: uuid,
  }),
})

/**
 * A config was set, or removed by a null value. Resource types are those of DescribeConfigs; an empty name is the
 * default of all brokers.
 */
export const ConfigRecord = logRecord({
  id: 4,
  name: 'Config',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    resourceType: int8,
    resourceName: string,
    name: string,
    value: string.nullable(),
  }),
})

/**
 * Eligible leader replicas of a topic are void since its min.insync.replicas changed; an empty name means all topics
 * (KIP-966).
 */
export const ClearElrRecord = logRecord({
  id: 28,
  name: 'ClearElr',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    topicName: string,
  }),
})
