import { DiskError } from '../../env/disk.ts'
import { SWAP_SUFFIX } from '../file-names.ts'
import { removeIfThere, renameIfThere } from '../files.ts'
import type { LogState } from '../log-state.ts'
import type { Segment } from '../segment.ts'
import { removeSegments } from '../segment-removal.ts'
import { CLEANED_KINDS, cleanedPath } from './segment-copy.ts'

/**
 * Lets a segment that lies ready as `.cleaned` files take the place of `old` ones, which follow each other and of which the
 * first has its base offset. Called under the log's lock.
 *
 * On disk: once `.log.swap` is durable the new segment is the truth, and a start that finds it finishes the swap
 * (`finish-swaps.ts`). Then the old files and their indexes go, the new indexes get their names, all durably, and only then
 * loses the log its suffix: whoever finds it without one finds everything else in place.
 *
 * In memory: the new segment is in the list before the first file is renamed, and readers of files wait until the last one
 * is. Those who are in the old files go on with the descriptor they have, and look again when they notice that the
 * generation has changed.
 */
export async function swapIn(state: LogState, old: readonly Segment[], fresh: Segment): Promise<void> {
  await commit(state, fresh)
  // A flush under way may still write to the indexes of the old segments.
  while (state.derivedFlush !== null) await state.derivedFlush
  const first = state.segments.indexOf(old[0] as Segment)
  state.segments = [...state.segments.slice(0, first), fresh, ...state.segments.slice(first + old.length)]
  state.isReplacing = true
  state.changeGeneration()
  state.context.tails.cutBelow(state.tail, state.segmentLimit(first))
  try {
    await putInPlace(state, old, fresh)
  } catch (error) {
    // The next start finishes it; until then nobody can say which files are whose.
    if (error instanceof DiskError) state.fail(error)
    throw error
  } finally {
    for (const kind of CLEANED_KINDS) forgetPath(state, state.path(fresh, kind))
    state.isReplacing = false
    state.changeGeneration()
  }
}

/** After this the swap happens, whatever else does. */
async function commit(state: LogState, fresh: Segment): Promise<void> {
  const { disk } = state.context.env
  const swap = state.path(fresh, 'log') + SWAP_SUFFIX
  try {
    await disk.rename(cleanedPath(state, fresh, 'log'), swap)
    await disk.syncDirectory(state.directory)
  } catch (error) {
    // It must not come back after the log has gone on: a start would put it in place of what is there then.
    await takeBack(state, swap).catch((failure) => state.fail(failure as Error))
    throw error
  }
}

async function takeBack(state: LogState, swap: string): Promise<void> {
  await removeIfThere(state.context.env.disk, swap)
  await state.context.env.disk.syncDirectory(state.directory)
}

async function putInPlace(state: LogState, old: readonly Segment[], fresh: Segment): Promise<void> {
  const { disk } = state.context.env
  await removeSegments(state, old, { delayMs: state.config.fileDeleteDelayMs, newestFirst: false })
  for (const kind of CLEANED_KINDS) {
    if (kind !== 'log') await renameIfThere(disk, cleanedPath(state, fresh, kind), state.path(fresh, kind))
  }
  await disk.syncDirectory(state.directory)
  await disk.rename(state.path(fresh, 'log') + SWAP_SUFFIX, state.path(fresh, 'log'))
  await disk.syncDirectory(state.directory)
}

function forgetPath(state: LogState, path: string): void {
  state.context.files.drop(path)
  state.context.indexes.drop(path)
}
