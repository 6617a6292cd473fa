import { LogRecordCodec, type LogRecordInput, type LogRecordOf } from '../message-codec.ts'
import { array, bool, bytes, int32, int64, int8, logRecord, string, struct, uuid } from '../schema.ts'

const remoteLogSegmentId = struct({
  topicIdPartition: struct({ name: string, id: uuid, partition: int32 }),
  id: uuid,
})

/** A segment is being copied to the tiered store (KIP-405). */
export const RemoteLogSegmentMetadataRecord = logRecord({
  id: 0,
  name: 'RemoteLogSegmentMetadata',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    remoteLogSegmentId,
    startOffset: int64,
    endOffset: int64,
    brokerId: int32,
    maxTimestampMs: int64,
    eventTimestampMs: int64,
    segmentLeaderEpochs: array(struct({ leaderEpoch: int32, offset: int64 })),
    segmentSizeInBytes: int32,
    customMetadata: bytes.nullable().default(null),
    remoteLogSegmentState: int8,
    txnIndexEmpty: bool.tag(0),
  }),
})

/** A tiered segment changed its state: copied, being deleted, deleted (KIP-405). */
export const RemoteLogSegmentMetadataUpdateRecord = logRecord({
  id: 1,
  name: 'RemoteLogSegmentMetadataUpdate',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    remoteLogSegmentId,
    brokerId: int32,
    eventTimestampMs: int64,
    customMetadata: bytes.nullable().default(null),
    remoteLogSegmentState: int8,
  }),
})

/** The tiered segments of a whole partition are to be deleted, are being deleted, are deleted (KIP-405). */
export const RemotePartitionDeleteMetadataRecord = logRecord({
  id: 2,
  name: 'RemotePartitionDeleteMetadata',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    topicIdPartition: struct({ name: string, id: uuid, partition: int32 }),
    brokerId: int32,
    eventTimestampMs: int64,
    remotePartitionDeleteState: int8,
  }),
})

/** A tiered segment in a snapshot of a partition's remote log metadata (KIP-405). */
export const RemoteLogSegmentMetadataSnapshotRecord = logRecord({
  id: 3,
  name: 'RemoteLogSegmentMetadataSnapshot',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    segmentId: uuid,
    startOffset: int64,
    endOffset: int64,
    brokerId: int32,
    maxTimestampMs: int64,
    eventTimestampMs: int64,
    segmentLeaderEpochs: array(struct({ leaderEpoch: int32, offset: int64 })),
    segmentSizeInBytes: int32,
    customMetadata: bytes.nullable().default(null),
    remoteLogSegmentState: int8,
    txnIndexEmpty: bool.tag(0),
  }),
})

/** Every record of `__remote_log_metadata`. */
export const remoteLogRecords = {
  RemoteLogSegmentMetadata: RemoteLogSegmentMetadataRecord,
  RemoteLogSegmentMetadataUpdate: RemoteLogSegmentMetadataUpdateRecord,
  RemotePartitionDeleteMetadata: RemotePartitionDeleteMetadataRecord,
  RemoteLogSegmentMetadataSnapshot: RemoteLogSegmentMetadataSnapshotRecord,
} as const

export type RemoteLogRecord = LogRecordOf<typeof remoteLogRecords>
export type RemoteLogRecordInput = LogRecordInput<typeof remoteLogRecords>

const codec = new LogRecordCodec(remoteLogRecords, { framed: false })

/** The value of a record in `__remote_log_metadata`; unlike the metadata log's it has no frame version. */
export function encodeRemoteLogRecord(record: RemoteLogRecordInput, version: number): Buffer {
  return codec.encode(record, version)
}

export function decodeRemoteLogRecord(value: Buffer): RemoteLogRecord {
  return codec.decode(value)
}
