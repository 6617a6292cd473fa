import { INT64_MAX } from '../limits.ts'
import { leaderIdAndEpoch, nodeEndpoint } from '../parts.ts'
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
  // For a follower also what it holds up to.
  fetchOffset: int64,
  // The epoch of the follower's last record, to find out whether it diverged.
  lastFetchedEpoch: int32.since(12, { absent: -1 }),
  logStartOffset: int64.since(5, { absent: -1 }).ignorable,
  partitionMaxBytes: int32,
  replicaDirectoryId: uuid.since(17).tag(0).ignorable,
  highWatermark: int64.since(18, { absent: INT64_MAX }).tag(1).ignorable,
  // Ours: what the follower has fsynced, where that is less than what it holds.
  durableOffset: int64.since(12, { absent: -1 }).tag(10_001).ignorable,
  // Ours: what has left the follower's process for its file, likewise.
  writtenOffset: int64.since(12, { absent: -1 }).tag(10_003).ignorable,
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
  // Set when the follower's log is not a prefix of the leader's.
  divergingEpoch: struct({ epoch: int32.default(-1), endOffset: int64.default(-1) })
    .since(12)
    .tag(0),
  currentLeader: leaderIdAndEpoch.since(12).tag(1),
  // Set when the follower must load a snapshot first (metadata log).
  snapshotId: struct({ endOffset: int64.default(-1), epoch: int32.default(-1) })
    .since(12)
    .tag(2),
  // Null unless read committed was asked for.
  abortedTransactions: array(struct({ producerId: int64, firstOffset: int64 })).nullable(),
  // Where the consumer should fetch instead (KIP-392).
  preferredReadReplica: int32.since(11, { absent: -1 }),
  records: records.nullable(),
})

const topicResponse = struct({
  topic: string.until(12).ignorable,
  topicId: uuid.since(13).ignorable,
  partitions: array(partitionResponse),
})

/**
 * Reads record batches: what consumers and following replicas do, all in one request. Sessions (7, KIP-227) leave
 * out what did not change since the last request; 11 brings the client's rack (KIP-392), 12 the epoch that tells a
 * diverged follower where to cut (KIP-595), 13 topic ids (KIP-516), 15 the follower's epoch (KIP-903), 16 the new
 * leader in a refusal (KIP-951), 17 the directory of the replica (KIP-853), 18 the follower's high watermark
 * (KIP-1166). Also how the metadata log spreads: the controllers' and brokers' replicas of it fetch in the same way.
 */
export const Fetch = api({
  key: 1,
  name: 'Fetch',
  versions: [4, 18],
  flexible: 12,
  listeners: ['broker', 'controller'],
  request: struct({
    clusterId: string.nullable().since(12, { absent: null }).tag(0).ignorable,
    // -1 for a consumer; later versions have it in `replicaState`.
    replicaId: int32.until(14).default(-1),
    replicaState: replicaState.since(15).tag(1),
    maxWaitMs: int32,
    minBytes: int32,
    maxBytes: int32.default(0x7fffffff),
    // 0 read uncommitted, 1 read committed.
    isolationLevel: int8.default(0),
    sessionId: int32.since(7).ignorable,
    // -1: no session; 0: begin one; else the next epoch of `sessionId`.
    sessionEpoch: int32.since(7, { absent: -1 }).ignorable,
    topics: array(topic),
    forgottenTopicsData: array(forgottenTopic).since(7),
    rackId: string.since(11).ignorable,
    // Ours: the fetch of this session and epoch is to be answered now, for the follower has news.
    wake: struct({ sessionId: int32.default(0), sessionEpoch: int32.default(0) })
      .since(12)
      .tag(10_002).ignorable,
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
