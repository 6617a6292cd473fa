import { bug } from '../base/assert.ts'
import { letGoBlock, takeBlock } from '../base/blocks.ts'
import type { DiskFile } from '../env/disk.ts'
import {
  BATCH_HEADER_BYTES,
  baseOffset as baseOffsetOf,
  batchBytes,
  lastOffset,
  verifyCrc,
} from '../protocol/batch/header.ts'
import { CorruptLogError, OffsetOutOfRangeError } from './errors.ts'
import { epochDamage } from './leader-epochs.ts'
import type { LogState } from './log-state.ts'
import { baseOffsetAt, type Doubt, doubtAbout, headerDamage } from './scan.ts'
import type { Segment } from './segment.ts'
import { type BatchPlace, placeFor } from './segment-index.ts'
import type { ReadLimits, ReadResult } from './tail.ts'

/** Bounds of one read of a file. A batch larger than that is read as a whole all the same. */
const READ_BYTES_MIN = 16 * 1024
const READ_BYTES_MAX = 4 * 1024 ** 2

/** Whole batches of the file, read together. */
interface Chunk {
  readonly result: ReadResult
  /** Where the next batch begins. */
  readonly endPosition: number
  /** About the last batch looked at, and where the one behind it begins. */
  readonly doubt: (Doubt & { readonly endPosition: number }) | null
}

/** The part of a segment that is in the file, as it was at one moment. */
interface Written {
  readonly bytes: number
  /** No batch ends at or beyond this offset. */
  readonly limitOffset: number
}

/**
 * Reads batches that are in files only. Whatever leaves has passed its CRC, and what that does not cover, base offset and
 * leader epoch, fits the batches around it and the log's epochs (reliability S10); a batch that does not is damage of this
 * replica and rejects with `CorruptLogError`. Rejects with `OffsetOutOfRangeError` when the offset has been deleted or
 * truncated meanwhile. The caller repeats when `generation` has changed under an error.
 */
export async function readFromFiles(state: LogState, offset: number, limits: ReadLimits): Promise<ReadResult> {
  for (let from = offset; ; ) {
    if (state.isReplacing) await state.untilInPlace()
    checkRange(state, offset)
    if (from >= state.tail.startOffset) return state.tail.read(from, limits)
    const index = state.segmentIndexOf(from)
    const segment = state.segments[index]
    if (segment === undefined) throw new OffsetOutOfRangeError(offset, state.logStartOffset, state.endOffset)
    const { generation } = state
    const chunk = await readSegment(state, segment, from, limits)
    // Segments were cut, deleted or compacted meanwhile: what was read may be from another life of the log.
    if (!state.isStill(generation)) continue
    if (chunk !== 'none') {
      const { result, endPosition } = chunk
      if (result.bytes > 0) state.noteCursor({ offset: result.endOffset, segment, position: endPosition }, offset)
      return result
    }
    // Nothing at or beyond the offset in this segment: compaction leaves holes at the ends of segments too.
    from = Math.max(state.segments[index + 1]?.baseOffset ?? state.tail.startOffset, from + 1)
  }
}

function checkRange(state: LogState, offset: number): void {
  if (offset >= state.logStartOffset && offset <= state.endOffset) return
  throw new OffsetOutOfRangeError(offset, state.logStartOffset, state.endOffset)
}

/** `none`: the segment ends before the offset. */
async function readSegment(
  state: LogState,
  segment: Segment,
  offset: number,
  limits: ReadLimits,
): Promise<Chunk | 'none'> {
  const cursor = state.findCursor(offset)
  let place: BatchPlace =
    cursor?.segment === segment
      ? { position: cursor.position, nextOffset: offset, lastOffset: null }
      : await placeFor(state, segment, offset)
  const lease = await state.context.files.acquire(state.path(segment, 'log'), 'read')
  try {
    let wanted = Math.min(Math.max(limits.maxBytes + state.config.indexIntervalBytes, READ_BYTES_MIN), READ_BYTES_MAX)
    for (;;) {
      const written = { bytes: segment.writtenBytes, limitOffset: state.writtenLimitOf(segment) }
      const left = written.bytes - place.position
      if (left <= 0) return 'none'
      const buffer = takeBlock(Math.min(wanted, left))
      const filled = await lease.file.read(buffer, place.position)
      if (filled < buffer.length)
        throw damage(state, segment, place.position + filled, 'the file is shorter than it was')
      const step = cutChunk(state, segment, { buffer, place, written, offset, limits })
      if (step.kind === 'more' || step.chunk.result.bytes === 0) letGoBlock(buffer)
      if (step.kind === 'chunk') {
        await settleDoubt(state, segment, lease.file, step.chunk.doubt)
        return step.chunk
      }
      // The batch at `place` needs more bytes than were read, or everything read lies before the offset.
      place = step.place
      wanted = Math.max(step.bytes, READ_BYTES_MIN)
    }
  } finally {
    lease.release()
  }
}

/** What follows a batch behind a gap must begin behind it. At the end of the file, where the log ends has told already. */
async function settleDoubt(state: LogState, segment: Segment, file: DiskFile, doubt: Chunk['doubt']): Promise<void> {
  if (doubt === null) return
  const next = await baseOffsetAt(file, doubt.endPosition, segment.writtenBytes)
  if (next === null || next > doubt.lastOffset) return
  const reason = `a batch [${doubt.baseOffset}, ${doubt.lastOffset}] where ${doubt.nextOffset} was expected; the next begins at ${next}`
  throw damage(state, segment, doubt.position, reason)
}

type Step =
  | { readonly kind: 'chunk'; readonly chunk: Chunk }
  | { readonly kind: 'more'; readonly place: BatchPlace; readonly bytes: number }

interface ChunkInput {
  readonly buffer: Buffer
  /** Where it was read. */
  readonly place: BatchPlace
  readonly written: Written
  readonly offset: number
  readonly limits: ReadLimits
}

/** Takes the batches wanted out of what was read at `place`. */
function cutChunk(state: LogState, segment: Segment, input: ChunkInput): Step {
  const { buffer, place, written, offset, limits } = input
  const { position } = place
  let start = -1
  let end = 0
  let endOffset = offset
  let { nextOffset, lastOffset: expectedLast } = place
  let doubt: Chunk['doubt'] = null
  let at = 0
  while (buffer.length - at >= BATCH_HEADER_BYTES) {
    const left = written.bytes - position - at
    const problem = headerDamage(buffer, at, { left, nextOffset, limitOffset: written.limitOffset })
    if (problem !== null) throw damage(state, segment, position + at, problem)
    const bytes = batchBytes(buffer, at)
    const last = lastOffset(buffer, at)
    if (expectedLast !== null && last !== expectedLast) {
      throw damage(state, segment, position + at, `a batch with last offset ${last}, the index says ${expectedLast}`)
    }
    // Those before it were followed by this one: their places are settled.
    const gap = expectedLast === null ? doubtAbout(buffer, at, position + at, nextOffset) : null
    const own = gap === null ? null : { ...gap, endPosition: position + at + bytes }
    const here = { position: position + at, nextOffset, lastOffset: expectedLast }
    if (last < offset) {
      nextOffset = last + 1
      expectedLast = null
      doubt = own
      at += bytes
      continue
    }
    const isOver = last >= limits.limitOffset
    // Limits lie between batches: one that begins below and ends beyond is most likely damaged, so its CRC is asked.
    if (isOver && (start >= 0 || baseOffsetOf(buffer, at) >= limits.limitOffset)) {
      return ended(buffer, start, end, { offset, endOffset, position, doubt: own })
    }
    const isForced = isOver || (start < 0 && limits.atLeastOneBatch)
    const total = at + bytes - (start < 0 ? at : start)
    if (total > limits.maxBytes && !isForced) {
      return ended(buffer, start, end, { offset, endOffset, position, doubt: null })
    }
    if (at + bytes > buffer.length) {
      if (start < 0) return { kind: 'more', place: here, bytes }
      return ended(buffer, start, end, { offset, endOffset, position, doubt: null })
    }
    if (!verifyCrc(buffer, at)) throw damage(state, segment, position + at, 'a batch with a wrong CRC')
    const wrongEpoch = epochDamage(state.epochs, buffer, at)
    if (wrongEpoch !== null) throw damage(state, segment, position + at, wrongEpoch)
    if (isOver) return ended(buffer, start, end, { offset, endOffset, position, doubt: own })
    if (start < 0) start = at
    nextOffset = last + 1
    expectedLast = null
    doubt = own
    at += bytes
    end = at
    endOffset = last + 1
  }
  if (start >= 0) return ended(buffer, start, end, { offset, endOffset, position, doubt })
  const next = { position: position + at, nextOffset, lastOffset: expectedLast }
  return { kind: 'more', place: next, bytes: READ_BYTES_MIN }
}

function ended(
  buffer: Buffer,
  start: number,
  end: number,
  {
    offset,
    endOffset,
    position,
    doubt,
  }: { offset: number; endOffset: number; position: number; doubt: Chunk['doubt'] },
): Step {
  const buffers = start < 0 ? [] : [buffer.subarray(start, end)]
  const startOffset = start < 0 ? offset : baseOffsetOf(buffer, start)
  const bytes = start < 0 ? 0 : end - start
  if (!(bytes >= 0)) bug(`read ${bytes} bytes`)
  const result = { buffers, bytes, startOffset, endOffset }
  return { kind: 'chunk', chunk: { result, endPosition: position + end, doubt } }
}

function damage(state: LogState, segment: Segment, position: number, reason: string): CorruptLogError {
  return new CorruptLogError(state.path(segment, 'log'), position, reason)
}
