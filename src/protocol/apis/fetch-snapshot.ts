import {
  api,
  array,
  int16,
  int32,
  int64,
  records,
  type RequestOf,
  type ResponseOf,
  string,
  struct,
  uint16,
  uuid,
} from '../schema.ts'

const partition = struct({
  partition: int32,
  currentLeaderEpoch: int32,
  snapshotId: struct({ endOffset: int64, epoch: int32 }),
  position: int64,
  replicaDirectoryId: uuid.since(1).tag(0).ignorable,
})

const partitionResult = struct({
  index: int32,
  errorCode: int16,
  snapshotId: struct({ endOffset: int64, epoch: int32 }),
  currentLeader: struct({ leaderId: int32, leaderEpoch: int32 }).tag(0),
  size: int64,
  position: int64,
  unalignedRecords: records,
})

/** Reads a snapshot of the metadata log in chunks (KIP-630). A chunk is not cut at batches: hence "unaligned". */
export const FetchSnapshot = api({
  key: 59,
  name: 'FetchSnapshot',
  versions: [0, 1],
  flexible: 0,
  listeners: ['controller'],
  request: struct({
    clusterId: string.nullable().default(null).tag(0),
    replicaId: int32.default(-1),
    maxBytes: int32.default(0x7fffffff),
    topics: array(struct({ name: string, partitions: array(partition) })),
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    topics: array(struct({ name: string, partitions: array(partitionResult) })),
    nodeEndpoints: array(struct({ nodeId: int32, host: string, port: uint16 }))
      .since(1)
      .tag(0),
  }),
})
export type FetchSnapshotRequest = RequestOf<typeof FetchSnapshot>
export type FetchSnapshotResponse = ResponseOf<typeof FetchSnapshot>
