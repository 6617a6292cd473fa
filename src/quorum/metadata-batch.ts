import { encodeRecord, type MetadataRecord } from '../metadata/records.ts'
import { MalformedError } from '../base/bytes.ts'
import { buildBatch, type RecordToBuild } from '../protocol/batch/build.ts'
import {
  BATCH_HEADER_BYTES,
  baseOffset,
  baseTimestamp,
  batchBytes,
  isControl,
  lastOffset,
  maxTimestamp,
  partitionLeaderEpoch,
  verifyCrc,
} from '../protocol/batch/header.ts'
import { batchesOf, recordsOf } from '../protocol/batch/records.ts'
import { decodeMetadataRecord } from '../protocol/messages/metadata-records.ts'
import type { PlacedRecord } from '../raft/types.ts'
import { type ControlRecord, decodeControlRecord } from './control-records.ts'

/** Records of one set that would make a larger batch are cut into several, between Begin and EndTransaction. */
export const METADATA_BATCH_BYTES_MAX = 1024 * 1024
/** Room for the header of a record in its batch, generously. */
const RECORD_OVERHEAD_BYTES = 24

/** Encoded records, cut so that each part makes a batch below the limit. A record larger than that has its own. */
export function* encodeParts(
  records: Iterable<MetadataRecord>,
  metadataVersion: number,
  batchBytesMax = METADATA_BATCH_BYTES_MAX,
): IterableIterator<Buffer[]> {
  let part: Buffer[] = []
  let bytes = BATCH_HEADER_BYTES
  for (const record of records) {
    const value = encodeRecord(record, metadataVersion)
    const size = value.length + RECORD_OVERHEAD_BYTES
    if (part.length > 0 && bytes + size > batchBytesMax) {
      yield part
      part = []
      bytes = BATCH_HEADER_BYTES
    }
    part.push(value)
    bytes += size
  }
  if (part.length > 0) yield part
}

export function buildMetadataBatch(
  values: readonly Buffer[],
  stamp: { readonly wallMs: number; readonly baseOffset?: number; readonly leaderEpoch?: number },
): Buffer {
  const { wallMs, ...rest } = stamp
  const records = values.map((value): RecordToBuild => ({ key: null, value, timestampMs: wallMs }))
  return buildBatch({ ...rest, records })
}

/** A batch of the metadata log, or of a snapshot, decoded. */
export interface MetadataBatch {
  readonly baseOffset: number
  readonly lastOffset: number
  readonly leaderEpoch: number
  readonly timestampMs: number
  readonly bytes: number
  /** Records of the one kind or of the other. */
  readonly records: readonly MetadataRecord[]
  readonly controls: readonly ControlRecord[]
}

/** The batches in `buffer`, CRCs verified. Throws `MalformedError`. */
export function* decodeBatches(buffer: Buffer): IterableIterator<MetadataBatch> {
  for (const at of batchesOf(buffer)) {
    if (!verifyCrc(buffer, at))
      throw new MalformedError(`metadata batch at offset ${baseOffset(buffer, at)} fails its CRC`)
    const control = isControl(buffer, at)
    const records: MetadataRecord[] = []
    const controls: ControlRecord[] = []
    for (const { key, value } of recordsOf(buffer, at)) {
      if (control) controls.push(decodeControlRecord(key, value))
      else if (value === null) throw new MalformedError('metadata record without a value')
      else records.push(decodeMetadataRecord(value))
    }
    yield {
      baseOffset: baseOffset(buffer, at),
      lastOffset: lastOffset(buffer, at),
      leaderEpoch: partitionLeaderEpoch(buffer, at),
      timestampMs: Math.max(baseTimestamp(buffer, at), maxTimestamp(buffer, at)),
      bytes: batchBytes(buffer, at),
      records,
      controls,
    }
  }
}

/** The records of the quorum among whole batches, where they lie. Throws `MalformedError`. */
export function quorumRecordsIn(buffer: Buffer): readonly PlacedRecord[] {
  const placed: PlacedRecord[] = []
  for (const at of batchesOf(buffer)) {
    if (!isControl(buffer, at)) continue
    for (const { key, value, offset } of recordsOf(buffer, at)) place(decodeControlRecord(key, value), offset, placed)
  }
  return placed
}

/** The same of a batch that is decoded. */
export function quorumRecordsOf({ controls, baseOffset: first }: MetadataBatch): readonly PlacedRecord[] {
  const placed: PlacedRecord[] = []
  for (const [index, control] of controls.entries()) place(control, first + index, placed)
  return placed
}

function place(record: ControlRecord, offset: number, placed: PlacedRecord[]): void {
  // In snapshots only, and of no meaning for who votes.
  if (record.type !== 'SnapshotHeader' && record.type !== 'SnapshotFooter') placed.push({ offset, record })
}
