import { batchBytes, BATCH_HEADER_BYTES, lastOffset, verifyCrc } from '../../protocol/batch/header.ts'
import { CorruptLogError } from '../errors.ts'
import type { LogState } from '../log-state.ts'
import { headerDamage } from '../scan.ts'
import type { Segment } from '../segment.ts'
import type { Pace } from './pace.ts'

const CHUNK_BYTES = 256 * 1024

/** Where a batch lies: `at` in `buffer`, `position` in the segment. */
export interface BatchPlace {
  readonly buffer: Buffer
  readonly at: number
  readonly position: number
}

/**
 * Visits every batch of a closed segment from `from` on, whole and with its CRC verified, a chunk in memory at a time and
 * at the cleaner's pace. Ends when `onBatch` returns false. Rejects with `CorruptLogError` for damage, with what `check`
 * throws when the work is no longer wanted.
 */
export async function eachBatch(
  state: LogState,
  segment: Segment,
  {
    from,
    pace,
    check,
    onBatch,
  }: {
    readonly from: number
    readonly pace: Pace
    check(): void
    onBatch(place: BatchPlace): boolean | Promise<boolean>
  },
): Promise<void> {
  const path = state.path(segment, 'log')
  const to = segment.bytes
  const lease = await state.context.files.acquire(path, 'read')
  try {
    let nextOffset = segment.baseOffset
    let chunk = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, Math.max(to - from, 0)))
    for (let position = from; position < to; ) {
      const wanted = Math.min(chunk.length, to - position)
      const filled = await lease.file.read(chunk.subarray(0, wanted), position)
      check()
      if (filled < wanted) throw new CorruptLogError(path, position + filled, 'the file is shorter than it was')
      pace.spent(filled)
      let at = 0
      while (at < filled) {
        const left = to - position - at
        if (filled - at < BATCH_HEADER_BYTES && left >= BATCH_HEADER_BYTES) break
        const damage = headerDamage(chunk, at, { left, nextOffset, limitOffset: Number.MAX_SAFE_INTEGER })
        if (damage !== null) throw new CorruptLogError(path, position + at, damage)
        const bytes = batchBytes(chunk, at)
        if (bytes > filled - at) break
        if (!verifyCrc(chunk, at)) throw new CorruptLogError(path, position + at, 'a batch with a wrong CRC')
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
