import {
  BATCH_HEADER_BYTES,
  baseOffset as baseOffsetOf,
  batchBytes,
  lastOffset,
  MAGIC_V2,
  magic,
  maxTimestamp,
} from '../protocol/batch/header.ts'
import { DiskError } from '../env/disk.ts'
import { CorruptLogError } from './errors.ts'
import { readFileIfThere } from './files.ts'
import {
  encodeOffsetEntries,
  encodeTimeEntries,
  floorIndex,
  NO_TIME,
  OFFSET_ENTRY_BYTES,
  type OffsetEntry,
  offsetEntryAt,
  TIME_ENTRY_BYTES,
  type TimeEntry,
  timeEntryAt,
  validOffsetEntries,
  validTimeEntries,
} from './index-format.ts'
import type { LogState } from './log-state.ts'
import { scanBatches } from './scan.ts'
import { type IndexEnd, Segment } from './segment.ts'

const NOTHING = Buffer.alloc(0)

/** Where a batch begins, and how it is known to be where it belongs. */
export interface BatchPlace {
  readonly position: number
  /** The offset of the last batch before it, plus one; at most the base offset of the one here. */
  readonly nextOffset: number
  /** By the index, of the batch here. Null: it must begin at `nextOffset`, or what follows must confirm it. */
  readonly lastOffset: number | null
}

/**
 * Where to begin reading for `offset`: the position of a batch that begins at or before it. From the sparse index,
 * checked against the batch it leads to; a scan makes the index anew when it does not hold.
 */
export async function positionFor(state: LogState, segment: Segment, offset: number): Promise<number> {
  return (await placeFor(state, segment, offset)).position
}

/** The same, with what is known of the batch there. */
export async function placeFor(state: LogState, segment: Segment, offset: number): Promise<BatchPlace> {
  const beginning = { position: 0, nextOffset: segment.baseOffset, lastOffset: null }
  const indexed = ({ offset: lastOffset, position }: OffsetEntry) => ({ ...beginning, position, lastOffset })
  const pending = segment.pendingOffsets
  const inMemory = floorIndex(pending.length, offset, (i) => pending[i]?.offset ?? 0)
  const known = pending[inMemory]
  if (known !== undefined && known.position < segment.writtenBytes) return indexed(known)
  const entry = floorEntry(await offsetIndexOf(state, segment), segment, offset)
  if (entry === null) return beginning
  if (await leadsToBatch(state, segment, entry)) return indexed(entry)
  const fresh = floorEntry(await rebuildIndexes(state, segment), segment, offset)
  return fresh === null ? beginning : indexed(fresh)
}

/** The same before recovery: nothing is made anew, for the log may still end in torn bytes. */
export async function startPositionFor(state: LogState, segment: Segment, offset: number): Promise<number> {
  const raw = (await readFileIfThere(state.context.env.disk, state.path(segment, 'index'))) ?? NOTHING
  const content = raw.subarray(0, validOffsetEntries(raw, segment.writtenBytes) * OFFSET_ENTRY_BYTES)
  const entry = floorEntry(content, segment, offset)
  return entry !== null && (await leadsToBatch(state, segment, entry)) ? entry.position : 0
}

function floorEntry(content: Buffer, segment: Segment, offset: number): OffsetEntry | null {
  const count = Math.floor(content.length / OFFSET_ENTRY_BYTES)
  const i = floorIndex(count, offset, (k) => offsetEntryAt(content, k, segment.baseOffset).offset)
  return i < 0 ? null : offsetEntryAt(content, i, segment.baseOffset)
}

/**
 * A batch begins there, of this segment, and its last offset is the entry's. Otherwise one of both is damaged, or a Kafka
 * older than 4 wrote the index, whose entries name the last of several batches: only a scan can tell.
 */
async function leadsToBatch(
  state: LogState,
  segment: Segment,
  { offset, position }: { offset: number; position: number },
): Promise<boolean> {
  const header = await readHeader(state, segment, position)
  if (header === null) return false
  const isBatch = magic(header, 0) === MAGIC_V2 && baseOffsetOf(header, 0) >= segment.baseOffset
  return isBatch && lastOffset(header, 0) === offset
}

/** Null when the file does not hold that much. */
async function readHeader(state: LogState, segment: Segment, position: number): Promise<Buffer | null> {
  if (position < 0 || position + BATCH_HEADER_BYTES > segment.writtenBytes) return null
  const lease = await state.context.files.acquire(state.path(segment, 'log'), 'read')
  try {
    const header = Buffer.allocUnsafe(BATCH_HEADER_BYTES)
    return (await lease.file.read(header, position)) < header.length ? null : header
  } finally {
    lease.release()
  }
}

/**
 * Counts the entries of the index files that belong to the log as it is: whole, growing, before the end that a start
 * began to append at. Entries behind them are overwritten by the next ones.
 */
export async function settleIndexes(state: LogState, segment: Segment): Promise<void> {
  const end = segment.unsettled
  if (end === null) return
  const { disk } = state.context.env
  const offsets = (await readFileIfThere(disk, state.path(segment, 'index'))) ?? NOTHING
  const times = (await readFileIfThere(disk, state.path(segment, 'timeindex'))) ?? NOTHING
  if (segment.unsettled !== end) return
  const count = validTimeEntries(times, segment.baseOffset, end.offset - 1)
  segment.settle({
    offsets: validOffsetEntries(offsets, end.position),
    times: count,
    lastTimeMs: count === 0 ? -1 : timeEntryAt(times, count - 1, segment.baseOffset).timestampMs,
  })
}

/** The entries in the file, whole and growing ones only. A closed segment whose file is missing gets a new one. */
async function offsetIndexOf(state: LogState, segment: Segment): Promise<Buffer> {
  const path = state.path(segment, 'index')
  const cached = state.context.indexes.get(path)
  if (cached !== null) return cached
  await settleIndexes(state, segment)
  const { generation } = state
  const raw = await readFileIfThere(state.context.env.disk, path)
  const isActive = segment === state.active
  if (raw === null && !isActive && segment.bytes > state.config.indexIntervalBytes)
    return rebuildIndexes(state, segment)
  const valid = validOffsetEntries(raw ?? NOTHING, segment.writtenBytes)
  const count = isActive ? Math.min(valid, segment.offsetEntriesInFile) : valid
  const content = (raw ?? NOTHING).subarray(0, count * OFFSET_ENTRY_BYTES)
  if (state.isStill(generation)) state.context.indexes.put(path, content)
  return content
}

/**
 * The last entry of the time index whose timestamp is at most `timestampMs`, checked; null: begin at the segment's
 * beginning.
 */
export async function timeEntryFor(state: LogState, segment: Segment, timestampMs: number): Promise<TimeEntry | null> {
  const pending = segment.pendingTimes
  const known = pending[floorIndex(pending.length, timestampMs, (i) => pending[i]?.timestampMs ?? 0)]
  if (known !== undefined) return known
  const content = await timeIndexOf(state, segment)
  const count = content.length / TIME_ENTRY_BYTES
  const i = floorIndex(count, timestampMs, (k) => timeEntryAt(content, k, segment.baseOffset).timestampMs)
  return i < 0 ? null : timeEntryAt(content, i, segment.baseOffset)
}

/** The checked content of the time index file. */
async function timeIndexOf(state: LogState, segment: Segment): Promise<Buffer> {
  const path = state.path(segment, 'timeindex')
  const cached = state.context.indexes.get(path)
  if (cached !== null) return cached
  await settleIndexes(state, segment)
  const raw = (await readFileIfThere(state.context.env.disk, path)) ?? NOTHING
  const lastInSegment = state.segmentLimit(state.segments.indexOf(segment)) - 1
  const valid = validTimeEntries(raw, segment.baseOffset, lastInSegment)
  const count = segment.areIndexesKnown ? Math.min(valid, segment.timeEntriesInFile) : valid
  if (!(await areTimesTrue(state, segment, raw, count))) {
    await rebuildIndexes(state, segment)
    return state.context.indexes.get(path) ?? NOTHING
  }
  const content = raw.subarray(0, count * TIME_ENTRY_BYTES)
  state.context.indexes.put(path, content)
  return content
}

/** There is no checksum: the last entry, and one in the middle, must agree with the batches they name. */
async function areTimesTrue(state: LogState, segment: Segment, content: Buffer, count: number): Promise<boolean> {
  // A closed segment that holds anything has at least the entry of its end.
  if (count === 0) return segment.areIndexesKnown || segment.bytes === 0
  for (const i of new Set([count - 1, count >>> 1])) {
    const entry = timeEntryAt(content, i, segment.baseOffset)
    if (!(await isNewestOfItsBatch(state, segment, entry))) return false
  }
  return true
}

async function isNewestOfItsBatch(state: LogState, segment: Segment, entry: TimeEntry): Promise<boolean> {
  let position = await positionFor(state, segment, entry.offset)
  for (;;) {
    const header = await readHeader(state, segment, position)
    if (header === null) return false
    if (lastOffset(header, 0) >= entry.offset) {
      return baseOffsetOf(header, 0) <= entry.offset && maxTimestamp(header, 0) === entry.timestampMs
    }
    const bytes = batchBytes(header, 0)
    if (bytes < BATCH_HEADER_BYTES) return false
    position += bytes
  }
}

/** The newest timestamp in the segment; looked up once. */
export async function newestOf(state: LogState, segment: Segment): Promise<TimeEntry> {
  if (segment.newest !== null) return segment.newest
  const content = await timeIndexOf(state, segment)
  const count = content.length / TIME_ENTRY_BYTES
  segment.newest ??= count === 0 ? NO_TIME : timeEntryAt(content, count - 1, segment.baseOffset)
  return segment.newest
}

/**
 * Makes both indexes of a segment anew by walking over its batches, and returns the offset index. Those of a closed
 * segment go to their files as well as possible, and to the cache; those of one that grows wait for the next flush.
 */
export async function rebuildIndexes(state: LogState, segment: Segment): Promise<Buffer> {
  const { context } = state
  const { topic, partition } = state.topicPartition
  context.env.log.warn('The indexes of a segment are made anew', { topic, partition, base: segment.baseOffset })
  const fresh = new Segment(segment.baseOffset, segment.createdMs)
  const { generation } = state
  const end = await walk(state, segment, fresh)
  // One that was rolled while we walked holds more than we have seen.
  if (segment === state.active || end.position < segment.bytes) {
    segment.replaceIndexes(fresh, end)
    if (segment !== state.active) segment.noteTime()
    context.indexes.drop(state.path(segment, 'index'))
    context.indexes.drop(state.path(segment, 'timeindex'))
    return encodeOffsetEntries(fresh.pendingOffsets, segment.baseOffset)
  }
  fresh.noteTime()
  segment.newest ??= fresh.newest
  const offsets = encodeOffsetEntries(fresh.pendingOffsets, segment.baseOffset)
  const times = encodeTimeEntries(fresh.pendingTimes, segment.baseOffset)
  // The files are of another segment now, or about to be.
  if (!state.isStill(generation)) return offsets
  await replaceIndexFile(state, state.path(segment, 'index'), offsets)
  await replaceIndexFile(state, state.path(segment, 'timeindex'), times)
  segment.replaced({ offsets: fresh.pendingOffsets.length, times: fresh.pendingTimes.length })
  return offsets
}

async function walk(state: LogState, segment: Segment, fresh: Segment): Promise<IndexEnd> {
  const path = state.path(segment, 'log')
  const lease = await state.context.files.acquire(path, 'read')
  try {
    const end = await scanBatches(lease.file, {
      from: 0,
      to: segment.writtenBytes,
      nextOffset: segment.baseOffset,
      limitOffset: state.writtenLimitOf(segment),
      verifyFrom: Number.MAX_SAFE_INTEGER,
      onBatch: (buffer, at, position) =>
        fresh.note(buffer, at, position, batchBytes(buffer, at), state.config.indexIntervalBytes),
    })
    if (end.damage !== null) throw new CorruptLogError(path, end.position, end.damage)
    return { position: end.position, offset: end.nextOffset }
  } finally {
    lease.release()
  }
}

async function replaceIndexFile(state: LogState, path: string, content: Buffer): Promise<void> {
  state.context.indexes.put(path, content)
  try {
    const file = await state.context.env.disk.open(path, 'create')
    try {
      await file.truncate(0)
      await file.write([content], 0)
    } finally {
      await file.close()
    }
  } catch (error) {
    if (!(error instanceof DiskError)) throw error
    // The content is in the cache; it is made again when it falls out of it.
  }
}
