import type { DiskFile } from '../../env/disk.ts'
import { CorruptLogError } from '../errors.ts'
import {
  CLEANED_SUFFIX,
  parseSegmentFileName,
  SEGMENT_FILE_KINDS,
  type SegmentFileName,
  SWAP_SUFFIX,
  segmentFileName,
} from '../file-names.ts'
import { removeIfThere } from '../files.ts'
import type { LogState } from '../log-state.ts'
import { ProducerStates } from '../producer-states.ts'
import { scanBatches } from '../scan.ts'
import { abortedBy } from '../take-in.ts'
import { type AbortedTransaction, encodeAborted } from '../txn-index.ts'

/**
 * At a start: a cleaner, ours or Kafka's, that died while a segment took the place of others. A `.log.swap` stands for all
 * segments in the range of its offsets, some of which may still be there. Which indexes beside it are of which segment
 * nobody can tell, so all go. The list of aborted transactions, which nothing else could notice to be missing, is made anew
 * before the log loses its suffix; so a crash on the way begins this again.
 */
export async function finishSwaps(state: LogState): Promise<void> {
  const { disk } = state.context.env
  const names = await disk.list(state.directory)
  const swaps = names.filter((name) => name.endsWith(SWAP_SUFFIX)).map((name) => name.slice(0, -SWAP_SUFFIX.length))
  if (swaps.length === 0) return
  const logs = swaps.flatMap(parsed).filter(({ kind }) => kind === 'log')
  for (const { offset } of logs) await finishSwap(state, offset)
  // Kafka renames the log first: indexes that still wait are those of one that has its name already.
  const finished = new Set(logs.map(({ offset }) => offset))
  for (const name of swaps) {
    const file = parsed(name)[0]
    if (file !== undefined && finished.has(file.offset)) continue
    await disk.rename(`${state.directory}/${name}${SWAP_SUFFIX}`, `${state.directory}/${name}`)
  }
  await disk.syncDirectory(state.directory)
}

function parsed(name: string): SegmentFileName[] {
  return [parseSegmentFileName(name) ?? []].flat()
}

async function finishSwap(state: LogState, base: number): Promise<void> {
  const { disk } = state.context.env
  const log = `${state.directory}/${segmentFileName(base, 'log')}`
  const end = await walk(state, log + SWAP_SUFFIX, base, () => {})
  for (const { offset } of (await disk.list(state.directory)).flatMap(parsed)) {
    if (offset >= base && offset < end) await removeAll(state, offset)
  }
  await removeAll(state, base)
  const aborted = await abortedIn(state, base)
  if (aborted.length > 0) await writeSynced(state, `${state.directory}/${segmentFileName(base, 'txnindex')}`, aborted)
  await disk.syncDirectory(state.directory)
  await disk.rename(log + SWAP_SUFFIX, log)
  await disk.syncDirectory(state.directory)
}

/** Everything of the segment at `base`, but its log that waits to take its place. */
async function removeAll(state: LogState, base: number): Promise<void> {
  for (const kind of SEGMENT_FILE_KINDS) {
    const path = `${state.directory}/${segmentFileName(base, kind)}`
    await removeIfThere(state.context.env.disk, path)
    await removeIfThere(state.context.env.disk, path + CLEANED_SUFFIX)
    if (kind !== 'log') await removeIfThere(state.context.env.disk, path + SWAP_SUFFIX)
  }
}

/** From a walk over the log up to the end of the segment that is being put in place. */
async function abortedIn(state: LogState, base: number): Promise<AbortedTransaction[]> {
  const names = await state.context.env.disk.list(state.directory)
  const before = names.flatMap(parsed).filter(({ kind, offset }) => kind === 'log' && offset < base)
  const producers = new ProducerStates()
  let aborted: AbortedTransaction[] = []
  const take = (buffer: Buffer, at: number) => {
    const transaction = abortedBy(producers, buffer, at, 0)
    if (transaction !== null) aborted.push(transaction)
  }
  for (const { offset } of before)
    await walk(state, `${state.directory}/${segmentFileName(offset, 'log')}`, offset, take)
  aborted = []
  await walk(state, `${state.directory}/${segmentFileName(base, 'log')}${SWAP_SUFFIX}`, base, take)
  return aborted
}

/** Visits all batches; returns one past the last offset. Rejects with `CorruptLogError`. */
async function walk(
  state: LogState,
  path: string,
  base: number,
  onBatch: (buffer: Buffer, at: number) => void,
): Promise<number> {
  return withFile(state, path, 'read', async (file) => {
    const end = await scanBatches(file, {
      from: 0,
      to: await file.size(),
      nextOffset: base,
      limitOffset: Number.MAX_SAFE_INTEGER,
      verifyFrom: 0,
      onBatch,
    })
    if (end.damage !== null) throw new CorruptLogError(path, end.position, end.damage)
    return end.nextOffset
  })
}

function writeSynced(state: LogState, path: string, aborted: readonly AbortedTransaction[]): Promise<void> {
  return withFile(state, path, 'create', async (file) => {
    await file.truncate(0)
    await file.write([encodeAborted(aborted)], 0)
    await file.sync()
  })
}

async function withFile<T>(
  state: LogState,
  path: string,
  mode: 'read' | 'create',
  use: (file: DiskFile) => Promise<T>,
): Promise<T> {
  const file = await state.context.env.disk.open(path, mode)
  try {
    return await use(file)
  } finally {
    await file.close()
  }
}
