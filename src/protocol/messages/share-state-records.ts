import { CoordinatorRecordCodec, type CoordinatorRecordInput, type CoordinatorRecordOf } from '../message-codec.ts'
import { array, coordinatorRecord, int16, int32, int64, int8, string, struct, uuid } from '../schema.ts'

const stateBatch = struct({
  firstOffset: int64,
  lastOffset: int64,
  deliveryState: int8,
  deliveryCount: int16,
})

/** The whole state of a share partition (KIP-932); what came before in the log is covered by it. */
export const ShareSnapshotRecord = coordinatorRecord({
  id: 0,
  name: 'ShareSnapshot',
  key: struct({ groupId: string, topicId: uuid, partition: int32 }),
  versions: [0, 0],
  flexible: 0,
  value: struct({
    snapshotEpoch: int32,
    stateEpoch: int32,
    leaderEpoch: int32,
    startOffset: int64,
    deliveryCompleteCount: int32.default(-1).tag(0),
    createTimestamp: int64,
    writeTimestamp: int64,
    stateBatches: array(stateBatch),
  }),
})

/** What changed in a share partition since its last snapshot (KIP-932). */
export const ShareUpdateRecord = coordinatorRecord({
  id: 1,
  name: 'ShareUpdate',
  key: struct({ groupId: string, topicId: uuid, partition: int32 }),
  versions: [0, 0],
  flexible: 0,
  value: struct({
    snapshotEpoch: int32,
    leaderEpoch: int32,
    startOffset: int64,
    deliveryCompleteCount: int32.default(-1).tag(0),
    stateBatches: array(stateBatch),
  }),
})

/** Every record of `__share_group_state`. */
export const shareStateRecords = {
  ShareSnapshot: ShareSnapshotRecord,
  ShareUpdate: ShareUpdateRecord,
} as const

export type ShareStateRecord = CoordinatorRecordOf<typeof shareStateRecords>
export type ShareStateRecordInput = CoordinatorRecordInput<typeof shareStateRecords>

const codec = new CoordinatorRecordCodec(shareStateRecords)

/** Key and value of a record in `__share_group_state`. `version` is the value's. */
export function encodeShareStateRecord(
  record: ShareStateRecordInput,
  version: number,
): { readonly key: Buffer; readonly value: Buffer | null } {
  return codec.encode(record, version)
}

/** Null for a kind of record that we do not know. */
export function decodeShareStateRecord(key: Buffer, value: Buffer | null): ShareStateRecord | null {
  return codec.decode(key, value)
}
