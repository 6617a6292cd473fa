import { ByteReader, MalformedError } from '../../base/bytes.ts'
import type { RecordHeader } from './build.ts'
import { decompress } from './codecs.ts'
import { RecordCursor } from './cursor.ts'
import {
  BATCH_HEADER_BYTES,
  baseOffset,
  baseTimestamp,
  batchBytes,
  checkBatchBounds,
  codecNumber,
  codecOf,
  isLogAppendTime,
  maxTimestamp,
  recordCount,
} from './header.ts'

/** No batch of ours is decompressed to more than this unless the caller says so. */
export const DECOMPRESSED_BYTES_MAX = 128 * 1024 * 1024

export interface BatchRecord {
  readonly offset: number
  readonly timestampMs: number
  /** Views of the batch or of its decompressed section. */
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly RecordHeader[]
}

/** The records section of the batch at `at`, decompressed. Its bounds must have been checked. */
export function recordsSection(buffer: Buffer, at: number, maxBytes = DECOMPRESSED_BYTES_MAX): Buffer {
  const codec = codecOf(buffer, at)
  if (codec === null) throw new MalformedError(`record batch: codec ${codecNumber(buffer, at)} is not known`)
  return decompress(codec, buffer.subarray(at + BATCH_HEADER_BYTES, at + batchBytes(buffer, at)), maxBytes)
}

/** A cursor over the records of the batch at `at`. Its bounds must have been checked. */
export function openRecords(buffer: Buffer, at: number, maxBytes = DECOMPRESSED_BYTES_MAX): RecordCursor {
  const count = recordCount(buffer, at)
  if (count < 0) throw new MalformedError(`record batch: ${count} records claimed`)
  const section = recordsSection(buffer, at, maxBytes)
  return new RecordCursor(section, { start: 0, end: section.length, count })
}

/**
 * The records of the batch at `at`, one object each: not for the broker's hot path. Throws `MalformedError` on the way
 * when the section is broken. The bounds must have been checked.
 */
export function* recordsOf(buffer: Buffer, at = 0, maxBytes = DECOMPRESSED_BYTES_MAX): Generator<BatchRecord, void> {
  const cursor = openRecords(buffer, at, maxBytes)
  const firstOffset = baseOffset(buffer, at)
  const firstTimestamp = baseTimestamp(buffer, at)
  const appendTime = isLogAppendTime(buffer, at) ? maxTimestamp(buffer, at) : null
  while (cursor.next()) {
    yield {
      offset: firstOffset + cursor.offsetDelta,
      timestampMs: appendTime ?? firstTimestamp + cursor.timestampDelta,
      key: cursor.key(),
      value: cursor.value(),
      headers: cursor.headerCount === 0 ? NO_HEADERS : headersOf(cursor),
    }
  }
}

/** Of records without any. */
export const NO_HEADERS: readonly RecordHeader[] = []

/** The headers of the cursor's current record. */
export function headersOf(cursor: RecordCursor): RecordHeader[] {
  const reader = new ByteReader(cursor.section, cursor.headersStart, cursor.recordEnd)
  const headers: RecordHeader[] = []
  for (let index = 0; index < cursor.headerCount; index++) {
    const key = reader.utf8(reader.varint())
    const valueLength = reader.varint()
    headers.push({ key, value: valueLength < 0 ? null : reader.bytes(valueLength) })
  }
  return headers
}

/**
 * Positions of the batches in `buffer`, one after the other, bounds checked. With `allowCut` the last one may be
 * incomplete and is left out, as a Fetch answer of an older broker may end.
 */
export function* batchesOf(buffer: Buffer, { allowCut = false } = {}): Generator<number, void> {
  let at = 0
  while (at < buffer.length) {
    if (allowCut && isCut(buffer, at)) return
    const bytes = checkBatchBounds(buffer, at, buffer.length)
    yield at
    at += bytes
  }
}

function isCut(buffer: Buffer, at: number): boolean {
  const left = buffer.length - at
  if (left < BATCH_HEADER_BYTES) return true
  return batchBytes(buffer, at) > left
}
