import { partitionName, type TopicId, type TopicPartition } from '../model/ids.ts'
import type { LogConfig } from './config.ts'
import type { StorageContext } from './context.ts'
import { type SegmentFileKind, segmentFileName } from './file-names.ts'
import { Lock } from './lock.ts'
import { LeaderEpochs } from './leader-epochs.ts'
import { syncPartitionMetadata } from './partition-metadata.ts'
import { ProducerStates } from './producer-states.ts'
import { Segment } from './segment.ts'
import { Tail } from './tail.ts'

/** Why a log takes no appends. `out-of-space` ends by itself, the others do not. */
export interface AppendRefusal {
  readonly kind: 'out-of-space' | 'failed' | 'closed'
  readonly message: string
}

export interface ReadCursor {
  readonly offset: number
  readonly segment: Segment
  readonly position: number
}

/** What the parts of a log tell each other. */
export interface LogParts {
  /** Something was appended. */
  appended(): void
  /** `writtenOffset` or `durableOffset` has grown. */
  progressed(): void
  /** Records were deleted: the log begins later. */
  startMoved(): void
  /** Once. */
  failed(error: Error): void
  /** In relaxed mode: what is written is to be synced. */
  syncSoon(): void
}

export interface PendingSnapshot {
  readonly offset: number
  readonly content: Buffer
}

const CURSORS_MAX = 4
const NONE: readonly never[] = []

/**
 * What one log knows, shared by its writer, its reader and its owner. durableOffset <= writtenOffset <= endOffset; the
 * segments are in order and never none; the last one grows.
 */
export class LogState {
  readonly context: StorageContext
  readonly topicPartition: TopicPartition
  readonly topicId: TopicId
  config: LogConfig
  segments: Segment[] = []
  tail: Tail
  /** Batches stay in memory for readers when they are in the file. */
  keepsTail = true
  epochs = new LeaderEpochs()
  producers = new ProducerStates()
  logStartOffset = 0
  endOffset = 0
  writtenOffset = 0
  durableOffset = 0
  /** Closed segments whose index files are not synced: a start after a crash must not trust them. Oldest first. */
  unsyncedIndexes: readonly Segment[] = NONE
  /** Keeps the checkpointed recovery point down while the log is about to be truncated. */
  recoveryPointMax = Number.MAX_SAFE_INTEGER
  /** What the checkpoint said last. */
  #recoveryPointTaken = 0
  /** Latched: nothing is acknowledged any more. */
  failure: Error | null = null
  isClosed = false
  /** Offsets and files are being rearranged: an append now would be a bug of the owner. */
  isTruncating = false
  /** The truncation under way has not changed anything yet. */
  isUntouched = true
  /** Truncations so far: what was read before one may be of another life of the log. */
  truncations = 0
  /** A compacted segment is taking the place of others: readers of files wait. */
  isReplacing = false
  /** Names were created or removed in the directory since its last sync. */
  isDirectoryDirty = false
  /** `partition.metadata` and the directory's own name are durable. Not before the first sync of a new log, or after a crash. */
  isIdentityDurable = false
  areEpochsDirty = false
  /** Offset of the newest producer snapshot that was taken, and `appendedBytes` then. */
  snapshotOffset = -1
  snapshotAtBytes = 0
  /** Taken and not written yet. */
  pendingSnapshots: readonly PendingSnapshot[] = NONE
  /** The flush of derived files under way. */
  derivedFlush: Promise<void> | null = null
  /** Bytes appended since the log was opened. */
  appendedBytes = 0
  /** Of them, those that the checkpoints have counted. */
  countedBytes = 0
  /** Changes when offsets or positions known before may be wrong: truncation, removal of segments. */
  generation = 0
  /** Where readers of files stopped: the next read finds its position without an index. Most recent last. */
  cursors: ReadCursor[] | null = null
  /** Truncation, deletion of segments and closing exclude each other. */
  #exclusive: Lock | null = null
  /** Set once by the log's owner. */
  parts: LogParts | null = null
  /** Monotonic time of the first checkpoint that saw the last append, and `appendedBytes` at the last one. */
  idleSinceMs = 0
  appendedAtTick = 0

  constructor(
    context: StorageContext,
    identity: { topicPartition: TopicPartition; topicId: TopicId },
    config: LogConfig,
  ) {
    this.context = context
    this.topicPartition = identity.topicPartition
    this.topicId = identity.topicId
    this.config = config
    this.tail = new Tail(0)
  }

  /** Of the partition. */
  get directory(): string {
    return `${this.context.folder}/${partitionName(this.topicPartition)}`
  }

  get active(): Segment {
    return this.segments[this.segments.length - 1] as Segment
  }

  /** Durable up to here, with the indexes. */
  get recoveryPoint(): number {
    const trusted = this.unsyncedIndexes[0]?.baseOffset ?? Number.MAX_SAFE_INTEGER
    return Math.min(this.durableOffset, this.recoveryPointMax, trusted)
  }

  /**
   * What the checkpoint is to say is durable: never less than it said before, for damage below is then no torn tail, unless
   * the log is about to be truncated. A segment that it ends in, or just at the end of, may lack index entries.
   */
  takeRecoveryPoint(): number {
    this.#recoveryPointTaken = Math.min(Math.max(this.#recoveryPointTaken, this.recoveryPoint), this.recoveryPointMax)
    return this.#recoveryPointTaken
  }

  /** At a start: what the checkpoint says. */
  resumeRecoveryPoint(offset: number): void {
    this.#recoveryPointTaken = offset
  }

  /** Of all segments, with what is on the way to them. */
  get bytes(): number {
    let bytes = 0
    for (const segment of this.segments) bytes += segment.bytes
    return bytes
  }

  get refusal(): AppendRefusal | null {
    if (this.failure !== null) return { kind: 'failed', message: this.failure.message }
    if (this.isClosed) return { kind: 'closed', message: 'the log is closed' }
    const reason = this.context.space.reasonFor(this.config.reserveUse)
    return reason === null ? null : { kind: 'out-of-space', message: reason }
  }

  /** Latches. The listener hears of the first failure only. */
  fail(error: Error): void {
    if (this.failure !== null) return
    this.failure = error
    const { topic, partition } = this.topicPartition
    this.context.env.log.error('A log failed and acknowledges nothing more', {
      topic,
      partition,
      reason: error.message,
    })
    // What was durable is to be known as such at the next start too.
    this.context.changed(this)
    this.parts?.failed(error)
  }

  /** Before the first acknowledgement: a power cut must not take the directory or whose it is. Rejects with `DiskError`. */
  async settleIdentity(): Promise<void> {
    if (this.isIdentityDurable) return
    this.isDirectoryDirty = true
    const { topicId, topicPartition } = this
    const { partition } = topicPartition
    await syncPartitionMetadata(this.context.env.disk, this.directory, { topicId, partition })
    await this.context.syncFolder()
    this.isIdentityDurable = true
  }

  exclusively<T>(action: () => Promise<T>): Promise<T> {
    this.#exclusive ??= new Lock()
    return this.#exclusive.run(action)
  }

  /** Whether files and positions are those of `generation`, and no file is being replaced. */
  isStill(generation: number): boolean {
    return this.generation === generation && !this.isReplacing
  }

  /** Resolves when every file has its place. */
  async untilInPlace(): Promise<void> {
    while (this.isReplacing) await this.exclusively(() => Promise.resolve())
  }

  path(segment: Segment, kind: SegmentFileKind): string {
    return `${this.directory}/${segmentFileName(segment.baseOffset, kind)}`
  }

  /** Index of the last segment that begins at or below `offset`, or -1. */
  segmentIndexOf(offset: number): number {
    let low = 0
    let high = this.segments.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.segments[middle] as Segment).baseOffset <= offset) low = middle + 1
      else high = middle
    }
    return low - 1
  }

  /** One past the last offset that may lie in the segment at `index`. */
  segmentLimit(index: number): number {
    return this.segments[index + 1]?.baseOffset ?? this.endOffset
  }

  /** No batch of the segment's file may end at or beyond this. */
  limitOf(segment: Segment): number {
    const index = this.segments.indexOf(segment)
    // One that has gone meanwhile: nothing is known of it.
    return (index < 0 ? undefined : this.segments[index + 1]?.baseOffset) ?? Number.MAX_SAFE_INTEGER
  }

  /** The same for what is in the file now. Not before the log is recovered. */
  writtenLimitOf(segment: Segment): number {
    return Math.min(this.limitOf(segment), this.writtenOffset)
  }

  newSegment(baseOffset: number): Segment {
    const segment = new Segment(baseOffset, this.context.env.clock.wallMs())
    segment.jitterMs = this.config.segmentJitterMs > 0 ? this.context.randomBelow(this.config.segmentJitterMs) : 0
    return segment
  }

  findCursor(offset: number): ReadCursor | null {
    return this.cursors?.find((cursor) => cursor.offset === offset) ?? null
  }

  /** `previous`: the offset where this reader began, whose cursor is used up. */
  noteCursor(cursor: ReadCursor, previous: number): void {
    const kept = (this.cursors ?? []).filter(({ offset }) => offset !== previous && offset !== cursor.offset)
    if (kept.length === CURSORS_MAX) kept.shift()
    this.cursors = [...kept, cursor]
  }

  /** Positions and offsets known before may be wrong now. */
  changeGeneration(): void {
    this.generation++
    this.cursors = null
  }
}
