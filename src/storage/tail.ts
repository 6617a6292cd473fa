import { bug } from '../base/assert.ts'
import { holdBlock, letGoBlock, takeBlock } from '../base/blocks.ts'
import { baseOffset as baseOffsetOf, batchBytes, lastOffset } from '../protocol/batch/header.ts'
import type { Segment } from './segment.ts'

/** Batches in a row, as they will lie in one segment. */
export interface TailEntry {
  buffer: Buffer
  readonly baseOffset: number
  /** One past the last. */
  endOffset: number
  readonly segment: Segment
  readonly position: number
  /** What it counts against the budget. */
  retainedBytes: number
  /** Being written or written: its buffer stays as it is. */
  isSealed: boolean
}

export interface ReadLimits {
  /** Whole batches up to about this many bytes. */
  readonly maxBytes: number
  /** Only batches that end below this offset. */
  readonly limitOffset: number
  /** The first batch is returned even when it alone exceeds `maxBytes`. */
  readonly atLeastOneBatch: boolean
}

export interface ReadResult {
  /**
   * Whole batches; they belong to the log and must not be changed. The reader holds their blocks, and may let go of them
   * (`letGoBlocks`) when he has done with them; if he does not, the garbage collector sees to it.
   */
  readonly buffers: Buffer[]
  readonly bytes: number
  /** Base offset of the first batch, or the offset asked for when there is none. */
  readonly startOffset: number
  /** One past the last batch: where the next read begins. */
  readonly endOffset: number
}

/** A slice of a buffer more than this many times its size is copied: it must not keep the whole frame alive. */
const PINNED_FACTOR_MAX = 4
/** Batches below this are copied, one after the other, into slabs of ours: fewer pieces to write and to send. */
const COPY_BYTES_MAX = 2048
const SLAB_BYTES_MIN = 1024
const SLAB_BYTES_MAX = 64 * 1024

/**
 * The newest part of a log in memory: all that is not in the file yet and, while the budget lasts, what was written
 * lately. Covers [startOffset, end of the log) without a gap.
 */
export class Tail {
  startOffset: number
  /** Appended and not in the file yet. */
  unwrittenBytes = 0
  /** Counted by the budget. */
  retainedBytes = 0
  #entries: TailEntry[] = []
  #head = 0
  /** Index of the first entry that is not written. */
  #unwritten = 0
  #slab: Buffer | null = null
  #slabUsed = 0

  constructor(startOffset: number) {
    this.startOffset = startOffset
  }

  get isEmpty(): boolean {
    return this.#head === this.#entries.length
  }

  get hasUnwritten(): boolean {
    return this.#unwritten < this.#entries.length
  }

  /** Takes whole batches, all of one segment. Returns the growth in retained bytes. */
  push(buffer: Buffer, range: { baseOffset: number; endOffset: number }, segment: Segment, position: number): number {
    const before = this.retainedBytes
    this.unwrittenBytes += buffer.length
    if (buffer.length < COPY_BYTES_MAX || buffer.length * PINNED_FACTOR_MAX < buffer.buffer.byteLength) {
      this.#pushCopy(buffer, range, segment, position)
    } else {
      this.#pushEntry(buffer, range, segment, position, buffer.length)
    }
    return this.retainedBytes - before
  }

  #pushEntry(
    buffer: Buffer,
    { baseOffset, endOffset }: { baseOffset: number; endOffset: number },
    segment: Segment,
    position: number,
    retainedBytes: number,
  ): void {
    holdBlock(buffer)
    this.#entries.push({ buffer, baseOffset, endOffset, segment, position, retainedBytes, isSealed: false })
    this.retainedBytes += retainedBytes
  }

  #pushCopy(
    buffer: Buffer,
    range: { baseOffset: number; endOffset: number },
    segment: Segment,
    position: number,
  ): void {
    if (this.#slab === null || this.#slab.length - this.#slabUsed < buffer.length) {
      const wanted = Math.min(Math.max((this.#slab?.length ?? 0) * 2, SLAB_BYTES_MIN), SLAB_BYTES_MAX)
      this.#dropSlab()
      this.#slab = takeBlock(Math.max(wanted, buffer.length))
      this.#slabUsed = 0
    }
    const slab = this.#slab
    const start = this.#slabUsed
    slab.set(buffer, start)
    this.#slabUsed = start + buffer.length
    const last = this.isEmpty ? undefined : this.#entries.at(-1)
    const isNext =
      last !== undefined &&
      !last.isSealed &&
      last.segment === segment &&
      last.buffer.buffer === slab.buffer &&
      last.buffer.byteOffset + last.buffer.length === slab.byteOffset + start
    if (!isNext) {
      // Whatever of a slab is not used yet is charged to the entry that opened it.
      const charged = start === 0 ? slab.length : 0
      this.#pushEntry(slab.subarray(start, this.#slabUsed), range, segment, position, charged)
      return
    }
    const from = last.buffer.byteOffset - slab.byteOffset
    last.buffer = slab.subarray(from, this.#slabUsed)
    last.endOffset = range.endOffset
  }

  /** The next entries to write: of one segment, in a row, sealed. */
  gather(bytesMax: number, buffersMax: number): TailEntry[] {
    const result: TailEntry[] = []
    let bytes = 0
    for (let i = this.#unwritten; i < this.#entries.length && result.length < buffersMax; i++) {
      const entry = this.#entries[i] as TailEntry
      if (result.length > 0 && (entry.segment !== result[0]?.segment || bytes + entry.buffer.length > bytesMax)) break
      entry.isSealed = true
      bytes += entry.buffer.length
      result.push(entry)
    }
    return result
  }

  /** The entries that `gather` gave are in the file. */
  written(entries: readonly TailEntry[]): void {
    for (const entry of entries) {
      if (this.#entries[this.#unwritten] !== entry) bug(`entries are written in order, at offset ${entry.baseOffset}`)
      this.#unwritten++
      this.unwrittenBytes -= entry.buffer.length
    }
  }

  /** Lets written entries go, oldest first, until at most `bytesMax` are retained. Returns the bytes freed. */
  trim(bytesMax: number): number {
    const before = this.retainedBytes
    while (this.retainedBytes > bytesMax && this.#head < this.#unwritten) this.#dropHead()
    this.#compact()
    return before - this.retainedBytes
  }

  /** Lets written entries go that end at or below `offset`. Returns the bytes freed. */
  cutBelow(offset: number): number {
    const before = this.retainedBytes
    while (this.#head < this.#unwritten && (this.#entries[this.#head] as TailEntry).endOffset <= offset)
      this.#dropHead()
    this.#compact()
    return before - this.retainedBytes
  }

  #dropHead(): void {
    const entry = this.#entries[this.#head] as TailEntry
    this.retainedBytes -= entry.retainedBytes
    this.startOffset = entry.endOffset
    letGoBlock(entry.buffer)
    // The array is cut later; until then it must not keep what it has let go of from the garbage collector either.
    entry.buffer = NO_BYTES
    this.#head++
  }

  #dropSlab(): void {
    if (this.#slab !== null) letGoBlock(this.#slab)
    this.#slab = null
  }

  #compact(): void {
    if (this.isEmpty) {
      this.#dropSlab()
      this.#entries = []
      this.#head = 0
      this.#unwritten = 0
    } else if (this.#head > 256 && this.#head * 2 > this.#entries.length) {
      this.#entries.splice(0, this.#head)
      this.#unwritten -= this.#head
      this.#head = 0
    }
  }

  /** Forgets everything; the log ends at `endOffset` now, all of it in files. Returns the bytes freed. */
  reset(endOffset: number): number {
    const freed = this.retainedBytes
    for (let i = this.#head; i < this.#entries.length; i++) letGoBlock((this.#entries[i] as TailEntry).buffer)
    this.#entries = []
    this.#head = 0
    this.#unwritten = 0
    this.#dropSlab()
    this.retainedBytes = 0
    this.unwrittenBytes = 0
    this.startOffset = endOffset
    return freed
  }

  /**
   * Drops every batch that reaches `offset` or lies beyond it; what is written of them stays in the files. Nothing may be
   * under way. Returns where the log ends now, at most `offset`.
   */
  cutTo(offset: number): number {
    if (!(offset >= this.startOffset)) bug(`tail cut to ${offset}, it begins at ${this.startOffset}`)
    const index = this.#indexOf(offset)
    const dropped = this.#entries.splice(index)
    this.#dropSlab()
    const first = dropped[0]
    const kept =
      first === undefined ? null : cutBatches(first, first.baseOffset, { ...EVERYTHING, limitOffset: offset })
    dropped.forEach((entry, i) => {
      this.retainedBytes -= entry.retainedBytes
      if (index + i >= this.#unwritten) this.unwrittenBytes -= entry.buffer.length
    })
    const wasWritten = index < this.#unwritten
    this.#unwritten = Math.min(this.#unwritten, index)
    if (kept !== null) holdBlock(kept.buffer)
    for (const { buffer } of dropped) letGoBlock(buffer)
    if (first === undefined) return offset
    if (kept === null) return Math.min(offset, first.baseOffset)
    const { baseOffset, segment, position } = first
    const { buffer, endOffset } = kept
    this.#entries.push({
      buffer,
      baseOffset,
      endOffset,
      segment,
      position,
      retainedBytes: buffer.length,
      isSealed: true,
    })
    this.retainedBytes += buffer.length
    if (wasWritten) this.#unwritten++
    else this.unwrittenBytes += buffer.length
    return Math.min(offset, nextBase(first, buffer.length))
  }

  /** By reference. The offset must not lie before `startOffset`. */
  read(offset: number, { maxBytes, limitOffset, atLeastOneBatch }: ReadLimits): ReadResult {
    if (!(offset >= this.startOffset)) bug(`read of ${offset} from a tail that begins at ${this.startOffset}`)
    const buffers: Buffer[] = []
    let bytes = 0
    let startOffset = offset
    let endOffset = offset
    for (let i = this.#indexOf(offset); i < this.#entries.length; i++) {
      const entry = this.#entries[i] as TailEntry
      if (entry.baseOffset >= limitOffset) break
      const left = maxBytes - bytes
      const isFirst = bytes === 0
      const isWhole = entry.baseOffset >= offset && entry.endOffset <= limitOffset && entry.buffer.length <= left
      if (isWhole) {
        if (isFirst) startOffset = entry.baseOffset
        buffers.push(entry.buffer)
        bytes += entry.buffer.length
        endOffset = entry.endOffset
        continue
      }
      const part = cutBatches(entry, offset, {
        maxBytes: left,
        limitOffset,
        atLeastOneBatch: atLeastOneBatch && isFirst,
      })
      if (part === null) break
      if (isFirst) startOffset = part.startOffset
      buffers.push(part.buffer)
      bytes += part.buffer.length
      endOffset = part.endOffset
      if (endOffset < entry.endOffset) break
    }
    for (const buffer of buffers) holdBlock(buffer)
    return { buffers, bytes, startOffset, endOffset }
  }

  /** Of the first entry that ends beyond `offset`. */
  #indexOf(offset: number): number {
    let low = this.#head
    let high = this.#entries.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#entries[middle] as TailEntry).endOffset <= offset) low = middle + 1
      else high = middle
    }
    return low
  }
}

const NO_BYTES = Buffer.alloc(0)
const EVERYTHING: ReadLimits = { maxBytes: Number.MAX_SAFE_INTEGER, limitOffset: 0, atLeastOneBatch: false }

/** Base offset of the batch of the entry that begins at `at`. */
function nextBase({ buffer, endOffset }: TailEntry, at: number): number {
  return at < buffer.length ? baseOffsetOf(buffer, at) : endOffset
}

/** The batches of one entry from the one that holds `offset`; null when there are none. */
function cutBatches(
  { buffer, endOffset: entryEnd, baseOffset }: TailEntry,
  offset: number,
  { maxBytes, limitOffset, atLeastOneBatch }: ReadLimits,
): { buffer: Buffer; startOffset: number; endOffset: number } | null {
  let start = -1
  let startOffset = baseOffset
  let endOffset = baseOffset
  let at = 0
  while (at < buffer.length) {
    const bytes = batchBytes(buffer, at)
    const last = lastOffset(buffer, at)
    if (last >= offset) {
      if (last >= limitOffset) break
      const from = start < 0 ? at : start
      const isForced = start < 0 && atLeastOneBatch
      if (at + bytes - from > maxBytes && !isForced) break
      if (start < 0) {
        start = at
        startOffset = baseOffsetOf(buffer, at)
      }
      endOffset = last + 1
      at += bytes
      if (at - start >= maxBytes) break
    } else {
      at += bytes
    }
  }
  if (!(endOffset <= entryEnd)) bug(`an entry up to ${entryEnd} holds a batch up to ${endOffset}`)
  return start < 0 ? null : { buffer: buffer.subarray(start, at), startOffset, endOffset }
}
