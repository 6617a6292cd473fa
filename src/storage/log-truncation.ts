import { baseOffset as baseOffsetOf, lastOffset } from '../protocol/batch/header.ts'
import { CorruptLogError } from './errors.ts'
import { EPOCH_CHECKPOINT } from './file-names.ts'
import { removeIfThere } from './files.ts'
import { beginAt, deriveAgain } from './derive.ts'
import type { LogState } from './log-state.ts'
import type { LogWriter } from './log-writer.ts'
import { scanBatches } from './scan.ts'
import type { Segment } from './segment.ts'
import { positionFor } from './segment-index.ts'
import { removeSegments } from './segment-removal.ts'

/**
 * Drops every batch that reaches `offset`. The order matters for a crash half way: first the checkpoint says that less
 * is durable, then later segments go, newest first, then the file is cut; each step is durable before the next.
 */
export async function truncateTo(state: LogState, writer: LogWriter, offset: number): Promise<void> {
  if (offset >= state.endOffset) return
  if (offset <= state.logStartOffset) {
    await truncateFully(state, writer, offset)
    return
  }
  const holder = state.segments[state.segmentIndexOf(offset)]
  await begin(state, writer, holder?.baseOffset ?? 0)
  if (offset >= state.tail.startOffset) {
    const before = state.tail.retainedBytes
    state.endOffset = state.tail.cutTo(offset)
    state.context.tails.retainedBytes -= before - state.tail.retainedBytes
    await dropUnwritten(state, writer)
  }
  if (state.endOffset < state.logStartOffset) {
    await truncateFully(state, writer, offset)
    return
  }
  if (state.writtenOffset < state.endOffset) {
    // The rest of the tail goes to the file first: what is derived is then made anew from files alone.
    writer.unpause()
    await writer.flush()
    await writer.pause()
    await state.derivedFlush
  }
  const index = Math.max(state.segmentIndexOf(Math.min(offset, state.endOffset)), 0)
  const cut = await findCut(state, state.segments[index] as Segment, offset)
  if (cut.endOffset < state.logStartOffset) {
    // The batch that holds the start offset goes: nothing that can be read remains.
    await truncateFully(state, writer, offset)
    return
  }
  writer.releaseFiles(state.segments.slice(index))
  await cutFiles(state, index, cut.position)
  state.changeGeneration()
  state.endOffset = cut.endOffset
  await deriveAgain(state, state.logStartOffset)
  finish(state, writer)
}

/** Drops everything; the log goes on empty at `offset`. */
export async function truncateFully(state: LogState, writer: LogWriter, offset: number): Promise<void> {
  await begin(state, writer, 0)
  writer.releaseFiles(state.segments)
  const gone = state.segments
  state.unsyncedIndexes = []
  state.epochs.clear()
  state.producers.clear()
  beginAt(state, offset)
  state.changeGeneration()
  state.areEpochsDirty = true
  await removeSegments(state, gone, { delayMs: 0, newestFirst: true })
  const { disk } = state.context.env
  const lease = await state.context.files.acquire(state.path(state.active, 'log'), 'create')
  lease.release()
  // What it says of the records that went would be taken for what lies before the new start.
  await removeIfThere(disk, `${state.directory}/${EPOCH_CHECKPOINT}`)
  await disk.syncDirectory(state.directory)
  await deriveAgain(state, offset)
  await state.context.checkpointStartOffsets()
  finish(state, writer)
}

function finish(state: LogState, writer: LogWriter): void {
  state.recoveryPointMax = Number.MAX_SAFE_INTEGER
  state.areEpochsDirty = true
  state.context.changed(state)
  writer.unpause()
}

/**
 * Nothing is under way afterwards, and the checkpoint says that at most what lies before `recoveryPoint` is durable. It is
 * the base of the segment that will be cut, which the log never ends before.
 */
async function begin(state: LogState, writer: LogWriter, recoveryPoint: number): Promise<void> {
  await writer.pause()
  await state.derivedFlush
  state.recoveryPointMax = Math.min(state.recoveryPointMax, recoveryPoint)
  try {
    if (state.durableOffset > recoveryPoint) await state.context.checkpointRecoveryPoints()
  } catch (error) {
    if (state.isUntouched) finish(state, writer)
    throw error
  }
  state.isUntouched = false
  state.pendingSnapshots = []
  state.snapshotOffset = -1
}

/** Segments without a byte in their file, begun beyond the new end. The file itself may be there already. */
async function dropUnwritten(state: LogState, writer: LogWriter): Promise<void> {
  const isDropped = (segment: Segment) => segment.writtenBytes === 0 && segment.baseOffset >= state.endOffset
  const kept = state.segments.findLastIndex((segment) => !isDropped(segment)) + 1
  if (kept === state.segments.length || kept === 0) return
  const gone = state.segments.splice(kept)
  writer.releaseFiles(gone)
  state.unsyncedIndexes = state.unsyncedIndexes.filter((segment) => segment !== state.active && !gone.includes(segment))
  await removeSegments(state, gone, { delayMs: 0, newestFirst: true })
  await state.context.env.disk.syncDirectory(state.directory)
}

/** Cuts the segment at `index` to `position`; those behind it go. */
async function cutFiles(state: LogState, index: number, position: number): Promise<void> {
  const { disk } = state.context.env
  const segment = state.segments[index] as Segment
  const gone = state.segments.splice(index + 1)
  state.unsyncedIndexes = state.unsyncedIndexes.filter((each) => each !== segment && !gone.includes(each))
  await removeSegments(state, gone, { delayMs: 0, newestFirst: true })
  await disk.syncDirectory(state.directory)
  state.context.indexes.drop(state.path(segment, 'index'))
  state.context.indexes.drop(state.path(segment, 'timeindex'))
  const lease = await state.context.files.acquire(state.path(segment, 'log'), 'create')
  try {
    await lease.file.truncate(position)
    await lease.file.sync()
  } finally {
    lease.release()
  }
  segment.bytes = segment.writtenBytes = segment.syncedBytes = position
}

/** Where the first batch begins that reaches `offset`, and where the log ends without it. */
async function findCut(
  state: LogState,
  segment: Segment,
  offset: number,
): Promise<{ position: number; endOffset: number }> {
  const path = state.path(segment, 'log')
  if (segment.writtenBytes === 0) return { position: 0, endOffset: Math.min(offset, state.endOffset) }
  const from = await positionFor(state, segment, offset)
  let found: { position: number; endOffset: number } | null = null
  const lease = await state.context.files.acquire(path, 'read')
  try {
    const end = await scanBatches(lease.file, {
      from,
      to: segment.writtenBytes,
      nextOffset: segment.baseOffset,
      isFirstSure: from > 0,
      limitOffset: state.writtenLimitOf(segment),
      verifyFrom: Number.MAX_SAFE_INTEGER,
      onBatch: (buffer, at, position) => {
        if (lastOffset(buffer, at) < offset) return true
        found = { position, endOffset: Math.min(offset, baseOffsetOf(buffer, at)) }
        return false
      },
    })
    if (end.damage !== null) throw new CorruptLogError(path, end.position, end.damage)
    return found ?? { position: segment.writtenBytes, endOffset: Math.min(offset, state.endOffset) }
  } finally {
    lease.release()
  }
}
