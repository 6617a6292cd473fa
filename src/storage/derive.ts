import { MalformedError } from '../base/bytes.ts'
import { baseOffset as baseOffsetOf, batchBytes } from '../protocol/batch/header.ts'
import { CorruptLogError } from './errors.ts'
import { EPOCH_CHECKPOINT, parseSegmentFileName, segmentFileName } from './file-names.ts'
import { readFileIfThere, removeIfThere } from './files.ts'
import { decodeEpochs, epochDamage, LeaderEpochs } from './leader-epochs.ts'
import type { LogState } from './log-state.ts'
import { decodeSnapshot, type LogNote, type Snapshot } from './producer-snapshot.ts'
import { type Doubt, scanBatches } from './scan.ts'
import type { Segment } from './segment.ts'
import { takeIn } from './take-in.ts'
import { type AbortedTransaction, decodeAborted, TXN_INDEX_ENTRY_BYTES } from './txn-index.ts'

/** After files were cut: makes everything derived anew from the newest snapshot that still fits. */
export async function deriveAgain(state: LogState, startOffset: number): Promise<void> {
  const { endOffset } = state
  const names = await state.context.env.disk.list(state.directory)
  const files = names.flatMap((name) => parseSegmentFileName(name) ?? [])
  const snapshots = files.filter(({ kind }) => kind === 'snapshot').map(({ offset }) => offset)
  state.producers.clear()
  await derive(state, snapshots, { end: endOffset, mustVerify: false })
  // Behind the last batch compaction may have left a hole, in which the log was cut.
  state.endOffset = Math.max(state.endOffset, endOffset)
  settleEnds(state, startOffset)
}

/** Returns the doubt about the last batch that was replayed. */
export async function derive(
  state: LogState,
  snapshots: readonly number[],
  { end, mustVerify }: { end: number | null; mustVerify: boolean },
): Promise<Doubt | null> {
  const start = await chooseStart(state, snapshots, end)
  let replayed = await replay(state, start, mustVerify)
  if (replayed.disagreement !== null) {
    // The epochs adopted are not those of this log's batches: of another partition, or of another life.
    state.epochs.clear()
    state.producers.clear()
    replayed = await replay(state, WHOLE_LOG, mustVerify)
    // From the batches alone: one of them has an epoch that is not its own.
    if (replayed.disagreement !== null) throw replayed.disagreement
  }
  await removeSnapshots(
    state,
    snapshots.filter((offset) => offset > state.endOffset),
  )
  return replayed.doubt
}

/** The note is of this partition of this topic, and not of another that was put here. */
export function fits(state: LogState, note: LogNote): boolean {
  return note.topicId === state.topicId && note.partition === state.topicPartition.partition
}

/** An empty log. Its file comes with the first batch. */
export function beginAt(state: LogState, offset: number): void {
  state.segments = [state.newSegment(offset)]
  state.endOffset = offset
  settleEnds(state, offset)
}

export function settleEnds(state: LogState, startOffset: number): void {
  const { endOffset } = state
  state.logStartOffset = startOffset
  state.writtenOffset = endOffset
  state.durableOffset = endOffset
  state.context.tails.reset(state.tail, endOffset)
  state.epochs.truncateFromEnd(endOffset)
  state.epochs.truncateFromStart(startOffset)
}

/** Where the replay of derived state begins, and what is known there. */
interface ReplayStart {
  readonly segmentIndex: number
  readonly position: number
  /** Producers and transactions are known before this offset. */
  readonly offset: number
}

const WHOLE_LOG: ReplayStart = { segmentIndex: 0, position: 0, offset: 0 }

async function chooseStart(state: LogState, snapshots: readonly number[], end: number | null): Promise<ReplayStart> {
  for (const offset of snapshots.toReversed()) {
    if (end !== null && offset > end) continue
    const snapshot = await readSnapshot(state, offset)
    const start = snapshot === null ? null : await adoptSnapshot(state, snapshot, offset)
    if (start !== null) return start
  }
  state.producers.clear()
  await adoptEpochFile(state)
  return WHOLE_LOG
}

export async function readSnapshot(state: LogState, offset: number): Promise<Snapshot | null> {
  const content = await readFileIfThere(
    state.context.env.disk,
    `${state.directory}/${segmentFileName(offset, 'snapshot')}`,
  )
  if (content === null) return null
  try {
    return decodeSnapshot(content)
  } catch (error) {
    if (error instanceof MalformedError) return null
    throw error
  }
}

/** Null when the snapshot does not fit this log. */
async function adoptSnapshot(
  state: LogState,
  { producers, note }: Snapshot,
  offset: number,
): Promise<ReplayStart | null> {
  const nowMs = state.context.env.clock.wallMs()
  if (note === null) {
    // One of Kafka's: it says nothing of positions, so it serves only where a segment begins.
    const segmentIndex = state.segments.findIndex(({ baseOffset }) => baseOffset === offset)
    if (segmentIndex < 0 || !(await adoptEpochFile(state))) return null
    state.producers.load(producers, nowMs)
    return { segmentIndex, position: 0, offset }
  }
  const segmentIndex = state.segments.findIndex(({ baseOffset }) => baseOffset === note.segmentBase)
  const segment = state.segments[segmentIndex]
  if (segment === undefined || !fits(state, note) || note.offset !== offset || note.position > segment.writtenBytes)
    return null
  segment.aborted = await readAborted(state, segment, { count: note.abortedCount, before: offset })
  segment.abortedInFile = note.abortedCount
  if (segment.aborted === null) return null
  state.producers.load(producers, nowMs)
  state.epochs = new LeaderEpochs(note.epochs)
  if (segment === state.active) {
    segment.resumeAt({ position: note.position, offset }, note)
    state.snapshotOffset = offset
  }
  return { segmentIndex, position: note.position, offset }
}

/** The first `count` entries of the transaction index, all below `before`; null when the file does not have them. */
async function readAborted(
  state: LogState,
  segment: Segment,
  { count, before }: { count: number; before: number },
): Promise<AbortedTransaction[] | null> {
  if (count === 0) return []
  const content = (await readFileIfThere(state.context.env.disk, state.path(segment, 'txnindex'))) ?? Buffer.alloc(0)
  if (content.length < count * TXN_INDEX_ENTRY_BYTES) return null
  const range = { baseOffset: segment.baseOffset, endOffset: before }
  return decodeAborted(content.subarray(0, count * TXN_INDEX_ENTRY_BYTES), range)
}

/** True when the epoch checkpoint is there and whole. */
async function adoptEpochFile(state: LogState): Promise<boolean> {
  const content = await readFileIfThere(state.context.env.disk, `${state.directory}/${EPOCH_CHECKPOINT}`)
  state.epochs = new LeaderEpochs()
  if (content === null) return false
  try {
    state.epochs = decodeEpochs(content)
    return true
  } catch (error) {
    if (error instanceof MalformedError) return false
    throw error
  }
}

interface Replayed {
  readonly nextOffset: number
  /** Where the epochs and a batch do not agree. */
  readonly disagreement: CorruptLogError | null
  readonly doubt: Doubt | null
}

/** Walks over all batches behind the start and takes them into what is derived. */
async function replay(state: LogState, start: ReplayStart, mustVerify: boolean): Promise<Replayed> {
  let nextOffset = start.offset
  let disagreement: CorruptLogError | null = null
  let doubt: Doubt | null = null
  for (let i = start.segmentIndex; i < state.segments.length; i++) {
    const segment = state.segments[i] as Segment
    const position = i === start.segmentIndex ? start.position : 0
    if (position === 0) beginSegment(state, segment)
    const from = { position, nextOffset: Math.max(nextOffset, segment.baseOffset), knownBefore: start.offset }
    const end = await replaySegment(state, segment, from, mustVerify)
    nextOffset = end.nextOffset
    disagreement ??= end.disagreement
    doubt = end.doubt
  }
  state.endOffset = Math.max(nextOffset, state.active.baseOffset)
  return { nextOffset, disagreement, doubt }
}

/** The segment is walked over from its first batch: what it adds is known afterwards. */
function beginSegment(state: LogState, segment: Segment): void {
  segment.aborted = []
  segment.abortedInFile = 0
  if (segment === state.active) segment.resetIndexes()
}

async function replaySegment(
  state: LogState,
  segment: Segment,
  { position, nextOffset, knownBefore }: { position: number; nextOffset: number; knownBefore: number },
  mustVerify: boolean,
): Promise<Replayed> {
  let disagreement: CorruptLogError | null = null
  if (position === segment.writtenBytes) return { nextOffset, disagreement, doubt: null }
  const path = state.path(segment, 'log')
  const isActive = segment === state.active
  const nowMs = state.context.env.clock.wallMs()
  const lease = await state.context.files.acquire(path, 'read')
  try {
    const end = await scanBatches(lease.file, {
      from: position,
      to: segment.writtenBytes,
      nextOffset,
      limitOffset: state.limitOf(segment),
      verifyFrom: mustVerify && isActive ? 0 : Number.MAX_SAFE_INTEGER,
      onBatch: (buffer, at, batchPosition) => {
        if (isActive) segment.note(buffer, at, batchPosition, batchBytes(buffer, at), state.config.indexIntervalBytes)
        const first = baseOffsetOf(buffer, at)
        if (first < knownBefore) return
        takeIn(state, segment, buffer, at, nowMs)
        const wrongEpoch = epochDamage(state.epochs, buffer, at)
        if (wrongEpoch !== null) disagreement ??= new CorruptLogError(path, batchPosition, wrongEpoch)
      },
    })
    if (end.damage !== null) throw new CorruptLogError(path, end.position, end.damage)
    return { nextOffset: end.nextOffset, disagreement, doubt: end.doubt }
  } catch (error) {
    if (error instanceof MalformedError) throw new CorruptLogError(path, position, error.message)
    throw error
  } finally {
    lease.release()
  }
}

export async function removeSnapshots(state: LogState, offsets: readonly number[]): Promise<void> {
  if (offsets.length === 0) return
  const { disk } = state.context.env
  for (const offset of offsets) await removeIfThere(disk, `${state.directory}/${segmentFileName(offset, 'snapshot')}`)
  // One that came back after a power cut would describe another life of the log.
  await disk.syncDirectory(state.directory)
}
