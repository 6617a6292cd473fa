import { assert } from '../base/assert.ts'
import { lastOffset, maxTimestamp, NO_TIMESTAMP, recordCount } from '../protocol/batch/header.ts'
import type { LogConfig } from './config.ts'
import { NO_TIME, OFFSET_ENTRY_BYTES, type OffsetEntry, TIME_ENTRY_BYTES, type TimeEntry } from './index-format.ts'
import type { FileLease } from './open-files.ts'
import type { AbortedTransaction } from './txn-index.ts'

/** Relative offsets of the indexes are int32. */
const OFFSET_DELTA_MAX = 0x7fffffff
/** Positions in the index are int32. */
const SEGMENT_BYTES_MAX = 0x7fffffff

/** Shared by all that are empty, so that an idle log costs little; frozen, so that nothing is added to it. */
const NONE: never[] = Object.freeze([]) as unknown as never[]

/** Index entries at or beyond this are not from the present life of the log. */
export interface IndexEnd {
  readonly position: number
  readonly offset: number
}

/**
 * One `.log` file and its indexes. Only the last segment of a log grows; positions are given out when a batch is
 * appended, so `bytes` runs ahead of what is in the file. Index entries wait in memory until they are written.
 */
export class Segment {
  readonly baseOffset: number
  /** Appended, in the file, synced. */
  bytes = 0
  writtenBytes = 0
  syncedBytes = 0
  /** Largest timestamp and the last offset of the first batch that has it; -1: none. Null: not looked up yet. */
  newest: TimeEntry | null = NO_TIME
  /** Of the first batch; the age of the segment counts from it. Null while unknown. */
  firstTimestampMs: number | null = null
  createdMs: number
  /** Taken off segmentMs, so that the segments of many partitions are not all rolled at once. */
  jitterMs = 0
  /** Of the indexes: entries already in the files, and those that wait. */
  offsetEntriesInFile = 0
  timeEntriesInFile = 0
  pendingOffsets: OffsetEntry[] = NONE
  pendingTimes: TimeEntry[] = NONE
  /** What the index files hold is known by the counts above; else (closed before this start) by the files alone. */
  areIndexesKnown = true
  /** After a start: where new entries began. How many of the files' entries lie before is not known yet. */
  unsettled: IndexEnd | null = null
  bytesSinceEntry = 0
  /** Ended by an abort marker in this segment. Null: not read yet. */
  aborted: AbortedTransaction[] | null = NONE
  abortedInFile = 0
  /** Held by the writer while something is not synced: the error of a sync must not get lost with a descriptor. */
  lease: FileLease | null = null
  #lastTimeEntryMs = -1

  constructor(baseOffset: number, createdMs: number) {
    this.baseOffset = baseOffset
    this.createdMs = createdMs
  }

  get isSynced(): boolean {
    return this.syncedBytes === this.bytes
  }

  /** Whether the batch at `at` must begin a new segment. */
  mustRollFor(buffer: Buffer, at: number, batchBytes: number, config: LogConfig, nowMs: number): boolean {
    if (this.bytes === 0) return false
    const bytes = this.bytes + batchBytes
    if (bytes > config.segmentBytes || bytes > SEGMENT_BYTES_MAX) return true
    if (lastOffset(buffer, at) - this.baseOffset > OFFSET_DELTA_MAX || this.#isIndexFull(config)) return true
    return this.#ageMs(maxTimestamp(buffer, at), nowMs) > config.segmentMs - Math.min(this.jitterMs, config.segmentMs)
  }

  #ageMs(timestampMs: number, nowMs: number): number {
    if (this.firstTimestampMs !== null && this.firstTimestampMs >= 0 && timestampMs >= 0) {
      return timestampMs - this.firstTimestampMs
    }
    return nowMs - this.createdMs
  }

  #isIndexFull({ segmentIndexBytes }: LogConfig): boolean {
    const offsets = this.offsetEntriesInFile + this.pendingOffsets.length
    const times = this.timeEntriesInFile + this.pendingTimes.length
    // One place is kept for the time entry that a rolled segment gets at its end.
    return (offsets + 1) * OFFSET_ENTRY_BYTES > segmentIndexBytes || (times + 2) * TIME_ENTRY_BYTES > segmentIndexBytes
  }

  /** Takes in a batch at the end and gives its position. */
  append(buffer: Buffer, at: number, batchBytes: number, indexIntervalBytes: number): number {
    const position = this.bytes
    this.note(buffer, at, position, batchBytes, indexIntervalBytes)
    this.bytes += batchBytes
    return position
  }

  /** Takes the batch at `position` into the indexes. Called in the order of the file, on append and on a scan. */
  note(buffer: Buffer, at: number, position: number, batchBytes: number, indexIntervalBytes: number): void {
    // One that compaction has emptied still names the time of its newest record, which nobody can look up.
    const timestampMs = recordCount(buffer, at) === 0 ? NO_TIMESTAMP : maxTimestamp(buffer, at)
    const offset = lastOffset(buffer, at)
    this.firstTimestampMs ??= timestampMs
    assert(this.newest !== null, `segment ${this.baseOffset} grows and its newest timestamp is not known`)
    if (timestampMs > this.newest.timestampMs) this.newest = { timestampMs, offset }
    if (this.bytesSinceEntry > indexIntervalBytes) {
      if (this.pendingOffsets === NONE) this.pendingOffsets = []
      this.pendingOffsets.push({ offset, position })
      this.noteTime()
      this.bytesSinceEntry = 0
    }
    this.bytesSinceEntry += batchBytes
  }

  /** A marker in this segment has aborted a transaction. */
  noteAborted(transaction: AbortedTransaction): void {
    if (this.aborted === null) return
    if (this.aborted === NONE) this.aborted = []
    this.aborted.push(transaction)
  }

  /** Adds the time entry for all that the segment holds up to now; the last one of a segment is added when it is rolled. */
  noteTime(): void {
    if (this.newest === null || this.newest.timestampMs <= this.#lastTimeEntryMs) return
    if (this.pendingTimes === NONE) this.pendingTimes = []
    this.pendingTimes.push(this.newest)
    this.#lastTimeEntryMs = this.newest.timestampMs
  }

  /** Goes on after `end`, from what is known of the bytes before; the index files are looked at when needed. */
  resumeAt(end: IndexEnd, known: { newest: TimeEntry; firstTimestampMs: number | null; createdMs: number }): void {
    this.areIndexesKnown = true
    this.unsettled = end
    this.newest = known.newest
    this.#lastTimeEntryMs = -1
    this.firstTimestampMs = known.firstTimestampMs
    this.createdMs = known.createdMs
    this.bytesSinceEntry = 0
    this.pendingOffsets = NONE
    this.pendingTimes = NONE
  }

  /** Nothing is indexed: a scan from the beginning follows. */
  resetIndexes(): void {
    this.resumeAt(
      { position: 0, offset: this.baseOffset },
      { newest: NO_TIME, firstTimestampMs: null, createdMs: this.createdMs },
    )
  }

  /** The index files hold these many entries for the bytes before the end given to `resumeAt`. */
  settle(entries: { offsets: number; times: number; lastTimeMs: number }): void {
    this.offsetEntriesInFile = entries.offsets
    this.timeEntriesInFile = entries.times
    this.unsettled = null
    this.pendingTimes = this.pendingTimes.filter(({ timestampMs }) => timestampMs > entries.lastTimeMs)
    this.#lastTimeEntryMs = Math.max(this.#lastTimeEntryMs, entries.lastTimeMs)
  }

  /** The first `count` waiting entries are in the file. */
  flushedOffsets(count: number): void {
    this.offsetEntriesInFile += count
    this.pendingOffsets = count === this.pendingOffsets.length ? NONE : this.pendingOffsets.slice(count)
  }

  flushedTimes(count: number): void {
    this.timeEntriesInFile += count
    this.pendingTimes = count === this.pendingTimes.length ? NONE : this.pendingTimes.slice(count)
  }

  /** A scan up to `end` has found `fresh`; what was appended since stays. The files are written anew from their beginning. */
  replaceIndexes(fresh: Segment, end: IndexEnd): void {
    this.pendingOffsets = [
      ...fresh.pendingOffsets,
      ...this.pendingOffsets.filter(({ position }) => position >= end.position),
    ]
    const lastMs = fresh.pendingTimes.at(-1)?.timestampMs ?? -1
    const isLater = ({ timestampMs, offset }: TimeEntry) => offset >= end.offset && timestampMs > lastMs
    this.pendingTimes = [...fresh.pendingTimes, ...this.pendingTimes.filter(isLater)]
    this.offsetEntriesInFile = 0
    this.timeEntriesInFile = 0
    this.unsettled = null
    this.#lastTimeEntryMs = this.pendingTimes.at(-1)?.timestampMs ?? -1
  }

  /** The index files of this closed segment were made anew and hold everything. */
  replaced(entries: { offsets: number; times: number }): void {
    this.pendingOffsets = NONE
    this.pendingTimes = NONE
    this.settle({ ...entries, lastTimeMs: this.newest?.timestampMs ?? -1 })
    this.areIndexesKnown = true
  }
}
