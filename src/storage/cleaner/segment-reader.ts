import { BATCH_HEADER_BYTES, baseOffset, batchBytes, lastOffset, verifyCrc } from '../../protocol/batch/header.ts'
import type { DiskFile } from '../../env/disk.ts'
import { CorruptLogError } from '../errors.ts'
import { epochDamage } from '../leader-epochs.ts'
import type { LogState } from '../log-state.ts'
import { baseOffsetAt, headerDamage } from '../scan.ts'
import type { Segment } from '../segment.ts'
import type { Pace } from './pace.ts'

const CHUNK_BYTES = 256 * 1024

/** Where a batch lies: `at` in `buffer`, `position` in the segment. */
export interface BatchPlace {
  readonly buffer: Buffer
  readonly at: number
  readonly position: number
}

interface Visit {
  readonly from: number
  readonly pace: Pace
  check(): void
  onBatch(place: BatchPlace): boolean | Promise<boolean>
}

/**
 * Visits every batch of a closed segment from `from` on, whole, a chunk in memory at a time and at the cleaner's pace. Its
 * CRC has been verified, and that its offsets and epoch, which no CRC covers, fit what is around it: one that claimed to
 * be newer than it is would cost the newest record of its keys. Ends when `onBatch` returns false. Rejects with
 * `CorruptLogError` for damage, with what `check` throws when the work is no longer wanted.
 */
export async function eachBatch(state: LogState, segment: Segment, visit: Visit): Promise<void> {
  const { from, pace, check, onBatch } = visit
  const path = state.path(segment, 'log')
  const to = segment.bytes
  const limitOffset = state.limitOf(segment)
  const lease = await state.context.files.acquire(path, 'read')
  try {
    check()
    let nextOffset = segment.baseOffset
    let chunk = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, Math.max(to - from, 0)))
    for (let position = from; position < to; ) {
      const filled = await lease.file.read(chunk.subarray(0, Math.min(chunk.length, to - position)), position)
      check()
      if (filled < Math.min(chunk.length, to - position)) {
        throw new CorruptLogError(path, position + filled, 'the file is shorter than it was')
      }
      pace.spent(filled)
      let at = 0
      while (at < filled) {
        const left = to - position - at
        if (filled - at < BATCH_HEADER_BYTES && left >= BATCH_HEADER_BYTES) break
        const damage = headerDamage(chunk, at, { left, nextOffset, limitOffset })
        if (damage !== null) throw new CorruptLogError(path, position + at, damage)
        const bytes = batchBytes(chunk, at)
        if (bytes > filled - at) break
        const wrong = verifyCrc(chunk, at) ? epochDamage(state.epochs, chunk, at) : 'a batch with a wrong CRC'
        if (wrong !== null) throw new CorruptLogError(path, position + at, wrong)
        if (baseOffset(chunk, at) !== nextOffset) {
          const misplaced = await gapDamage(lease.file, { chunk, at, filled, position, to, nextOffset })
          check()
          if (misplaced !== null) throw new CorruptLogError(path, position + at, misplaced)
        }
        nextOffset = lastOffset(chunk, at) + 1
        const goesOn = onBatch({ buffer: chunk, at, position: position + at })
        if (!(goesOn === true || (await goesOn))) return
        at += bytes
        if (!pace.isRestDue) continue
        await pace.rest()
        check()
      }
      // One that is larger than the chunk.
      if (at === 0) chunk = Buffer.allocUnsafeSlow(batchBytes(chunk, 0))
      position += at
      await pace.rest()
      check()
    }
  } finally {
    lease.release()
  }
}

interface Gap {
  readonly chunk: Buffer
  readonly at: number
  readonly filled: number
  readonly position: number
  readonly to: number
  readonly nextOffset: number
}

/** What shows that the batch at `at`, which follows a gap, has not the offsets it claims: the next begins too early. */
async function gapDamage(file: DiskFile, { chunk, at, filled, position, to, nextOffset }: Gap): Promise<string | null> {
  const end = at + batchBytes(chunk, at)
  const isAtHand = filled - end >= BATCH_HEADER_BYTES
  const next = isAtHand ? baseOffset(chunk, end) : await baseOffsetAt(file, position + end, to)
  const [first, last] = [baseOffset(chunk, at), lastOffset(chunk, at)]
  if (next === null || next > last) return null
  return `a batch [${first}, ${last}] where ${nextOffset} was expected; the next begins at ${next}`
}
