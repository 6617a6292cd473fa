import { CorruptLogError } from './errors.ts'
import {
  CLEANED_SUFFIX,
  DELETED_SUFFIX,
  parseSegmentFileName,
  SEGMENT_FILE_KINDS,
  SWAP_SUFFIX,
  segmentFileName,
  TEMPORARY_SUFFIX,
} from './file-names.ts'
import { removeIfThere } from './files.ts'
import type { LogState } from './log-state.ts'
import { scanBatches } from './scan.ts'

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

/**
 * A cleaner of Kafka's that was killed between replacing old segments and giving the new one its name leaves `.swap`
 * files: they stand for all segments in the range of their offsets, some of which may still be there.
 */
async function finishSwaps(state: LogState): Promise<void> {
  const { disk } = state.context.env
  const names = await disk.list(state.directory)
  const swaps = names.filter((name) => name.endsWith(SWAP_SUFFIX)).map((name) => name.slice(0, -SWAP_SUFFIX.length))
  if (swaps.length === 0) return
  const bases = names.flatMap((name) => parseSegmentFileName(name) ?? []).filter(({ kind }) => kind === 'log')
  for (const swap of swaps.flatMap((name) => parseSegmentFileName(name) ?? [])) {
    if (swap.kind !== 'log') continue
    const end = await endOffsetOf(state, `${state.directory}/${segmentFileName(swap.offset, 'log')}${SWAP_SUFFIX}`)
    for (const { offset } of bases) if (offset >= swap.offset && offset < end) await removeSegmentFiles(state, offset)
  }
  for (const name of swaps) await disk.rename(`${state.directory}/${name}${SWAP_SUFFIX}`, `${state.directory}/${name}`)
  await disk.syncDirectory(state.directory)
}

/** One past the last offset in a file of batches. Rejects with `CorruptLogError`. */
async function endOffsetOf(state: LogState, path: string): Promise<number> {
  const file = await state.context.env.disk.open(path, 'read')
  try {
    const end = await scanBatches(file, {
      from: 0,
      to: await file.size(),
      nextOffset: 0,
      limitOffset: Number.MAX_SAFE_INTEGER,
      verifyFrom: 0,
      onBatch: () => {},
    })
    if (end.damage !== null) throw new CorruptLogError(path, end.position, end.damage)
    return end.nextOffset
  } finally {
    await file.close()
  }
}
