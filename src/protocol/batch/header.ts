import { bug } from '../../base/assert.ts'
import { MalformedError, readInt64, writeInt64 } from '../../base/bytes.ts'
import { crc32c } from '../../base/crc32c.ts'

/**
 * The 61-byte header of a record batch, format v2 (KIP-98), read and stamped where it lies. All functions take the
 * buffer and the position `at` where the batch begins; the caller has checked that the header is there
 * (`checkBatchBounds`), so they do no checks of their own beyond the buffer's.
 *
 * ```
 *  0 baseOffset i64      | 16 magic i8          | 35 maxTimestamp i64  | 57 recordCount i32
 *  8 batchLength i32     | 17 crc u32           | 43 producerId i64    | 61 records
 * 12 leaderEpoch i32     | 21 attributes i16    | 51 producerEpoch i16 |
 *                        | 23 lastOffsetDelta i32 | 53 baseSequence i32 |
 *                        | 27 baseTimestamp i64 |                      |
 * ```
 * The CRC covers attributes to the end. Base offset, length, leader epoch and magic lie outside of it, so that a
 * leader can stamp them in place.
 */
export const BATCH_HEADER_BYTES = 61
/** baseOffset and batchLength: what precedes the bytes that batchLength counts. */
export const LOG_OVERHEAD_BYTES = 12
export const MAGIC_V2 = 2

const BATCH_LENGTH = 8
const LEADER_EPOCH = 12
const MAGIC = 16
const CRC = 17
const ATTRIBUTES = 21
const LAST_OFFSET_DELTA = 23
const BASE_TIMESTAMP = 27
const MAX_TIMESTAMP = 35
const PRODUCER_ID = 43
const PRODUCER_EPOCH = 51
const BASE_SEQUENCE = 53
const RECORD_COUNT = 57

export const NO_TIMESTAMP = -1
export const NO_PRODUCER_ID = -1
export const NO_PRODUCER_EPOCH = -1
export const NO_SEQUENCE = -1
export const NO_LEADER_EPOCH = -1

export const CODEC_MASK = 0x07
export const LOG_APPEND_TIME_FLAG = 0x08
export const TRANSACTIONAL_FLAG = 0x10
export const CONTROL_FLAG = 0x20
/** Set by compaction: baseTimestamp then holds the time after which tombstones and markers may go (KIP-534). */
export const DELETE_HORIZON_FLAG = 0x40

export const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
export type Codec = (typeof CODECS)[number]

export function baseOffset(buffer: Buffer, at: number): number {
  return readInt64(buffer, at)
}

/** Of the whole batch, header included. */
export function batchBytes(buffer: Buffer, at: number): number {
  return buffer.readInt32BE(at + BATCH_LENGTH) + LOG_OVERHEAD_BYTES
}

export function partitionLeaderEpoch(buffer: Buffer, at: number): number {
  return buffer.readInt32BE(at + LEADER_EPOCH)
}

export function magic(buffer: Buffer, at: number): number {
  return buffer.readInt8(at + MAGIC)
}

export function crc(buffer: Buffer, at: number): number {
  return buffer.readUInt32BE(at + CRC)
}

export function attributes(buffer: Buffer, at: number): number {
  return buffer.readInt16BE(at + ATTRIBUTES)
}

export function lastOffsetDelta(buffer: Buffer, at: number): number {
  return buffer.readInt32BE(at + LAST_OFFSET_DELTA)
}

/** The offset of the last record the batch ever had; compaction may have removed that record. */
export function lastOffset(buffer: Buffer, at: number): number {
  return readInt64(buffer, at) + buffer.readInt32BE(at + LAST_OFFSET_DELTA)
}

export function baseTimestamp(buffer: Buffer, at: number): number {
  return readInt64(buffer, at + BASE_TIMESTAMP)
}

export function maxTimestamp(buffer: Buffer, at: number): number {
  return readInt64(buffer, at + MAX_TIMESTAMP)
}

export function producerId(buffer: Buffer, at: number): number {
  return readInt64(buffer, at + PRODUCER_ID)
}

export function producerEpoch(buffer: Buffer, at: number): number {
  return buffer.readInt16BE(at + PRODUCER_EPOCH)
}

export function baseSequence(buffer: Buffer, at: number): number {
  return buffer.readInt32BE(at + BASE_SEQUENCE)
}

/** Of the last record; after 2147483647 comes 0. NO_SEQUENCE when the batch has none. */
export function lastSequence(buffer: Buffer, at: number): number {
  const first = baseSequence(buffer, at)
  return first === NO_SEQUENCE ? NO_SEQUENCE : advanceSequence(first, lastOffsetDelta(buffer, at))
}

/** The sequence number `by` records after `sequence`. */
export function advanceSequence(sequence: number, by: number): number {
  return (sequence + by) % 2 ** 31
}

/** Records that are there now: after compaction possibly fewer than lastOffsetDelta + 1. */
export function recordCount(buffer: Buffer, at: number): number {
  return buffer.readInt32BE(at + RECORD_COUNT)
}

export function isControl(buffer: Buffer, at: number): boolean {
  return (buffer.readInt16BE(at + ATTRIBUTES) & CONTROL_FLAG) !== 0
}

export function isTransactional(buffer: Buffer, at: number): boolean {
  return (buffer.readInt16BE(at + ATTRIBUTES) & TRANSACTIONAL_FLAG) !== 0
}

export function isLogAppendTime(buffer: Buffer, at: number): boolean {
  return (buffer.readInt16BE(at + ATTRIBUTES) & LOG_APPEND_TIME_FLAG) !== 0
}

export function hasDeleteHorizon(buffer: Buffer, at: number): boolean {
  return (buffer.readInt16BE(at + ATTRIBUTES) & DELETE_HORIZON_FLAG) !== 0
}

/** 0 to 7; only 0 to 4 are codecs. */
export function codecNumber(buffer: Buffer, at: number): number {
  return buffer.readInt16BE(at + ATTRIBUTES) & CODEC_MASK
}

/** Null for a number that no codec has. */
export function codecOf(buffer: Buffer, at: number): Codec | null {
  return CODECS[codecNumber(buffer, at)] ?? null
}

export interface BatchStamp {
  readonly baseOffset: number
  readonly leaderEpoch: number
}

/** What a leader writes into a batch it accepts. Both lie outside the CRC. */
export function stampBatch(buffer: Buffer, at: number, stamp: BatchStamp): void {
  if (!(Number.isSafeInteger(stamp.baseOffset) && stamp.baseOffset >= 0)) bug(`base offset ${stamp.baseOffset}`)
  writeInt64(buffer, stamp.baseOffset, at)
  buffer.writeInt32BE(stamp.leaderEpoch, at + LEADER_EPOCH)
}

/** Sets the largest timestamp and its type and renews the CRC, which covers both. */
export function stampMaxTimestamp(buffer: Buffer, at: number, timestampMs: number, logAppendTime: boolean): void {
  const old = attributes(buffer, at)
  const next = logAppendTime ? old | LOG_APPEND_TIME_FLAG : old & ~LOG_APPEND_TIME_FLAG
  buffer.writeInt16BE(next, at + ATTRIBUTES)
  writeInt64(buffer, timestampMs, at + MAX_TIMESTAMP)
  stampCrc(buffer, at)
}

export function stampCrc(buffer: Buffer, at: number): void {
  buffer.writeUInt32BE(computeCrc(buffer, at), at + CRC)
}

/** True when the bytes are those the CRC was made of. The bounds must have been checked. */
export function verifyCrc(buffer: Buffer, at: number): boolean {
  return computeCrc(buffer, at) === crc(buffer, at)
}

export function computeCrc(buffer: Buffer, at: number): number {
  return crc32c(buffer.subarray(at + ATTRIBUTES, at + batchBytes(buffer, at)))
}

/**
 * Checks that a whole v2 batch lies at `at`, before `end`, and returns its bytes. Throws `MalformedError` for a length
 * that does not fit or another magic. The CRC is not looked at.
 */
export function checkBatchBounds(buffer: Buffer, at: number, end: number): number {
  if (end - at < BATCH_HEADER_BYTES) {
    throw new MalformedError(`record batch at ${at}: ${end - at} bytes left, a header has ${BATCH_HEADER_BYTES}`)
  }
  const version = magic(buffer, at)
  if (version !== MAGIC_V2) throw new MalformedError(`record batch at ${at}: magic ${version}, only 2 is known`)
  const bytes = batchBytes(buffer, at)
  if (bytes < BATCH_HEADER_BYTES || bytes > end - at) {
    throw new MalformedError(`record batch at ${at}: ${bytes} bytes claimed, ${end - at} left`)
  }
  return bytes
}

export interface BatchHeader {
  readonly baseOffset: number
  readonly lastOffsetDelta: number
  readonly leaderEpoch: number
  readonly attributes: number
  readonly baseTimestampMs: number
  readonly maxTimestampMs: number
  readonly producerId: number
  readonly producerEpoch: number
  readonly baseSequence: number
  readonly recordCount: number
}

/** Writes a header over the first 61 bytes of `batch`, which is one whole batch, and makes its CRC. */
export function writeHeader(batch: Buffer, header: BatchHeader): void {
  writeInt64(batch, header.baseOffset, 0)
  batch.writeInt32BE(batch.length - LOG_OVERHEAD_BYTES, BATCH_LENGTH)
  batch.writeInt32BE(header.leaderEpoch, LEADER_EPOCH)
  batch.writeInt8(MAGIC_V2, MAGIC)
  batch.writeInt16BE(header.attributes, ATTRIBUTES)
  batch.writeInt32BE(header.lastOffsetDelta, LAST_OFFSET_DELTA)
  writeInt64(batch, header.baseTimestampMs, BASE_TIMESTAMP)
  writeInt64(batch, header.maxTimestampMs, MAX_TIMESTAMP)
  writeInt64(batch, header.producerId, PRODUCER_ID)
  batch.writeInt16BE(header.producerEpoch, PRODUCER_EPOCH)
  batch.writeInt32BE(header.baseSequence, BASE_SEQUENCE)
  batch.writeInt32BE(header.recordCount, RECORD_COUNT)
  stampCrc(batch, 0)
}
