import { bug } from '../base/assert.ts'
import { readInt64, writeInt64 } from '../base/bytes.ts'

/**
 * The two sparse indexes of a segment. Offset index: relative offset int32 (of a batch's last record), position int32
 * (where that batch begins). Time index: timestamp int64, relative offset int32: no record up to that offset is newer.
 * Both are only hints: whoever uses an entry checks the batch it leads to.
 */
export const OFFSET_ENTRY_BYTES = 8
export const TIME_ENTRY_BYTES = 12

export interface OffsetEntry {
  readonly offset: number
  readonly position: number
}

export interface TimeEntry {
  readonly timestampMs: number
  readonly offset: number
}

/** Of a segment without timestamps. */
export const NO_TIME: TimeEntry = { timestampMs: -1, offset: -1 }

export function encodeOffsetEntries(entries: readonly OffsetEntry[], baseOffset: number): Buffer {
  const buffer = Buffer.allocUnsafe(entries.length * OFFSET_ENTRY_BYTES)
  entries.forEach(({ offset, position }, i) => {
    if (!(offset >= baseOffset)) bug(`index entry ${offset} of segment ${baseOffset}`)
    buffer.writeInt32BE(offset - baseOffset, i * OFFSET_ENTRY_BYTES)
    buffer.writeInt32BE(position, i * OFFSET_ENTRY_BYTES + 4)
  })
  return buffer
}

export function encodeTimeEntries(entries: readonly TimeEntry[], baseOffset: number): Buffer {
  const buffer = Buffer.allocUnsafe(entries.length * TIME_ENTRY_BYTES)
  entries.forEach(({ timestampMs, offset }, i) => {
    if (!(offset >= baseOffset)) bug(`time index entry ${offset} of segment ${baseOffset}`)
    writeInt64(buffer, timestampMs, i * TIME_ENTRY_BYTES)
    buffer.writeInt32BE(offset - baseOffset, i * TIME_ENTRY_BYTES + 8)
  })
  return buffer
}

/** Entry `i` of the file's content. */
export function offsetEntryAt(content: Buffer, i: number, baseOffset: number): OffsetEntry {
  const at = i * OFFSET_ENTRY_BYTES
  return { offset: baseOffset + content.readInt32BE(at), position: content.readInt32BE(at + 4) }
}

export function timeEntryAt(content: Buffer, i: number, baseOffset: number): TimeEntry {
  const at = i * TIME_ENTRY_BYTES
  return { timestampMs: readInt64(content, at), offset: baseOffset + content.readInt32BE(at + 8) }
}

/**
 * How many entries from the front grow and stay inside a log of `logBytes`. A file that Kafka had preallocated ends in
 * zeros, a torn one in anything: what follows the first impossible entry does not count.
 */
export function validOffsetEntries(content: Buffer, logBytes: number): number {
  const count = Math.floor(content.length / OFFSET_ENTRY_BYTES)
  let lastOffset = -1
  let lastPosition = -1
  for (let i = 0; i < count; i++) {
    const offset = content.readInt32BE(i * OFFSET_ENTRY_BYTES)
    const position = content.readInt32BE(i * OFFSET_ENTRY_BYTES + 4)
    if (offset <= lastOffset || position <= lastPosition || position >= logBytes) return i
    lastOffset = offset
    lastPosition = position
  }
  return count
}

/** The same for the time index, of a segment whose last offset is `lastOffset`. */
export function validTimeEntries(content: Buffer, baseOffset: number, lastOffset: number): number {
  const count = Math.floor(content.length / TIME_ENTRY_BYTES)
  let before: TimeEntry = { timestampMs: -1, offset: baseOffset - 1 }
  for (let i = 0; i < count; i++) {
    const entry = timeEntryAt(content, i, baseOffset)
    const grows = entry.timestampMs > before.timestampMs && entry.offset >= before.offset && entry.offset >= baseOffset
    if (!grows || entry.offset > lastOffset || !Number.isSafeInteger(entry.timestampMs)) return i
    before = entry
  }
  return count
}

/** Index of the last entry whose key is at most `target`, or -1. `keyAt` grows. */
export function floorIndex(count: number, target: number, keyAt: (i: number) => number): number {
  let low = 0
  let high = count
  while (low < high) {
    const middle = (low + high) >>> 1
    if (keyAt(middle) <= target) low = middle + 1
    else high = middle
  }
  return low - 1
}
