import { MalformedError } from '../base/bytes.ts'
import { baseOffset as baseOffsetOf, batchBytes, partitionLeaderEpoch } from '../protocol/batch/header.ts'
import { CorruptLogError } from './errors.ts'
import {
  CLEANED_SUFFIX,
  DELETED_SUFFIX,
  EPOCH_CHECKPOINT,
  parseSegmentFileName,
  SEGMENT_FILE_KINDS,
  segmentFileName,
  TEMPORARY_SUFFIX,
} from './file-names.ts'
import { readFileIfThere, removeIfThere } from './files.ts'
import { decodeEpochs, LeaderEpochs } from './leader-epochs.ts'
import type { LogState } from './log-state.ts'
import { decodeSnapshot, type LogNote, type Snapshot } from './producer-snapshot.ts'
import type { ProducerStates } from './producer-states.ts'
import { hasBatchBehind, scanBatches } from './scan.ts'
import type { Segment } from './segment.ts'
import { startPositionFor } from './segment-index.ts'
import { removeSegments } from './segment-removal.ts'
import { type AbortedTransaction, decodeAborted, TXN_INDEX_ENTRY_BYTES } from './txn-index.ts'

export interface RecoveryInput {
  /** The last stop wrote the marker, and this log was part of it: there can be no torn tail. */
  readonly isClean: boolean
  /** Durable up to here, by the checkpoint; damage below is never cut off. */
  readonly recoveryPoint: number
  /** False when the checkpoint was lost: any of the log may have been durable. */
  readonly isRecoveryPointKnown: boolean
  /** From the start offset checkpoint, or 0. */
  readonly startOffset: number
}

/**
 * Brings a log from its files into memory. First the end: from the recovery point on every CRC is verified, and the
 * first batch that is not whole ends the log, in the last segment only. Then what is derived: from the newest snapshot
 * that fits, everything behind it is replayed. What was accepted is durable before this resolves (reliability S2).
 * Rejects with `CorruptLogError` for damage that is not a torn tail.
 */
export async function recoverLog(state: LogState, input: RecoveryInput): Promise<void> {
  const snapshots = await loadSegments(state, input.startOffset)
  if (state.segments.length === 0) {
    await removeSnapshots(state, snapshots)
    beginAt(state, input.startOffset)
    return
  }
  const isTrusted = input.isClean || (await isAsCheckpointed(state, snapshots, input))
  const end = isTrusted ? null : await findEnd(state, input)
  await derive(state, snapshots, { end, mustVerify: input.isClean })
  if (state.endOffset < input.recoveryPoint) throw endsEarly(state, state.endOffset, input.recoveryPoint)
  if (state.endOffset < input.startOffset) await beginAnewAt(state, input.startOffset)
  else adoptEnds(state, Math.max(input.startOffset, state.segments[0]?.baseOffset ?? 0))
}

/** The records below the start offset were deleted, those beyond it were not durable: nothing is left. */
async function beginAnewAt(state: LogState, startOffset: number): Promise<void> {
  const gone = state.segments
  state.epochs.clear()
  state.producers.clear()
  beginAt(state, startOffset)
  await removeSegments(state, gone, { delayMs: 0, newestFirst: true })
  await state.context.env.disk.syncDirectory(state.directory)
}

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
  adoptEnds(state, startOffset)
}

async function derive(
  state: LogState,
  snapshots: readonly number[],
  { end, mustVerify }: { end: number | null; mustVerify: boolean },
): Promise<void> {
  const start = await chooseStart(state, snapshots, end)
  await replay(state, start, mustVerify)
  await removeSnapshots(
    state,
    snapshots.filter((offset) => offset > state.endOffset),
  )
}

function endsEarly(state: LogState, end: number, recoveryPoint: number): CorruptLogError {
  const reason = `the log ends at offset ${end}, it was durable up to ${recoveryPoint}`
  return new CorruptLogError(state.path(state.active, 'log'), state.active.writtenBytes, reason)
}

/** After a crash: the file ends exactly where the recovery point lies, so nothing in it can be torn. */
async function isAsCheckpointed(state: LogState, snapshots: readonly number[], input: RecoveryInput): Promise<boolean> {
  if (!input.isRecoveryPointKnown || snapshots.at(-1) !== input.recoveryPoint) return false
  const note = (await readSnapshot(state, input.recoveryPoint))?.note ?? null
  return (
    note !== null &&
    fits(state, note) &&
    note.segmentBase === state.active.baseOffset &&
    note.position === state.active.bytes
  )
}

/** The note is of this partition of this topic, and not of another that was put here. */
export function fits(state: LogState, note: LogNote): boolean {
  return note.topicId === state.topicId && note.partition === state.topicPartition.partition
}

/** An empty log. Its file comes with the first batch. */
export function beginAt(state: LogState, offset: number): void {
  state.segments = [state.newSegment(offset)]
  state.endOffset = offset
  adoptEnds(state, offset)
}

function adoptEnds(state: LogState, startOffset: number): void {
  const { endOffset } = state
  state.logStartOffset = startOffset
  state.writtenOffset = endOffset
  state.durableOffset = endOffset
  state.context.tails.reset(state.tail, endOffset)
  state.epochs.truncateFromEnd(endOffset)
  state.epochs.truncateFromStart(startOffset)
}

/** Lists the directory, tidies what is half done, makes the segments. Returns the offsets of the snapshots. */
async function loadSegments(state: LogState, startOffset: number): Promise<number[]> {
  const { disk } = state.context.env
  const names = await disk.list(state.directory)
  for (const name of names.filter((each) => each.endsWith(DELETED_SUFFIX))) {
    state.context.removeLater(`${state.directory}/${name}`, 0)
  }
  // At once: files of these names are written anew as soon as the log is open, and a late removal would take those.
  for (const name of names.filter((each) => each.endsWith(CLEANED_SUFFIX) || each.endsWith(TEMPORARY_SUFFIX))) {
    await removeIfThere(disk, `${state.directory}/${name}`)
  }
  const files = names.flatMap((name) => parseSegmentFileName(name) ?? [])
  const bases = files.filter(({ kind }) => kind === 'log').map(({ offset }) => offset)
  // Segments that end below the start offset were about to be deleted.
  while (bases.length > 1 && (bases[1] as number) <= startOffset)
    await removeSegmentFiles(state, bases.shift() as number)
  for (const base of bases) {
    const segment = state.newSegment(base)
    const bytes = (await disk.stat(state.path(segment, 'log')))?.bytes ?? 0
    segment.bytes = segment.writtenBytes = segment.syncedBytes = bytes
    segment.newest = null
    segment.aborted = null
    segment.areIndexesKnown = false
    state.segments.push(segment)
  }
  return files.filter(({ kind }) => kind === 'snapshot').map(({ offset }) => offset)
}

async function removeSegmentFiles(state: LogState, base: number): Promise<void> {
  for (const kind of SEGMENT_FILE_KINDS) {
    await removeIfThere(state.context.env.disk, `${state.directory}/${segmentFileName(base, kind)}`)
  }
}

/** Verifies everything from the recovery point on; cuts a torn tail off and syncs. Returns where the log ends. */
async function findEnd(state: LogState, input: RecoveryInput): Promise<number> {
  const { recoveryPoint } = input
  const first = Math.max(state.segmentIndexOf(recoveryPoint), 0)
  let end = 0
  for (let i = first; i < state.segments.length; i++) {
    const segment = state.segments[i] as Segment
    const isLast = i === state.segments.length - 1
    end = await verifySegment(state, segment, input, isLast)
  }
  // One that ends just at the recovery point was still growing when that was written.
  const distrusted = Math.max(state.segmentIndexOf(recoveryPoint - 1), 0)
  for (const segment of state.segments.slice(distrusted, -1)) await removeIndexes(state, segment)
  if (end < recoveryPoint) throw endsEarly(state, end, recoveryPoint)
  await state.context.env.disk.syncDirectory(state.directory)
  return end
}

/** Closed since the last checkpoint: the index files may lack their ends. They are made anew when they are needed. */
async function removeIndexes(state: LogState, segment: Segment): Promise<void> {
  await removeIfThere(state.context.env.disk, state.path(segment, 'index'))
  await removeIfThere(state.context.env.disk, state.path(segment, 'timeindex'))
}

async function verifySegment(
  state: LogState,
  segment: Segment,
  { recoveryPoint, isRecoveryPointKnown }: RecoveryInput,
  isLast: boolean,
): Promise<number> {
  const path = state.path(segment, 'log')
  const from = await startPositionFor(state, segment, recoveryPoint)
  const limitOffset = isLast ? Number.MAX_SAFE_INTEGER : limitOf(state, segment)
  const lease = await state.context.files.acquire(path, 'read')
  try {
    const { file } = lease
    const end = await scanBatches(file, {
      from,
      to: segment.writtenBytes,
      nextOffset: segment.baseOffset,
      limitOffset,
      verifyFrom: recoveryPoint,
      onBatch: () => {},
    })
    if (end.damage !== null) {
      // A closed segment was synced before its successor began, so a torn batch in it is no torn tail.
      if (!isLast || end.nextOffset < recoveryPoint) throw new CorruptLogError(path, end.position, end.damage)
      // Without the recovery point a hole cannot be told from damage of what was durable, so nothing good may go with it.
      const region = { from: end.position, to: segment.writtenBytes, nextOffset: end.nextOffset }
      if (!isRecoveryPointKnown && (await hasBatchBehind(file, region))) {
        const reason = `${end.damage}; good batches follow, and what was durable is not known`
        throw new CorruptLogError(path, end.position, reason)
      }
      const { topic, partition } = state.topicPartition
      const cut = segment.writtenBytes - end.position
      state.context.env.log.warn('A torn tail was cut off', { topic, partition, endOffset: end.nextOffset, bytes: cut })
      await file.truncate(end.position)
    }
    await file.sync()
    segment.bytes = segment.writtenBytes = segment.syncedBytes = end.position
    return end.nextOffset
  } finally {
    lease.release()
  }
}

function limitOf(state: LogState, segment: Segment): number {
  return state.segments[state.segments.indexOf(segment) + 1]?.baseOffset ?? Number.MAX_SAFE_INTEGER
}

/** Where the replay of derived state begins, and what is known there. */
interface ReplayStart {
  readonly segmentIndex: number
  readonly position: number
  /** Producers and transactions are known before this offset. */
  readonly offset: number
}

async function chooseStart(state: LogState, snapshots: readonly number[], end: number | null): Promise<ReplayStart> {
  for (const offset of snapshots.toReversed()) {
    if (end !== null && offset > end) continue
    const snapshot = await readSnapshot(state, offset)
    const start = snapshot === null ? null : await adoptSnapshot(state, snapshot, offset)
    if (start !== null) return start
  }
  await adoptEpochFile(state)
  return { segmentIndex: 0, position: 0, offset: 0 }
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
  state.producers.load(producers, nowMs)
  state.epochs = new LeaderEpochs(note.epochs)
  segment.aborted = await readAborted(state, segment, { count: note.abortedCount, before: offset })
  segment.abortedInFile = note.abortedCount
  if (segment.aborted === null) return null
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

/** Walks over all batches behind the start and takes them into what is derived. */
async function replay(state: LogState, start: ReplayStart, mustVerify: boolean): Promise<void> {
  let nextOffset = start.offset
  for (let i = start.segmentIndex; i < state.segments.length; i++) {
    const segment = state.segments[i] as Segment
    const position = i === start.segmentIndex ? start.position : 0
    if (position === 0) beginSegment(state, segment)
    const from = { position, nextOffset: Math.max(nextOffset, segment.baseOffset), knownBefore: start.offset }
    nextOffset = await replaySegment(state, segment, from, mustVerify)
  }
  state.endOffset = Math.max(nextOffset, state.active.baseOffset)
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
): Promise<number> {
  if (position === segment.writtenBytes) return nextOffset
  const path = state.path(segment, 'log')
  const isActive = segment === state.active
  const nowMs = state.context.env.clock.wallMs()
  const lease = await state.context.files.acquire(path, 'read')
  try {
    const end = await scanBatches(lease.file, {
      from: position,
      to: segment.writtenBytes,
      nextOffset,
      limitOffset: limitOf(state, segment),
      verifyFrom: mustVerify && isActive ? 0 : Number.MAX_SAFE_INTEGER,
      onBatch: (buffer, at, batchPosition) => {
        if (isActive) segment.note(buffer, at, batchPosition, batchBytes(buffer, at), state.config.indexIntervalBytes)
        if (baseOffsetOf(buffer, at) >= knownBefore) takeIn(state, segment, buffer, at, nowMs)
      },
    })
    if (end.damage !== null) throw new CorruptLogError(path, end.position, end.damage)
    return end.nextOffset
  } catch (error) {
    if (error instanceof MalformedError) throw new CorruptLogError(path, position, error.message)
    throw error
  } finally {
    lease.release()
  }
}

/** What the batch at `at`, now in the log, means for epochs, producers and transactions. Live and on replay. */
export function takeIn(state: LogState, segment: Segment, buffer: Buffer, at: number, nowMs: number): void {
  const epoch = partitionLeaderEpoch(buffer, at)
  if (epoch >= 0 && state.epochs.assign(epoch, baseOffsetOf(buffer, at))) state.areEpochsDirty = true
  const aborted = abortedBy(state.producers, buffer, at, nowMs)
  if (aborted !== null) segment.noteAborted(aborted)
}

/** Takes the batch into `producers` and returns the transaction that it aborts, if it does. */
export function abortedBy(
  producers: ProducerStates,
  buffer: Buffer,
  at: number,
  nowMs: number,
): AbortedTransaction | null {
  const completed = producers.apply(buffer, at, nowMs)
  if (completed === null || !completed.isAborted) return null
  const { producerId, firstOffset, lastOffset } = completed
  // Of the transactions that are still open; when there is none, everything up to the marker is decided.
  return { producerId, firstOffset, lastOffset, lastStableOffset: producers.firstOpenOffset ?? lastOffset + 1 }
}

/** Visits every batch of a closed segment. */
export async function walkSegment(
  state: LogState,
  segment: Segment,
  onBatch: (buffer: Buffer, at: number) => void,
): Promise<void> {
  const path = state.path(segment, 'log')
  const lease = await state.context.files.acquire(path, 'read')
  try {
    const end = await scanBatches(lease.file, {
      from: 0,
      to: segment.writtenBytes,
      nextOffset: segment.baseOffset,
      limitOffset: Number.MAX_SAFE_INTEGER,
      verifyFrom: Number.MAX_SAFE_INTEGER,
      onBatch,
    })
    if (end.damage !== null) throw new CorruptLogError(path, end.position, end.damage)
  } finally {
    lease.release()
  }
}

async function removeSnapshots(state: LogState, offsets: readonly number[]): Promise<void> {
  if (offsets.length === 0) return
  const { disk } = state.context.env
  for (const offset of offsets) await removeIfThere(disk, `${state.directory}/${segmentFileName(offset, 'snapshot')}`)
  // One that came back after a power cut would describe another life of the log.
  await disk.syncDirectory(state.directory)
}
