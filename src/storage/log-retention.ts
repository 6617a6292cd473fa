import { assert } from '../base/assert.ts'
import { isOutOfSpace } from '../env/disk.ts'
import { NO_TIME } from './index-format.ts'
import type { LogState } from './log-state.ts'
import type { Segment } from './segment.ts'
import { newestOf } from './segment-index.ts'
import { removeSegments } from './segment-removal.ts'

export interface RetentionInput {
  readonly wallMs: number
  readonly highWatermark: number
}

/** DeleteRecords: from now on the log begins at `offset`. Durable when it resolves. */
export async function advanceStartOffset(state: LogState, offset: number): Promise<void> {
  if (offset <= state.logStartOffset) return
  moveStart(state, offset)
  const isDurable = await checkpointIfRoom(state)
  await deleteBelowStart(state)
  // Now there may be room.
  if (!isDurable) await state.context.checkpointStartOffsets()
}

/** A full disk must not keep anything from being deleted. The files go oldest first, so a crash leaves no gap all the same. */
async function checkpointIfRoom(state: LogState): Promise<boolean> {
  try {
    await state.context.checkpointStartOffsets()
    return true
  } catch (error) {
    if (!isOutOfSpace(error)) throw error
    return false
  }
}

function moveStart(state: LogState, offset: number): void {
  state.logStartOffset = offset
  if (state.epochs.truncateFromStart(offset)) state.areEpochsDirty = true
  state.context.changed(state)
  state.parts?.startMoved()
}

/**
 * Retention by start offset, time and size, oldest segment first. The start offset is durable before the first file
 * goes, so that a crash half way leaves nothing to wonder about. The active segment goes only when all of it is too old,
 * and then another one is begun first.
 */
export async function applyRetention(state: LogState, input: RetentionInput, roll: () => Segment): Promise<void> {
  if (state.failure !== null || state.isClosed) return
  if (state.config.cleanupPolicy.includes('delete')) {
    const limit = Math.min(input.highWatermark, state.durableOffset)
    const byTime = await countTooOld(state, input.wallMs, limit)
    let count = Math.max(byTime, countTooMany(state, limit))
    if (count === state.segments.length - 1 && isActiveTooOld(state, input)) {
      await beginNext(state, roll)
      count++
    }
    const start = (state.segments[count] as Segment).baseOffset
    if (start > state.logStartOffset) {
      moveStart(state, start)
      await checkpointIfRoom(state)
    }
  }
  await deleteBelowStart(state)
}

/** How many closed segments from the front hold nothing younger than the retention time. */
async function countTooOld(state: LogState, wallMs: number, limit: number): Promise<number> {
  const { retentionMs } = state.config
  if (retentionMs < 0) return 0
  let count = 0
  for (const segment of state.segments.slice(0, -1)) {
    if (state.segmentLimit(count) > limit || wallMs - (await newestMs(state, segment)) <= retentionMs) break
    count++
  }
  return count
}

/**
 * Asked right before it is rolled, without a wait between: it may have grown since retention began. Nothing that is not
 * durable, or not below the high watermark, may be in it. Without timestamps it waits for `segment.ms`.
 */
function isActiveTooOld({ active, config, durableOffset, endOffset }: LogState, input: RetentionInput): boolean {
  if (config.retentionMs < 0 || active.bytes === 0 || active.newest === null || active.newest.timestampMs < 0)
    return false
  const isSettled = durableOffset === endOffset && endOffset <= input.highWatermark
  return isSettled && input.wallMs - active.newest.timestampMs > config.retentionMs
}

/** Without timestamps, when the file was last written. */
export async function newestMs(state: LogState, segment: Segment): Promise<number> {
  const { timestampMs } = await newestOf(state, segment)
  if (timestampMs > NO_TIME.timestampMs) return timestampMs
  return (await state.context.env.disk.stat(state.path(segment, 'log')))?.modifiedMs ?? segment.createdMs
}

/** How many segments from the front can go with at least `retentionBytes` left. */
function countTooMany(state: LogState, limit: number): number {
  const { retentionBytes } = state.config
  if (retentionBytes < 0) return 0
  let excess = state.bytes - retentionBytes
  let count = 0
  for (const segment of state.segments.slice(0, -1)) {
    if (excess - segment.bytes < 0 || state.segmentLimit(count) > limit) break
    excess -= segment.bytes
    count++
  }
  return count
}

/** The new segment's file is durable before the old one goes: it alone says where the log ends. */
async function beginNext(state: LogState, roll: () => Segment): Promise<void> {
  const segment = roll()
  const lease = await state.context.files.acquire(state.path(segment, 'log'), 'create')
  lease.release()
  await state.context.env.disk.syncDirectory(state.directory)
}

/** Segments that end at or below the start offset go. */
async function deleteBelowStart(state: LogState): Promise<void> {
  let count = 0
  while (
    count + 1 < state.segments.length &&
    (state.segments[count + 1] as Segment).baseOffset <= state.logStartOffset
  ) {
    // One that is still being written goes the next time.
    if (!(state.segments[count] as Segment).isSynced) break
    count++
  }
  if (count === 0) return
  await state.derivedFlush
  const gone = state.segments.splice(0, count)
  state.unsyncedIndexes = state.unsyncedIndexes.filter((segment) => !gone.includes(segment))
  assert(state.segments.length > 0, 'a log keeps its active segment')
  state.changeGeneration()
  const delayMs = state.context.space.reasonFor('none') === null ? state.config.fileDeleteDelayMs : 0
  await removeSegments(state, gone, { delayMs, newestFirst: false })
}
