import { assert } from '../base/assert.ts'
import { letGoBlock, takeBlock } from '../base/blocks.ts'
import {
  BATCH_HEADER_BYTES,
  baseOffset as baseOffsetOf,
  batchBytes,
  lastOffset,
  verifyCrc,
} from '../protocol/batch/header.ts'
import { CorruptLogError, OffsetOutOfRangeError } from './errors.ts'
import type { LogState } from './log-state.ts'
import { headerDamage } from './scan.ts'
import type { Segment } from './segment.ts'
import { positionFor } from './segment-index.ts'
import type { ReadLimits, ReadResult } from './tail.ts'

/** Bounds of one read of a file. A batch larger than that is read as a whole all the same. */
const READ_BYTES_MIN = 16 * 1024
const READ_BYTES_MAX = 4 * 1024 ** 2

/** Whole batches of the file, read together. */
interface Chunk {
  readonly result: ReadResult
  /** Where the next batch begins. */
  readonly endPosition: number
}

/**
 * Reads batches that are in files only. Whatever leaves has passed its CRC; a batch that does not is damage of this
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
  let position = cursor?.segment === segment ? cursor.position : await positionFor(state, segment, offset)
  const lease = await state.context.files.acquire(state.path(segment, 'log'), 'read')
  try {
    let wanted = Math.min(Math.max(limits.maxBytes + state.config.indexIntervalBytes, READ_BYTES_MIN), READ_BYTES_MAX)
    for (;;) {
      const left = segment.writtenBytes - position
      if (left <= 0) return 'none'
      const buffer = takeBlock(Math.min(wanted, left))
      const filled = await lease.file.read(buffer, position)
      if (filled < buffer.length) throw damage(state, segment, position + filled, 'the file is shorter than it was')
      const step = cutChunk(state, segment, { buffer, position, offset, limits })
      if (step.kind === 'more' || step.chunk.result.bytes === 0) letGoBlock(buffer)
      if (step.kind === 'chunk') return step.chunk
      // The batch at `position` needs more bytes than were read, or everything read lies before the offset.
      position = step.position
      wanted = Math.max(step.bytes, READ_BYTES_MIN)
    }
  } finally {
    lease.release()
  }
}

type Step =
  | { readonly kind: 'chunk'; readonly chunk: Chunk }
  | { readonly kind: 'more'; readonly position: number; readonly bytes: number }

/** Takes the batches wanted out of what was read at `position`. */
function cutChunk(
  state: LogState,
  segment: Segment,
  { buffer, position, offset, limits }: { buffer: Buffer; position: number; offset: number; limits: ReadLimits },
): Step {
  let start = -1
  let end = 0
  let endOffset = offset
  let nextOffset = segment.baseOffset
  let at = 0
  while (buffer.length - at >= BATCH_HEADER_BYTES) {
    const left = segment.writtenBytes - position - at
    const problem = headerDamage(buffer, at, { left, nextOffset, limitOffset: Number.MAX_SAFE_INTEGER })
    if (problem !== null) throw damage(state, segment, position + at, problem)
    const bytes = batchBytes(buffer, at)
    const last = lastOffset(buffer, at)
    nextOffset = last + 1
    if (last < offset) {
      at += bytes
      continue
    }
    const isOver = last >= limits.limitOffset
    // Limits lie between batches: one that begins below and ends beyond is most likely damaged, so its CRC is asked.
    if (isOver && (start >= 0 || baseOffsetOf(buffer, at) >= limits.limitOffset)) {
      return ended(buffer, start, end, { offset, endOffset, position })
    }
    const isForced = isOver || (start < 0 && limits.atLeastOneBatch)
    const total = at + bytes - (start < 0 ? at : start)
    if (total > limits.maxBytes && !isForced) return ended(buffer, start, end, { offset, endOffset, position })
    if (at + bytes > buffer.length) {
      if (start < 0) return { kind: 'more', position: position + at, bytes }
      return ended(buffer, start, end, { offset, endOffset, position })
    }
    if (!verifyCrc(buffer, at)) throw damage(state, segment, position + at, 'a batch with a wrong CRC')
    if (isOver) return ended(buffer, start, end, { offset, endOffset, position })
    if (start < 0) start = at
    at += bytes
    end = at
    endOffset = last + 1
  }
  if (start >= 0) return ended(buffer, start, end, { offset, endOffset, position })
  return { kind: 'more', position: position + at, bytes: READ_BYTES_MIN }
}

function ended(
  buffer: Buffer,
  start: number,
  end: number,
  { offset, endOffset, position }: { offset: number; endOffset: number; position: number },
): Step {
  const buffers = start < 0 ? [] : [buffer.subarray(start, end)]
  const startOffset = start < 0 ? offset : baseOffsetOf(buffer, start)
  const bytes = start < 0 ? 0 : end - start
  assert(bytes >= 0, `read ${bytes} bytes`)
  return { kind: 'chunk', chunk: { result: { buffers, bytes, startOffset, endOffset }, endPosition: position + end } }
}

function damage(state: LogState, segment: Segment, position: number, reason: string): CorruptLogError {
  return new CorruptLogError(state.path(segment, 'log'), position, reason)
}
