import { assert, bug } from '../base/assert.ts'
import { MalformedError } from '../base/bytes.ts'
import {
  baseOffset as baseOffsetOf,
  batchBytes,
  checkBatchBounds,
  lastOffset as lastOffsetOf,
  lastOffsetDelta,
  NO_TIMESTAMP,
  partitionLeaderEpoch,
  stampBatch,
  stampMaxTimestamp,
  verifyCrc,
} from '../protocol/batch/header.ts'
import { flushDerived, takeSnapshot } from './derived-files.ts'
import { LogNotWritableError } from './errors.ts'
import { UNDEFINED_EPOCH } from './leader-epochs.ts'
import type { LogState } from './log-state.ts'
import type { Segment } from './segment.ts'
import { takeIn } from './take-in.ts'

export interface AppendResult {
  readonly baseOffset: number
  readonly lastOffset: number
  /** -1 unless the topic's timestamps are those of the append. */
  readonly logAppendTimeMs: number
}

/** Waiting snapshots above which they are written before the next checkpoint. */
const PENDING_SNAPSHOTS_MAX = 8
/** A follower's batches go into the tail in rows of about this size: a read begins with a walk over one. */
const ROW_BYTES_MAX = 64 * 1024

/** Gives batches their place: offset, segment, position. All synchronous; the writer is told that there is something. */
export class LogAppender {
  readonly #state: LogState

  constructor(state: LogState) {
    this.#state = state
  }

  appendAsLeader(batch: Buffer, { leaderEpoch, wallMs }: { leaderEpoch: number; wallMs: number }): AppendResult {
    this.#checkWritable()
    const state = this.#state
    const baseOffset = state.endOffset
    if (!(leaderEpoch >= state.epochs.latest))
      bug(`append with epoch ${leaderEpoch}, the log has ${state.epochs.latest}`)
    const isAppendTime = state.config.timestampType === 'LogAppendTime'
    stampBatch(batch, 0, { baseOffset, leaderEpoch })
    if (isAppendTime) stampMaxTimestamp(batch, 0, wallMs, true)
    const lastOffset = baseOffset + lastOffsetDelta(batch, 0)
    const segment = this.#segmentFor(batch, 0, batch.length, wallMs)
    this.#push(batch, baseOffset, segment, this.#place(batch, 0, batch.length, segment, wallMs))
    this.#state.parts?.appended()
    return { baseOffset, lastOffset, logAppendTimeMs: isAppendTime ? wallMs : NO_TIMESTAMP }
  }

  appendAsFollower(batches: Buffer): void {
    this.#checkWritable()
    this.#checkBatches(batches)
    this.#forgetUnwrittenEpochs(batches)
    const wallMs = this.#state.context.env.clock.wallMs()
    let row: { start: number; baseOffset: number; segment: Segment; position: number } | null = null
    for (let at = 0; at < batches.length; ) {
      const bytes = batchBytes(batches, at)
      const segment = this.#segmentFor(batches, at, bytes, wallMs)
      if (row !== null && (row.segment !== segment || at - row.start >= ROW_BYTES_MAX)) {
        this.#push(batches.subarray(row.start, at), row.baseOffset, row.segment, row.position)
        row = null
      }
      const position = this.#place(batches, at, bytes, segment, wallMs)
      row ??= { start: at, baseOffset: baseOffsetOf(batches, at), segment, position }
      at += bytes
    }
    if (row === null) return
    this.#push(batches.subarray(row.start), row.baseOffset, row.segment, row.position)
    this.#state.parts?.appended()
  }

  #checkWritable(): void {
    const { refusal, isTruncating } = this.#state
    assert(!isTruncating, 'append to a log that is being truncated')
    if (refusal !== null) throw new LogNotWritableError(refusal.message)
  }

  #checkBatches(batches: Buffer): void {
    let nextOffset = this.#state.endOffset
    let leaderEpoch = this.#state.epochs.epochAt(nextOffset - 1)
    for (let at = 0; at < batches.length; ) {
      const bytes = checkBatchBounds(batches, at, batches.length)
      const [first, last] = [baseOffsetOf(batches, at), lastOffsetOf(batches, at)]
      if (first < nextOffset || last < first) {
        throw new MalformedError(`batch [${first}, ${last}] where ${nextOffset} was expected`)
      }
      const epoch = partitionLeaderEpoch(batches, at)
      if (epoch < leaderEpoch && epoch !== UNDEFINED_EPOCH) {
        throw new MalformedError(`batch at offset ${first} of leader epoch ${epoch}, behind one of ${leaderEpoch}`)
      }
      leaderEpoch = Math.max(leaderEpoch, epoch)
      if (!verifyCrc(batches, at)) throw new MalformedError(`batch at offset ${first} with a wrong CRC`)
      nextOffset = last + 1
      at += bytes
    }
  }

  /** Epochs that this log was given, in which nothing was written, and which the leader it follows now does not know. */
  #forgetUnwrittenEpochs(batches: Buffer): void {
    const { epochs, endOffset } = this.#state
    if (batches.length === 0) return
    const epoch = partitionLeaderEpoch(batches, 0)
    if (epoch === UNDEFINED_EPOCH || epoch >= epochs.latest) return
    epochs.truncateFromEnd(endOffset)
    this.#state.areEpochsDirty = true
  }

  /** The active segment, or a new one when the batch must begin one. */
  #segmentFor(buffer: Buffer, at: number, bytes: number, wallMs: number): Segment {
    const { active, config } = this.#state
    return active.mustRollFor(buffer, at, bytes, config, wallMs) ? this.roll(baseOffsetOf(buffer, at)) : active
  }

  /** The batch at `at` is part of the log from here on. Returns its position in the segment. */
  #place(buffer: Buffer, at: number, bytes: number, segment: Segment, wallMs: number): number {
    const state = this.#state
    const position = segment.append(buffer, at, bytes, state.config.indexIntervalBytes)
    takeIn(state, segment, buffer, at, wallMs)
    state.endOffset = lastOffsetOf(buffer, at) + 1
    state.appendedBytes += bytes
    return position
  }

  /** Batches that have their places go into the tail. */
  #push(buffer: Buffer, baseOffset: number, segment: Segment, position: number): void {
    const { tail, context, endOffset } = this.#state
    context.space.appended(buffer.length)
    context.tails.grew(tail, tail.push(buffer, { baseOffset, endOffset }, segment, position))
  }

  /** Begins a new segment at `baseOffset`. */
  roll(baseOffset: number): Segment {
    const state = this.#state
    state.active.noteTime()
    state.unsyncedIndexes = [...state.unsyncedIndexes, state.active]
    const segment = state.newSegment(baseOffset)
    state.segments.push(segment)
    // A follower's log may have a hole here.
    state.endOffset = baseOffset
    takeSnapshot(state)
    state.context.mayCompact(state)
    if (state.pendingSnapshots.length > PENDING_SNAPSHOTS_MAX) void flushDerived(state)
    return segment
  }
}
