import { api, array, bool, int16, int32, type RequestOf, type ResponseOf, string, struct, uuid } from '../schema.ts'

const broker = struct({
  nodeId: int32,
  host: string,
  port: int32,
  rack: string.nullable().since(1, { absent: null }).ignorable,
})

const partition = struct({
  errorCode: int16,
  partitionIndex: int32,
  leaderId: int32,
  leaderEpoch: int32.since(7, { absent: -1 }).ignorable,
  replicaNodes: array(int32),
  isrNodes: array(int32),
  offlineReplicas: array(int32).since(5).ignorable,
})

const topic = struct({
  errorCode: int16,
  name: string.nullable(12),
  topicId: uuid.since(10).ignorable,
  isInternal: bool.since(1).ignorable,
  partitions: array(partition),
  // A bit field; -2^31 when it was not asked for.
  topicAuthorizedOperations: int32.since(8, { absent: -0x80000000 }),
})

/**
 * Which brokers there are, and who leads the partitions of some or all topics. Every client asks this first and
 * again after errors. Version 1 tells "all topics" (null) from "none" (empty); in 0 empty means all. Topic ids since
 * 10 (KIP-516), by which a client may ask since 12.
 */
export const Metadata = api({
  key: 3,
  name: 'Metadata',
  versions: [0, 13],
  flexible: 9,
  listeners: ['broker'],
  request: struct({
    topics: array(struct({ topicId: uuid.since(10).ignorable, name: string.nullable(10) })).nullable(1),
    // The broker's own setting must allow it, too.
    allowAutoTopicCreation: bool.since(4, { absent: true }),
    includeClusterAuthorizedOperations: bool.since(8).until(10),
    includeTopicAuthorizedOperations: bool.since(8),
  }),
  response: struct({
    throttleTimeMs: int32.since(3).ignorable,
    brokers: array(broker),
    clusterId: string.nullable().since(2, { absent: null }).ignorable,
    controllerId: int32.since(1, { absent: -1 }).ignorable,
    topics: array(topic),
    // A bit field; -2^31 when it was not asked for.
    clusterAuthorizedOperations: int32.since(8, { absent: -0x80000000 }).until(10),
    errorCode: int16.since(13).ignorable,
  }),
})
export type MetadataRequest = RequestOf<typeof Metadata>
export type MetadataResponse = ResponseOf<typeof Metadata>
