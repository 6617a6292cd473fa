import { assert } from '../base/assert.ts'
import type { DiskFile } from '../env/disk.ts'
import { lastOffset } from '../protocol/batch/header.ts'
import { beginAt, derive, fits, readSnapshot, removeSnapshots, settleEnds } from './derive.ts'
import { CorruptLogError } from './errors.ts'
import { segmentFileName } from './file-names.ts'
import { removeIfThere } from './files.ts'
import type { LogState } from './log-state.ts'
import { type Doubt, hasBatchBehind, scanBatches } from './scan.ts'
import type { Segment } from './segment.ts'
import { startPositionFor } from './segment-index.ts'
import { loadSegments } from './segment-loading.ts'
import { removeSegments } from './segment-removal.ts'

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
    // Nothing that was durable may be missing, also when all of it is.
    if (input.recoveryPoint > input.startOffset) {
      const reason = `there is no segment, the log was durable up to ${input.recoveryPoint}`
      throw new CorruptLogError(`${state.directory}/${segmentFileName(input.startOffset, 'log')}`, 0, reason)
    }
    await removeSnapshots(state, snapshots)
    beginAt(state, input.startOffset)
    return
  }
  const isTrusted = input.isClean || (await isAsCheckpointed(state, snapshots, input))
  const end = isTrusted ? null : await findEnd(state, input)
  const doubt = await derive(state, snapshots, { end, mustVerify: input.isClean })
  if (isTrusted) settleDoubt(state, input, doubt)
  if (state.endOffset < input.recoveryPoint) throw endsEarly(state, state.endOffset, input.recoveryPoint)
  if (state.endOffset < input.startOffset) await beginAnewAt(state, input.startOffset)
  else settleEnds(state, Math.max(input.startOffset, state.segments[0]?.baseOffset ?? 0))
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

/**
 * The last batch of the log follows a gap, and nothing behind it can confirm or contradict its place. Where the log was
 * durable up to just there it is right. Otherwise only a compacted log has gaps, and also there none may hide where the log
 * was durable to: that was the end of a batch.
 */
function settleDoubt(state: LogState, { recoveryPoint }: RecoveryInput, doubt: Doubt | null): void {
  if (doubt === null || doubt.lastOffset + 1 === recoveryPoint) return
  const isCompacted = state.config.cleanupPolicy.includes('compact')
  if (isCompacted && (recoveryPoint <= doubt.nextOffset || recoveryPoint === doubt.baseOffset)) return
  const reason = `the last batch has base offset ${doubt.baseOffset}, ${doubt.nextOffset} was expected`
  throw new CorruptLogError(state.path(state.active, 'log'), doubt.position, reason)
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
  input: RecoveryInput,
  isLast: boolean,
): Promise<number> {
  const { recoveryPoint, isRecoveryPointKnown } = input
  const path = state.path(segment, 'log')
  const from = await startPositionFor(state, segment, recoveryPoint)
  const limitOffset = isLast ? Number.MAX_SAFE_INTEGER : state.limitOf(segment)
  let rewriteFrom = segment.writtenBytes
  const lease = await state.context.files.acquire(path, 'read')
  try {
    const { file } = lease
    const end = await scanBatches(file, {
      from,
      to: segment.writtenBytes,
      nextOffset: segment.baseOffset,
      isFirstSure: from > 0,
      limitOffset,
      verifyFrom: recoveryPoint,
      onBatch: (buffer, at, position) => {
        if (lastOffset(buffer, at) >= recoveryPoint) rewriteFrom = Math.min(rewriteFrom, position)
      },
    })
    if (isLast) settleDoubt(state, input, end.doubt)
    if (end.damage !== null) {
      // A closed segment was synced before its successor began, so a torn batch in it is no torn tail.
      if (!isLast || end.isMisplaced || end.nextOffset < recoveryPoint)
        throw new CorruptLogError(path, end.position, end.damage)
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
    if (isLast) await rewrite(file, rewriteFrom, end.position)
    await file.sync()
    segment.bytes = segment.writtenBytes = segment.syncedBytes = end.position
    return end.nextOffset
  } finally {
    lease.release()
  }
}

const REWRITE_CHUNK_BYTES = 1024 ** 2

/**
 * Writes [from, to) of the last segment over itself. Without it the sync that follows may mean nothing: when a sync of
 * the process before us failed, the kernel took these pages for clean, and they are in memory only (fsyncgate). Closed
 * segments need none, for their sync had succeeded before the next one began. A power cut on the way does no harm: every
 * sector holds the same bytes before and after.
 */
async function rewrite(file: DiskFile, from: number, to: number): Promise<void> {
  for (let position = from; position < to; ) {
    const chunk = Buffer.allocUnsafeSlow(Math.min(REWRITE_CHUNK_BYTES, to - position))
    const filled = await file.read(chunk, position)
    assert(filled === chunk.length, `read ${filled} of ${chunk.length} bytes at ${position} of ${file.path}`)
    await file.write([chunk], position)
    position += filled
  }
}
