import { INT64_MAX } from '../limits.ts'
import {
  api,
  array,
  int16,
  int32,
  int64,
  int8,
  records,
  type RequestOf,
  type ResponseOf,
  string,
  struct,
  uuid,
} from '../schema.ts'

const replicaState = struct({
  replicaId: int32.default(-1),
  replicaEpoch: int64.default(-1),
})

const partition = struct({
  partition: int32,
  currentLeaderEpoch: int32.since(9, { absent: -1 }).ignorable,
  fetchOffset: int64,
  lastFetchedEpoch: int32.since(12, { absent: -1 }),
  logStartOffset: int64.since(5, { absent: -1 }).ignorable,
  partitionMaxBytes: int32,
  replicaDirectoryId: uuid.since(17).tag(0).ignorable,
  highWatermark: int64.since(18, { absent: INT64_MAX }).tag(1).ignorable,
})

const topic = struct({
  topic: string.until(12).ignorable,
  topicId: uuid.since(13).ignorable,
  partitions: array(partition),
})

const forgottenTopic = struct({
  topic: string.until(12).ignorable,
  topicId: uuid.since(13).ignorable,
  partitions: array(int32),
})

const partitionResponse = struct({
  partitionIndex: int32,
  errorCode: int16,
  highWatermark: int64,
  lastStableOffset: int64.default(-1),
  logStartOffset: int64.since(5, { absent: -1 }).ignorable,
  divergingEpoch: struct({ epoch: int32.default(-1), endOffset: int64.default(-1) })
    .since(12)
    .tag(0),
  currentLeader: struct({ leaderId: int32.default(-1), leaderEpoch: int32.default(-1) })
    .since(12)
    .tag(1),
  snapshotId: struct({ endOffset: int64.default(-1), epoch: int32.default(-1) })
    .since(12)
    .tag(2),
  abortedTransactions: array(struct({ producerId: int64, firstOffset: int64 })).nullable(),
  preferredReadReplica: int32.since(11, { absent: -1 }),
  records: records.nullable(),
})

const topicResponse = struct({
  topic: string.until(12).ignorable,
  topicId: uuid.since(13).ignorable,
  partitions: array(partitionResponse),
})

const nodeEndpoint = struct({
  nodeId: int32,
  host: string,
  port: int32,
  rack: string.nullable().default(null),
})

export const Fetch = api({
  key: 1,
  name: 'Fetch',
  versions: [4, 18],
  flexible: 12,
  listeners: ['broker', 'controller'],
  request: struct({
    clusterId: string.nullable().since(12, { absent: null }).tag(0).ignorable,
    replicaId: int32.until(14).default(-1),
    replicaState: replicaState.since(15).tag(1),
    maxWaitMs: int32,
    minBytes: int32,
    maxBytes: int32.default(0x7fffffff),
    isolationLevel: int8.default(0),
    sessionId: int32.since(7).ignorable,
    sessionEpoch: int32.since(7, { absent: -1 }).ignorable,
    topics: array(topic),
    forgottenTopicsData: array(forgottenTopic).since(7),
    rackId: string.since(11).ignorable,
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16.since(7).ignorable,
    sessionId: int32.since(7),
    responses: array(topicResponse),
    nodeEndpoints: array(nodeEndpoint).since(16).tag(0),
  }),
})
export type FetchRequest = RequestOf<typeof Fetch>
export type FetchResponse = ResponseOf<typeof Fetch>
