import { bug } from '../../base/assert.ts'
import { compress } from './codecs.ts'
import {
  BATCH_HEADER_BYTES,
  type BatchHeader,
  CODECS,
  CONTROL_FLAG,
  type Codec,
  DELETE_HORIZON_FLAG,
  LOG_APPEND_TIME_FLAG,
  NO_LEADER_EPOCH,
  NO_PRODUCER_EPOCH,
  NO_PRODUCER_ID,
  NO_SEQUENCE,
  NO_TIMESTAMP,
  TRANSACTIONAL_FLAG,
  writeHeader,
} from './header.ts'
import { varintSize, writeVarint } from './varint.ts'

export interface RecordHeader {
  readonly key: string
  readonly value: Uint8Array | null
}

export interface RecordToBuild {
  readonly key: Uint8Array | null
  readonly value: Uint8Array | null
  readonly headers?: readonly RecordHeader[]
  /** Wall clock; -1 (none) when left out. */
  readonly timestampMs?: number
  /** Distance from the base offset; the index of the record when left out. Must grow. */
  readonly offsetDelta?: number
}

export interface BatchToBuild {
  readonly records: readonly RecordToBuild[]
  readonly codec?: Codec
  /** Within the codec's own range; its default when left out. */
  readonly compressionLevel?: number
  readonly baseOffset?: number
  readonly leaderEpoch?: number
  readonly producerId?: number
  readonly producerEpoch?: number
  readonly baseSequence?: number
  readonly isTransactional?: boolean
  readonly isControl?: boolean
  /** Of the last record that ever was in the batch, when that one is gone (compaction). */
  readonly lastOffsetDelta?: number
  /** Set by the cleaner (KIP-534); takes the place of the base timestamp. */
  readonly deleteHorizonMs?: number
  /** All records then count as appended at this time. */
  readonly logAppendTimeMs?: number
}

/** One whole v2 batch. Input that cannot be written is a bug of the caller and asserts. */
export function buildBatch(batch: BatchToBuild): Buffer {
  const { records, codec = 'none' } = batch
  const header = batchHeader(batch, factsOf(batch))
  const sizes = records.map((record, index) => recordBodyBytes(record, index, header.baseTimestampMs))
  const sectionBytes = sizes.reduce((sum, size) => sum + varintSize(size) + size, 0)
  const start = codec === 'none' ? BATCH_HEADER_BYTES : 0
  const buffer = Buffer.allocUnsafe(start + sectionBytes)
  let at = start
  for (let index = 0; index < records.length; index++) {
    const record = records[index] as RecordToBuild
    at = writeVarint(buffer, sizes[index] as number, at)
    at = writeRecordBody(buffer, record, index, header.baseTimestampMs, at)
  }
  if (at !== buffer.length) bug(`built ${at} of ${buffer.length} bytes`)
  const whole = codec === 'none' ? buffer : withHeaderSpace(compress(codec, buffer, batch.compressionLevel))
  writeHeader(whole, header)
  return whole
}

/** The record types that a control batch holds. */
export const ControlRecordType = {
  ABORT: 0,
  COMMIT: 1,
  LEADER_CHANGE: 2,
  SNAPSHOT_HEADER: 3,
  SNAPSHOT_FOOTER: 4,
  KRAFT_VERSION: 5,
  KRAFT_VOTERS: 6,
} as const

/** The key of a control record: version 0 and the type (one of `ControlRecordType`). */
export function controlRecordKey(type: number): Buffer {
  const key = Buffer.alloc(4)
  key.writeInt16BE(type, 2)
  return key
}

/** A batch with the same header values and another records section, for a codec change. */
export function withRecordsSection(header: BatchHeader, section: Buffer): Buffer {
  const whole = withHeaderSpace(section)
  writeHeader(whole, header)
  return whole
}

function withHeaderSpace(section: Buffer): Buffer {
  const whole = Buffer.allocUnsafe(BATCH_HEADER_BYTES + section.length)
  whole.set(section, BATCH_HEADER_BYTES)
  return whole
}

/** What the records of a batch are, for its header. */
interface RecordFacts {
  readonly count: number
  readonly lastOffsetDelta: number
  readonly baseTimestampMs: number
  readonly maxTimestampMs: number
}

function factsOf(batch: BatchToBuild): RecordFacts {
  const { records } = batch
  const last = records.length === 0 ? -1 : deltaOf(records[records.length - 1] as RecordToBuild, records.length - 1)
  const lastOffsetDelta = batch.lastOffsetDelta ?? last
  if (!(lastOffsetDelta >= Math.max(last, 0))) bug(`last offset delta ${lastOffsetDelta} of records up to ${last}`)
  let maxTimestampMs = NO_TIMESTAMP
  for (const record of records) maxTimestampMs = Math.max(maxTimestampMs, record.timestampMs ?? NO_TIMESTAMP)
  const baseTimestampMs = batch.deleteHorizonMs ?? records[0]?.timestampMs ?? NO_TIMESTAMP
  return { count: records.length, lastOffsetDelta, baseTimestampMs, maxTimestampMs }
}

/** The header of a batch with such records. */
export function batchHeader(batch: Omit<BatchToBuild, 'records'>, facts: RecordFacts): BatchHeader {
  let attributes = CODECS.indexOf(batch.codec ?? 'none')
  if (batch.logAppendTimeMs !== undefined) attributes |= LOG_APPEND_TIME_FLAG
  if (batch.isTransactional) attributes |= TRANSACTIONAL_FLAG
  if (batch.isControl) attributes |= CONTROL_FLAG
  if (batch.deleteHorizonMs !== undefined) attributes |= DELETE_HORIZON_FLAG
  return {
    baseOffset: batch.baseOffset ?? 0,
    leaderEpoch: batch.leaderEpoch ?? NO_LEADER_EPOCH,
    attributes,
    lastOffsetDelta: facts.lastOffsetDelta,
    baseTimestampMs: facts.baseTimestampMs,
    maxTimestampMs: batch.logAppendTimeMs ?? facts.maxTimestampMs,
    producerId: batch.producerId ?? NO_PRODUCER_ID,
    producerEpoch: batch.producerEpoch ?? NO_PRODUCER_EPOCH,
    baseSequence: batch.baseSequence ?? NO_SEQUENCE,
    recordCount: facts.count,
  }
}

function deltaOf(record: RecordToBuild, index: number): number {
  return record.offsetDelta ?? index
}

/** What `writeRecordBody` will write. */
export function recordBodyBytes(record: RecordToBuild, index: number, baseTimestampMs: number): number {
  let bytes =
    1 +
    varintSize((record.timestampMs ?? NO_TIMESTAMP) - baseTimestampMs) +
    varintSize(deltaOf(record, index)) +
    bytesSize(record.key) +
    bytesSize(record.value) +
    varintSize(record.headers?.length ?? 0)
  if (record.headers === undefined) return bytes
  for (const { key, value } of record.headers) {
    const keyBytes = Buffer.byteLength(key)
    bytes += varintSize(keyBytes) + keyBytes + bytesSize(value)
  }
  return bytes
}

function bytesSize(value: Uint8Array | null): number {
  return value === null ? 1 : varintSize(value.length) + value.length
}

/** A record without its length, at `start`; returns where it ends. */
export function writeRecordBody(
  buffer: Buffer,
  record: RecordToBuild,
  index: number,
  baseTimestampMs: number,
  start: number,
): number {
  buffer[start] = 0 // attributes: none are defined
  let at = writeVarint(buffer, (record.timestampMs ?? NO_TIMESTAMP) - baseTimestampMs, start + 1)
  at = writeVarint(buffer, deltaOf(record, index), at)
  at = writeBytes(buffer, record.key, at)
  at = writeBytes(buffer, record.value, at)
  at = writeVarint(buffer, record.headers?.length ?? 0, at)
  if (record.headers === undefined) return at
  for (const { key, value } of record.headers) {
    at = writeVarint(buffer, Buffer.byteLength(key), at)
    at += buffer.write(key, at)
    at = writeBytes(buffer, value, at)
  }
  return at
}

function writeBytes(buffer: Buffer, value: Uint8Array | null, start: number): number {
  if (value === null) return writeVarint(buffer, -1, start)
  const at = writeVarint(buffer, value.length, start)
  buffer.set(value, at)
  return at + value.length
}
