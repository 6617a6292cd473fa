import { bug } from '../base/assert.ts'
import { DiskError, isOutOfSpace } from '../env/disk.ts'
import type { TopicId, TopicPartition } from '../model/ids.ts'
import { NO_TIMESTAMP } from '../protocol/batch/header.ts'
import { abortedBetween } from './aborted-lookup.ts'
import type { LogConfig } from './config.ts'
import { flushDerived, makeIndexFiles, takeSnapshot } from './derived-files.ts'
import { CorruptLogError, OffsetOutOfRangeError } from './errors.ts'
import { type AppendResult, LogAppender } from './log-appender.ts'
import type { LeaderEpochs } from './leader-epochs.ts'
import { readFromFiles } from './log-reader.ts'
import { type LogOutlook, outlookOf, timeLeft } from './log-outlook.ts'
import { advanceStartOffset, applyRetention, type RetentionInput } from './log-retention.ts'
import type { AppendRefusal, LogParts, LogState } from './log-state.ts'
import { truncateFully, truncateTo } from './log-truncation.ts'
import { LogWriter } from './log-writer.ts'
import type { ProducerStates, Refusal } from './producer-states.ts'
import type { RetentionTime } from './retention-clock.ts'
import type { Segment } from './segment.ts'
import type { ReadLimits, ReadResult } from './tail.ts'
import type { AbortedTransaction } from './txn-index.ts'
import { findByTimestamp, findMaxTimestamp, recordAt, type TimestampedOffset } from './time-lookup.ts'

export interface LogListener {
  /** `writtenOffset` or `durableOffset` has grown. */
  progressed(log: PartitionLog): void
  /** Retention, or DeleteRecords, has moved `logStartOffset`. */
  startMoved?(log: PartitionLog): void
  /** A round of retention is over. */
  retained?(log: PartitionLog, outlook: LogOutlook): void
  /** Latched: nothing more is acknowledged. Called once. */
  failed(log: PartitionLog, error: Error): void
}

export type ProducerCheck = { readonly kind: 'append' } | ({ readonly kind: 'duplicate' } & AppendResult) | Refusal

/**
 * One replica of one partition on this node. Opened by `LogManager`, closed by it. Appends are synchronous; see the
 * folder's README for the three positions and for what may fail when.
 */
export class PartitionLog {
  readonly #state: LogState
  readonly #writer: LogWriter
  readonly #appender: LogAppender
  /** Set by the owner; hears of progress from later events only, never from within its own call. */
  listener: LogListener | null = null

  /** The state is recovered. */
  constructor(state: LogState) {
    this.#state = state
    this.#writer = new LogWriter(state)
    this.#appender = new LogAppender(state)
    state.parts = new Signals(this, this.#writer)
  }

  get topicPartition(): TopicPartition {
    return this.#state.topicPartition
  }

  get topicId(): TopicId {
    return this.#state.topicId
  }

  get config(): LogConfig {
    return this.#state.config
  }

  /** Takes effect with the next append, sync and retention. */
  set config(config: LogConfig) {
    this.#state.config = config
    if (config.durabilityMode === 'fsync') this.#writer.syncSoon()
    this.#state.context.mayCompact(this.#state)
  }

  get logStartOffset(): number {
    return this.#state.logStartOffset
  }

  get endOffset(): number {
    return this.#state.endOffset
  }

  get writtenOffset(): number {
    return this.#state.writtenOffset
  }

  get durableOffset(): number {
    return this.#state.durableOffset
  }

  /** Why nothing can be appended now, or null. */
  get refusal(): AppendRefusal | null {
    return this.#state.refusal
  }

  get isWritable(): boolean {
    return this.#state.refusal === null
  }

  get failure(): Error | null {
    return this.#state.failure
  }

  /** All before it is durable, and read from files, not from memory. */
  get onDiskOffset(): number {
    return Math.min(this.#state.tail.startOffset, this.#state.durableOffset)
  }

  /** Appended and not in the file yet. Whoever appends bounds it. */
  get unwrittenBytes(): number {
    return this.#state.tail.unwrittenBytes
  }

  get bytes(): number {
    return this.#state.bytes
  }

  get segmentCount(): number {
    return this.#state.segments.length
  }

  /**
   * Whether what is in the file also stays in memory for a while. Nobody reads the newest records of a follower: their
   * memory is better used for the next ones.
   */
  set keepsTail(keeps: boolean) {
    this.#state.keepsTail = keeps
  }

  get epochs(): LeaderEpochs {
    return this.#state.epochs
  }

  get producers(): ProducerStates {
    return this.#state.producers
  }

  /**
   * Appends one validated batch: stamps offset and epoch (and, by the topic's config, the time) into it, and takes it
   * over; the caller must not change it any more. Throws `LogNotWritableError` while `isWritable` is false.
   */
  appendAsLeader(batch: Buffer, stamp: { leaderEpoch: number; wallMs: number }): AppendResult {
    return this.#appender.appendAsLeader(batch, stamp)
  }

  /**
   * Appends whole batches as a leader sent them, offsets and epochs kept, and takes them over. CRCs are verified first
   * (reliability S4). Throws `MalformedError`, having appended nothing, for anything that is not a row of good batches
   * at or beyond the end of the log.
   */
  appendAsFollower(batches: Buffer): void {
    this.#appender.appendAsFollower(batches)
  }

  /** Whether a leader may append this validated batch of a client, or has it already. */
  checkProducer(batch: Buffer): ProducerCheck {
    const verdict = this.#state.producers.check(batch, 0)
    if (verdict.kind !== 'duplicate') return verdict
    const { lastOffset, offsetDelta, timestampMs } = verdict.batch
    const isAppendTime = this.#state.config.timestampType === 'LogAppendTime'
    return {
      kind: 'duplicate',
      baseOffset: lastOffset - offsetDelta,
      lastOffset,
      logAppendTimeMs: isAppendTime ? timestampMs : NO_TIMESTAMP,
    }
  }

  /**
   * Whole batches from the one that holds `offset`. A value, at once and by reference, when they are in the tail; else a
   * promise that reads the file. The offset must lie in [logStartOffset, endOffset]: `OffsetOutOfRangeError` otherwise.
   */
  read(offset: number, limits: ReadLimits): ReadResult | Promise<ReadResult> {
    const state = this.#state
    if (offset < state.logStartOffset || offset > state.endOffset) {
      throw new OffsetOutOfRangeError(offset, state.logStartOffset, state.endOffset)
    }
    if (offset >= state.tail.startOffset || offset >= limits.limitOffset) {
      return offset >= limits.limitOffset ? emptyRead(offset) : state.tail.read(offset, limits)
    }
    return this.#watch(() => readFromFiles(state, offset, limits))
  }

  /**
   * Damage that a reader meets is damage of the replica (reliability S3). When segments were cut, deleted or compacted
   * under the reader, what it met means nothing, and it looks again.
   */
  async #watch<T>(look: () => Promise<T>): Promise<T> {
    const state = this.#state
    for (;;) {
      if (state.isReplacing) await state.untilInPlace()
      const { generation } = state
      try {
        return await look()
      } catch (error) {
        const isStale = !state.isStill(generation) || state.isTruncating
        if (isStale && isMissingOrDamaged(error)) {
          await state.exclusively(() => Promise.resolve())
          continue
        }
        if (error instanceof CorruptLogError) state.fail(error)
        throw error
      }
    }
  }

  /** The same for what goes from segment to segment: it also begins anew when it has met some of two generations. */
  async #lookUp<T>(look: () => Promise<T>): Promise<T> {
    for (;;) {
      const { generation } = this.#state
      const found = await this.#watch(look)
      if (this.#state.isStill(generation)) return found
    }
  }

  /** The first record below `limitOffset` (default: the end) with at least this timestamp, exactly, or null. */
  findByTimestamp(
    timestampMs: number,
    { limitOffset }: { limitOffset?: number } = {},
  ): Promise<TimestampedOffset | null> {
    return this.#lookUp(() => findByTimestamp(this.#state, timestampMs, limitOffset ?? this.#state.endOffset))
  }

  /** The first record at or after `offset` and below `limitOffset`; null when there is none. Markers of transactions are none. */
  recordAt(offset: number, limitOffset: number): Promise<TimestampedOffset | null> {
    return this.#lookUp(() => recordAt(this.#state, offset, limitOffset))
  }

  /** The first record with the largest timestamp, or null. */
  maxTimestamp(): Promise<TimestampedOffset | null> {
    return this.#lookUp(() => findMaxTimestamp(this.#state))
  }

  /** This node leads from `endOffset` on, with this epoch. */
  assignLeaderEpoch(leaderEpoch: number): void {
    const state = this.#state
    if (!state.epochs.assign(leaderEpoch, state.endOffset)) return
    // The next snapshot must be taken though no record was added.
    state.snapshotOffset = -1
    state.areEpochsDirty = true
    state.context.changed(state)
  }

  /** Where read_committed readers must stop. */
  lastStableOffset(highWatermark: number): number {
    return this.#state.producers.lastStableOffset(highWatermark)
  }

  /** Aborted transactions that a reader of [from, to) must know of, by their first offset. */
  abortedTransactions(from: number, to: number): Promise<AbortedTransaction[]> {
    return this.#lookUp(() => abortedBetween(this.#state, from, to))
  }

  /** DeleteRecords: nothing before `offset` is read any more. Durable when it resolves; files go when they can. */
  advanceStartOffset(offset: number): Promise<void> {
    if (!(offset <= this.#state.endOffset)) bug(`start offset ${offset} beyond the end ${this.#state.endOffset}`)
    return this.#state.exclusively(async () => {
      // A truncation may have been under way.
      if (offset <= this.#state.endOffset) await advanceStartOffset(this.#state, offset)
    })
  }

  /** Deletes segments by the topic's retention, never at or beyond the high watermark. */
  applyRetention(input: RetentionInput): Promise<void> {
    const state = this.#state
    state.producers.forgetEnded(input.highWatermark)
    state.producers.expire(input.wallMs, state.config.producerIdExpirationMs)
    const mayRoll = () => this.#appender.roll(state.endOffset)
    return this.#watch(() => state.exclusively(() => applyRetention(state, input, mayRoll)))
  }

  /** Tells the listener what the next rounds of retention will take; `roundMs` lie between two of them. */
  async lookAhead(time: RetentionTime, roundMs: number, highWatermark: number): Promise<void> {
    const state = this.#state
    if (this.listener?.retained === undefined || state.failure !== null || state.isClosed) return
    const outlook = await this.#lookUp(() => outlookOf(state, { time, roundMs, highWatermark }))
    this.listener?.retained?.(this, outlook)
  }

  /** How long retention leaves the record at `offset`; Infinity: for ever. */
  timeLeft(offset: number, time: RetentionTime): Promise<number> {
    return this.#lookUp(() => timeLeft(this.#state, offset, time))
  }

  /**
   * Drops everything that reaches `offset`: a follower's log is made equal to the leader's. Nothing may be appended
   * until it resolves; `endOffset` is then at most `offset`.
   */
  truncateTo(offset: number): Promise<void> {
    return this.#rearrange(offset, () => truncateTo(this.#state, this.#writer, offset))
  }

  /** Drops everything; the log is empty and goes on at `offset`. */
  truncateFullyAndStartAt(offset: number): Promise<void> {
    return this.#rearrange(0, () => truncateFully(this.#state, this.#writer, offset))
  }

  /** No room for the checkpoint, before anything was done: to be tried again. An error half way leaves a log that nobody may use in this process: the next start sorts it out. */
  async #rearrange(offset: number, action: () => Promise<void>): Promise<void> {
    const state = this.#state
    await state.exclusively(async () => {
      if (state.failure !== null) throw state.failure
      state.isTruncating = true
      state.isUntouched = true
      state.truncations++
      try {
        // The batch that holds the offset goes as a whole.
        await state.context.uncleanFrom(state, state.segments[state.segmentIndexOf(offset)]?.baseOffset ?? 0)
        await action()
      } catch (error) {
        const isUntouched = state.isUntouched && isOutOfSpace(error)
        if (!isUntouched) state.fail(error as Error)
        throw error
      } finally {
        state.isTruncating = false
      }
    })
  }

  /** Resolves when all that was appended by now is durable; rejects when the log fails. */
  flush(): Promise<void> {
    return this.#writer.flush()
  }

  /** Flushes, writes what is derived, and lets go of everything. The log takes nothing more. */
  async close(): Promise<void> {
    const state = this.#state
    if (state.isClosed) return
    state.isClosed = true
    await state.exclusively(() => this.#close())
  }

  async #close(): Promise<void> {
    const state = this.#state
    try {
      await this.#writer.flushToClose()
      state.active.noteTime()
      if (state.bytes > 0) takeSnapshot(state)
      await state.derivedFlush
      await flushDerived(state)
      await makeIndexFiles(state)
    } finally {
      await this.#writer.close()
      state.context.tails.reset(state.tail, state.endOffset)
    }
  }

  /** The partition is being removed: nothing is flushed, those who wait are told. */
  async abandon(): Promise<void> {
    const state = this.#state
    if (state.isClosed) return
    state.isClosed = true
    await this.#writer.close()
    await state.derivedFlush
    for (const segment of state.segments) this.#dropFiles(segment)
    state.context.tails.reset(state.tail, state.endOffset)
  }

  #dropFiles(segment: Segment): void {
    const { context } = this.#state
    context.files.drop(this.#state.path(segment, 'log'))
    context.indexes.drop(this.#state.path(segment, 'index'))
    context.indexes.drop(this.#state.path(segment, 'timeindex'))
  }

  /** One line. */
  dump(): string {
    const { topicPartition, logStartOffset, endOffset, writtenOffset, durableOffset, segments, bytes } = this.#state
    return (
      `${topicPartition.topic}-${topicPartition.partition} start=${logStartOffset} durable=${durableOffset} ` +
      `written=${writtenOffset} end=${endOffset} segments=${segments.length} bytes=${bytes} epoch=${this.epochs.latest}`
    )
  }
}

/** Carries what happens inside a log to its writer and its listener. One object, for there are many idle logs. */
class Signals implements LogParts {
  readonly #log: PartitionLog
  readonly #writer: LogWriter

  constructor(log: PartitionLog, writer: LogWriter) {
    this.#log = log
    this.#writer = writer
  }

  appended(): void {
    this.#writer.kick()
  }

  progressed(): void {
    this.#log.listener?.progressed(this.#log)
  }

  startMoved(): void {
    this.#log.listener?.startMoved?.(this.#log)
  }

  failed(error: Error): void {
    this.#writer.failed(error)
    this.#log.listener?.failed(this.#log, error)
  }

  syncSoon(): void {
    this.#writer.syncSoon()
  }
}

function isMissingOrDamaged(error: unknown): boolean {
  return error instanceof CorruptLogError || (error instanceof DiskError && error.code === 'ENOENT')
}

function emptyRead(offset: number): ReadResult {
  return { buffers: [], bytes: 0, startOffset: offset, endOffset: offset }
}
