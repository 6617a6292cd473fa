import { DiskError, type DiskFile, isOutOfDescriptors } from '../env/disk.ts'
import { EPOCH_CHECKPOINT, parseSegmentFileName, segmentFileName } from './file-names.ts'
import { removeIfThere, replaceDerivedFile } from './files.ts'
import {
  encodeOffsetEntries,
  encodeTimeEntries,
  NO_TIME,
  OFFSET_ENTRY_BYTES,
  TIME_ENTRY_BYTES,
} from './index-format.ts'
import type { LogState } from './log-state.ts'
import { encodeSnapshot, type LogNote } from './producer-snapshot.ts'
import type { Segment } from './segment.ts'
import { settleIndexes } from './segment-index.ts'
import { encodeAborted, TXN_INDEX_ENTRY_BYTES } from './txn-index.ts'

/** A snapshot between rolls is worth its file when this much would have to be scanned without it. */
const SNAPSHOT_EVERY_BYTES = 1024 ** 2

/**
 * Writes what waits for the derived files: index entries, aborted transactions, epochs, producer snapshots. Never
 * rejects: what could not be written waits for the next time, and a restart makes it anew from the log.
 */
export function flushDerived(state: LogState): Promise<void> {
  state.derivedFlush ??= flushNow(state).finally(() => {
    state.derivedFlush = null
  })
  return state.derivedFlush
}

async function flushNow(state: LogState): Promise<void> {
  try {
    for (const segment of state.segments) await flushSegment(state, segment)
    await syncIndexes(state)
    await flushEpochs(state)
    await flushSnapshots(state)
  } catch (error) {
    if (!(error instanceof DiskError)) throw error
    const { topic, partition } = state.topicPartition
    state.context.env.log.warn('Derived files of a log were not written; they will be later', {
      topic,
      partition,
      reason: error.message,
    })
  }
}

async function flushSegment(state: LogState, segment: Segment): Promise<void> {
  if (segment.pendingOffsets.length > 0 || segment.pendingTimes.length > 0) await settleIndexes(state, segment)
  const offsets = countWhile(segment.pendingOffsets, ({ position }) => position < segment.writtenBytes)
  const times = countWhile(segment.pendingTimes, ({ offset }) => offset < state.writtenOffset)
  const aborted = countWhile(
    segment.aborted?.slice(segment.abortedInFile) ?? [],
    ({ lastOffset }) => lastOffset < state.writtenOffset,
  )
  if (offsets > 0) {
    const entries = segment.pendingOffsets.slice(0, offsets)
    const path = state.path(segment, 'index')
    const bytes = encodeOffsetEntries(entries, segment.baseOffset)
    await writeAt(state, path, bytes, { position: segment.offsetEntriesInFile * OFFSET_ENTRY_BYTES })
    segment.flushedOffsets(offsets)
  }
  if (times > 0) {
    const entries = segment.pendingTimes.slice(0, times)
    const path = state.path(segment, 'timeindex')
    const bytes = encodeTimeEntries(entries, segment.baseOffset)
    await writeAt(state, path, bytes, { position: segment.timeEntriesInFile * TIME_ENTRY_BYTES })
    segment.flushedTimes(times)
  }
  if (aborted > 0 && segment.aborted !== null) {
    const from = segment.abortedInFile
    const bytes = encodeAborted(segment.aborted.slice(from, from + aborted))
    // Synced: a missing entry would show aborted records, and nothing else tells.
    await writeAt(state, state.path(segment, 'txnindex'), bytes, { position: from * TXN_INDEX_ENTRY_BYTES, sync: true })
    segment.abortedInFile += aborted
  }
}

function countWhile<T>(items: readonly T[], holds: (item: T) => boolean): number {
  const end = items.findIndex((item) => !holds(item))
  return end < 0 ? items.length : end
}

/** What lay beyond `position` before (another life of the log) is cut off. */
async function writeAt(
  state: LogState,
  path: string,
  bytes: Buffer,
  { position, sync = false }: { position: number; sync?: boolean },
): Promise<void> {
  await withFile(state, path, async (file) => {
    await file.truncate(position)
    await file.write([bytes], position)
    if (sync) await syncOrFail(state, file)
  })
  if (sync) await syncDirectoryOrFail(state)
  state.context.indexes.drop(path)
}

/** Whatever file it was: the next sync would succeed without having written what this one could not (S5). */
async function syncOrFail(state: LogState, file: DiskFile): Promise<void> {
  await file.sync().catch((error) => {
    state.fail(error)
    throw error
  })
}

async function syncDirectoryOrFail(state: LogState): Promise<void> {
  await state.context.env.disk.syncDirectory(state.directory).catch((error) => {
    if (!isOutOfDescriptors(error)) state.fail(error)
    throw error
  })
}

async function withFile(state: LogState, path: string, use: (file: DiskFile) => Promise<void>): Promise<void> {
  const file = await state.context.env.disk.open(path, 'create')
  try {
    await use(file)
  } finally {
    await file.close()
  }
}

/** Of closed segments that are written as a whole. What the recovery point then covers is trusted after a crash. */
async function syncIndexes(state: LogState): Promise<void> {
  for (let segment = state.unsyncedIndexes[0]; segment !== undefined; segment = state.unsyncedIndexes[0]) {
    const isFlushed = segment.isSynced && segment.pendingOffsets.length === 0 && segment.pendingTimes.length === 0
    if (!isFlushed) return
    await withFile(state, state.path(segment, 'index'), (file) => syncOrFail(state, file))
    await withFile(state, state.path(segment, 'timeindex'), (file) => syncOrFail(state, file))
    await syncDirectoryOrFail(state)
    if (state.unsyncedIndexes[0] === segment) state.unsyncedIndexes = state.unsyncedIndexes.slice(1)
  }
}

/**
 * Of a log that has failed, whose indexes nobody will sync any more: they go, to be made anew when they are needed, and do
 * not keep the recovery point below what is durable. Never rejects.
 */
export async function removeUnsyncedIndexes(state: LogState): Promise<void> {
  const { disk } = state.context.env
  const segments = state.unsyncedIndexes
  if (segments.length === 0) return
  try {
    while (state.derivedFlush !== null) await state.derivedFlush
    for (const segment of segments) {
      for (const kind of ['index', 'timeindex'] as const) {
        await removeIfThere(disk, state.path(segment, kind))
        state.context.indexes.drop(state.path(segment, kind))
      }
      segment.areIndexesKnown = false
    }
    await disk.syncDirectory(state.directory)
    if (state.unsyncedIndexes === segments) state.unsyncedIndexes = []
  } catch (error) {
    if (!(error instanceof DiskError)) throw error
  }
}

/** Before a clean stop: Kafka takes a segment without these files for a damaged one, though they may be empty. */
export async function makeIndexFiles(state: LogState): Promise<void> {
  const { active } = state
  if (active.bytes === 0) return
  try {
    for (const kind of ['index', 'timeindex'] as const) await withFile(state, state.path(active, kind), async () => {})
  } catch (error) {
    if (!(error instanceof DiskError)) throw error
  }
}

async function flushEpochs(state: LogState): Promise<void> {
  if (!state.areEpochsDirty) return
  state.areEpochsDirty = false
  try {
    const path = `${state.directory}/${EPOCH_CHECKPOINT}`
    await replaceDerivedFile(state.context.env.disk, path, state.epochs.encode())
  } catch (error) {
    state.areEpochsDirty = true
    throw error
  }
}

/** Remembers the producers as they are now; `flushDerived` writes them. Does nothing when that was done here before. */
export function takeSnapshot(state: LogState): void {
  if (state.snapshotOffset === state.endOffset) return
  state.snapshotOffset = state.endOffset
  state.snapshotAtBytes = state.appendedBytes
  const content = encodeSnapshot(state.producers.entries, noteOf(state))
  state.pendingSnapshots = [...state.pendingSnapshots, { offset: state.endOffset, content }]
}

function noteOf(state: LogState): LogNote {
  const { active, topicId, topicPartition, endOffset, epochs } = state
  return {
    topicId,
    partition: topicPartition.partition,
    offset: endOffset,
    segmentBase: active.baseOffset,
    position: active.bytes,
    createdMs: active.createdMs,
    firstTimestampMs: active.firstTimestampMs,
    newest: active.newest ?? NO_TIME,
    abortedCount: active.aborted?.length ?? 0,
    abortedBefore: state.segments.at(-2)?.aborted?.length ?? -1,
    epochs: epochs.entries,
  }
}

/** Before a checkpoint: bounds what has to be scanned after a crash. */
export function takeSnapshotIfWorthIt(state: LogState): void {
  if (state.appendedBytes - state.snapshotAtBytes >= SNAPSHOT_EVERY_BYTES) takeSnapshot(state)
}

/** Not synced: a snapshot has a CRC, and an older one does when it is torn. */
async function flushSnapshots(state: LogState): Promise<void> {
  if (state.pendingSnapshots.length === 0) return
  for (let next = state.pendingSnapshots[0]; next !== undefined; next = state.pendingSnapshots[0]) {
    const { content, offset } = next
    await withFile(state, `${state.directory}/${segmentFileName(offset, 'snapshot')}`, async (file) => {
      await file.truncate(0)
      await file.write([content], 0)
    })
    if (state.pendingSnapshots[0] === next) state.pendingSnapshots = state.pendingSnapshots.slice(1)
  }
  await removeOldSnapshots(state)
}

/** Keeps those at the beginning of a segment and the two newest: the newest may lie beyond what a crash leaves. */
async function removeOldSnapshots(state: LogState): Promise<void> {
  const { disk } = state.context.env
  const bases = new Set(state.segments.map(({ baseOffset }) => baseOffset))
  const names = (await disk.list(state.directory)).map(parseSegmentFileName)
  const offsets = names.flatMap((name) => (name?.kind === 'snapshot' ? [name.offset] : []))
  for (const offset of offsets.slice(0, -2)) {
    if (!bases.has(offset)) await removeIfThere(disk, `${state.directory}/${segmentFileName(offset, 'snapshot')}`)
  }
}
