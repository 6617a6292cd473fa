import { finishSwaps } from './cleaner/finish-swaps.ts'
import {
  CLEANED_SUFFIX,
  DELETED_SUFFIX,
  parseSegmentFileName,
  SEGMENT_FILE_KINDS,
  segmentFileName,
  TEMPORARY_SUFFIX,
} from './file-names.ts'
import { removeIfThere } from './files.ts'
import type { LogState } from './log-state.ts'

/** Lists the directory, tidies what is half done, makes the segments. Returns the offsets of the snapshots. */
export async function loadSegments(state: LogState, startOffset: number): Promise<number[]> {
  const { disk } = state.context.env
  await finishSwaps(state)
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
