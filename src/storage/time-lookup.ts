import { letGoBlocks } from '../base/blocks.ts'
import {
  batchBytes,
  isControl,
  lastOffset,
  maxTimestamp,
  partitionLeaderEpoch,
  recordCount,
} from '../protocol/batch/header.ts'
import { recordsOf } from '../protocol/batch/records.ts'
import { readFromFiles } from './log-reader.ts'
import type { LogState } from './log-state.ts'
import type { Segment } from './segment.ts'
import { newestOf, timeEntryFor } from './segment-index.ts'
import type { ReadResult } from './tail.ts'

export interface TimestampedOffset {
  readonly offset: number
  readonly timestampMs: number
  readonly leaderEpoch: number
}

const LOOKUP_READ_BYTES = 1024 ** 2
/** As a rule the first batch has the record that is looked for. */
const RECORD_READ_BYTES = 1

/**
 * The first record at or beyond the log start, below `limitOffset`, whose timestamp is at least `timestampMs`; exact to
 * the record. Null when there is none (reliability H18).
 */
export async function findByTimestamp(
  state: LogState,
  timestampMs: number,
  limitOffset: number,
): Promise<TimestampedOffset | null> {
  for (let i = Math.max(state.segmentIndexOf(state.logStartOffset), 0); i < state.segments.length; i++) {
    const segment = state.segments[i] as Segment
    if (segment.bytes === 0 || (await newestOf(state, segment)).timestampMs < timestampMs) continue
    // Everything up to the entry is older than what is looked for.
    const entry = await timeEntryFor(state, segment, timestampMs - 1)
    const from = Math.max(entry === null ? segment.baseOffset : entry.offset, state.logStartOffset)
    const to = Math.min(state.segmentLimit(i), limitOffset)
    const found = await firstRecord(state, { from, to }, (recordMs) => recordMs >= timestampMs)
    if (found !== null) return found
  }
  return null
}

/** The first record at or after `offset` and below `limitOffset`; null when there is none. Markers of transactions are none. */
export async function recordAt(
  state: LogState,
  offset: number,
  limitOffset: number,
): Promise<TimestampedOffset | null> {
  const startOffset = Math.max(offset, state.logStartOffset)
  for (let from = startOffset; from < limitOffset; ) {
    const result = await read(state, from, limitOffset, RECORD_READ_BYTES)
    const found = firstFrom(result.buffers, startOffset)
    letGoBlocks(result.buffers)
    if (found !== null || result.bytes === 0) return found
    from = result.endOffset
  }
  return null
}

function firstFrom(buffers: readonly Buffer[], startOffset: number): TimestampedOffset | null {
  for (const buffer of buffers) {
    for (let at = 0; at < buffer.length; at += batchBytes(buffer, at)) {
      if (isControl(buffer, at) || recordCount(buffer, at) === 0 || lastOffset(buffer, at) < startOffset) continue
      for (const { offset, timestampMs } of recordsOf(buffer, at)) {
        if (offset >= startOffset) return { offset, timestampMs, leaderEpoch: partitionLeaderEpoch(buffer, at) }
      }
    }
  }
  return null
}

/** The first record with the largest timestamp of the log, or null when it is empty or has no timestamps. */
export async function findMaxTimestamp(state: LogState): Promise<TimestampedOffset | null> {
  let largest = -1
  for (const segment of [...state.segments]) {
    const isWhole = segment.baseOffset >= state.logStartOffset
    largest = Math.max(
      largest,
      isWhole ? (await newestOf(state, segment)).timestampMs : await newestFromStart(state, segment),
    )
  }
  const found = largest < 0 ? null : await findByTimestamp(state, largest, state.endOffset)
  if (found !== null || largest < 0) return found
  // An index of Kafka's may name the time of a batch that compaction has emptied.
  largest = -1
  for (const segment of [...state.segments]) largest = Math.max(largest, await newestFromStart(state, segment))
  return largest < 0 ? null : findByTimestamp(state, largest, state.endOffset)
}

/** Of a segment's records; what lies before the log's start does not count. */
async function newestFromStart(state: LogState, segment: Segment): Promise<number> {
  const to = state.segmentLimit(state.segments.indexOf(segment))
  const from = Math.max(segment.baseOffset, state.logStartOffset)
  let largest = -1
  await firstRecord(state, { from, to }, (timestampMs, isRecord) => {
    if (isRecord) largest = Math.max(largest, timestampMs)
    return !isRecord && timestampMs > largest
  })
  return largest
}

/** Whether a batch can be left out follows from its largest timestamp, which `accepts` is asked about first. */
async function firstRecord(
  state: LogState,
  { from, to }: { from: number; to: number },
  accepts: (timestampMs: number, isRecord: boolean) => boolean,
): Promise<TimestampedOffset | null> {
  for (let offset = from; offset < to; ) {
    const result = await read(state, offset, to)
    const found = firstIn(result.buffers, state.logStartOffset, accepts)
    letGoBlocks(result.buffers)
    if (found !== null || result.bytes === 0) return found
    offset = result.endOffset
  }
  return null
}

function firstIn(
  buffers: readonly Buffer[],
  startOffset: number,
  accepts: (timestampMs: number, isRecord: boolean) => boolean,
): TimestampedOffset | null {
  for (const buffer of buffers) {
    for (let at = 0; at < buffer.length; at += batchBytes(buffer, at)) {
      if (!accepts(maxTimestamp(buffer, at), false)) continue
      for (const { offset, timestampMs } of recordsOf(buffer, at)) {
        if (offset < startOffset || !accepts(timestampMs, true)) continue
        return { offset, timestampMs, leaderEpoch: partitionLeaderEpoch(buffer, at) }
      }
    }
  }
  return null
}

function read(
  state: LogState,
  offset: number,
  limitOffset: number,
  maxBytes = LOOKUP_READ_BYTES,
): ReadResult | Promise<ReadResult> {
  const limits = { maxBytes, limitOffset, atLeastOneBatch: true }
  return offset >= state.tail.startOffset ? state.tail.read(offset, limits) : readFromFiles(state, offset, limits)
}
