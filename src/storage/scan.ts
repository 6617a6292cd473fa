import { crc32c } from '../base/crc32c.ts'
import type { DiskFile } from '../env/disk.ts'
import {
  BATCH_HEADER_BYTES,
  baseOffset,
  batchBytes,
  crc,
  lastOffset,
  lastOffsetDelta,
  MAGIC_V2,
  magic,
  recordCount,
  verifyCrc,
} from '../protocol/batch/header.ts'

const SCAN_CHUNK_BYTES = 1024 ** 2
const CRC_COVERS_FROM = 21

export interface Scan {
  /** Positions in the file: [from, to). A batch begins at `from`. */
  readonly from: number
  readonly to: number
  /** No batch may begin below this offset; the first one begins just there, or follows a gap. */
  readonly nextOffset: number
  /** The first batch is where it belongs, whatever `nextOffset` is: the index has named it. */
  readonly isFirstSure?: boolean
  /** No batch may end at or beyond this offset. */
  readonly limitOffset: number
  /** CRCs are verified from this offset on. */
  readonly verifyFrom: number
  /**
   * Called for every batch in order. Only the header is there for certain; a batch of up to a mebibyte is there as a
   * whole. Returning false ends the scan after this batch.
   */
  onBatch(buffer: Buffer, at: number, position: number): boolean | void
}

export interface ScanEnd {
  /** Where the last good batch ended. */
  readonly position: number
  readonly nextOffset: number
  /** Why it ended there; null: at `to`, or because `onBatch` said so. */
  readonly damage: string | null
  /** The damage is a base offset that another batch contradicts. No torn write leaves that behind. */
  readonly isMisplaced: boolean
  /** Of the last good batch, when it follows a gap and none behind it says whether it may. */
  readonly doubt: Doubt | null
}

/**
 * The checksum of a batch does not cover its base offset. One that begins where the batch before it ended is where it
 * belongs. Behind a gap, as compaction leaves them, it is in doubt: the next one contradicts when it begins too early.
 */
export interface Doubt {
  readonly position: number
  /** Where the batch before it ended. */
  readonly nextOffset: number
  readonly baseOffset: number
  readonly lastOffset: number
}

/** The doubt about the batch at `at`, which lies at `position` in its file; null: it follows the one before directly. */
export function doubtAbout(buffer: Buffer, at: number, position: number, nextOffset: number): Doubt | null {
  const first = baseOffset(buffer, at)
  return first === nextOffset ? null : { position, nextOffset, baseOffset: first, lastOffset: lastOffset(buffer, at) }
}

/** Whether a batch with base offset `next` behind it shows that the one in doubt has not the offset it was given. */
function isContradicted(doubt: Doubt, next: number): boolean {
  return next <= doubt.lastOffset && next > doubt.nextOffset + doubt.lastOffset - doubt.baseOffset
}

function misplaced(doubt: Doubt, next: number): ScanEnd {
  const damage = `a batch with base offset ${doubt.baseOffset}, ${doubt.nextOffset} was expected; the next has ${next}`
  return { position: doubt.position, nextOffset: doubt.nextOffset, damage, isMisplaced: true, doubt: null }
}

/** The base offset of the batch at `position`; null when the file ends there. */
export async function baseOffsetAt(file: DiskFile, position: number, to: number): Promise<number | null> {
  if (to - position < BATCH_HEADER_BYTES) return null
  const header = Buffer.allocUnsafe(BATCH_HEADER_BYTES)
  return (await file.read(header, position)) < header.length ? null : baseOffset(header, 0)
}

/** What is wrong with the header at `at`, or null. `left` bytes of the file begin there. */
export function headerDamage(
  buffer: Buffer,
  at: number,
  { left, nextOffset, limitOffset }: { left: number; nextOffset: number; limitOffset: number },
): string | null {
  if (left < BATCH_HEADER_BYTES) return `${left} bytes are left, less than a batch header`
  const version = magic(buffer, at)
  if (version !== MAGIC_V2) return `a batch of magic ${version}`
  const bytes = batchBytes(buffer, at)
  if (bytes < BATCH_HEADER_BYTES || bytes > left) return `a batch of ${bytes} bytes, ${left} are left`
  const [first, delta, count] = [baseOffset(buffer, at), lastOffsetDelta(buffer, at), recordCount(buffer, at)]
  if (first < nextOffset) return `a batch with base offset ${first}, ${nextOffset} or more was expected`
  if (delta < 0 || first + delta >= limitOffset) return `a batch [${first}, ${first + delta}] beyond ${limitOffset}`
  if (count < 0 || count > delta + 1) return `a batch of ${count} records for ${delta + 1} offsets`
  return null
}

/** Walks over the batches of a file in chunks. Stops at the first that is not whole and valid. */
export async function scanBatches(file: DiskFile, scan: Scan): Promise<ScanEnd> {
  const { to, limitOffset, verifyFrom } = scan
  let { from: position, nextOffset, isFirstSure = false } = scan
  let doubt: Doubt | null = null
  const ended = (at: number, damage: string | null): ScanEnd => {
    return { position: at, nextOffset, damage, isMisplaced: false, doubt }
  }
  const chunk = Buffer.allocUnsafeSlow(Math.min(SCAN_CHUNK_BYTES, Math.max(to - position, 0)))
  while (position < to) {
    const wanted = Math.min(chunk.length, to - position)
    const filled = await file.read(wanted === chunk.length ? chunk : chunk.subarray(0, wanted), position)
    if (filled < wanted) return ended(position, `the file ends at ${position + filled}, not at ${to}`)
    let at = 0
    while (at < filled) {
      const left = to - position - at
      if (filled - at < BATCH_HEADER_BYTES && left >= BATCH_HEADER_BYTES) break
      const damage = headerDamage(chunk, at, { left, nextOffset, limitOffset })
      if (damage !== null) {
        const next = left < BATCH_HEADER_BYTES ? -1 : baseOffset(chunk, at)
        return doubt !== null && isContradicted(doubt, next) ? misplaced(doubt, next) : ended(position + at, damage)
      }
      const bytes = batchBytes(chunk, at)
      const isWhole = bytes <= filled - at
      if (!isWhole && at > 0) break
      if (lastOffset(chunk, at) >= verifyFrom) {
        const isGood = isWhole ? verifyCrc(chunk, at) : await verifyLargeBatch(file, chunk, filled, position, bytes)
        if (!isGood) return ended(position + at, 'a batch with a wrong CRC')
      }
      doubt = isFirstSure ? null : doubtAbout(chunk, at, position + at, nextOffset)
      isFirstSure = false
      nextOffset = lastOffset(chunk, at) + 1
      const goOn = scan.onBatch(chunk, at, position + at)
      at += bytes
      if (goOn === false) {
        const next: number | null = doubt === null ? null : await baseOffsetAt(file, position + at, to)
        if (doubt === null || next === null) return ended(position + at, null)
        return isContradicted(doubt, next) ? misplaced(doubt, next) : { ...ended(position + at, null), doubt: null }
      }
    }
    position += at
  }
  return ended(position, null)
}

/** CRC of a batch larger than the chunk, whose first `filled` bytes are in `chunk`; read piece by piece. */
async function verifyLargeBatch(
  file: DiskFile,
  chunk: Buffer,
  filled: number,
  position: number,
  bytes: number,
): Promise<boolean> {
  let sum = crc32c(chunk.subarray(CRC_COVERS_FROM, filled))
  const piece = Buffer.allocUnsafeSlow(Math.min(SCAN_CHUNK_BYTES, bytes - filled))
  for (let done = filled; done < bytes; ) {
    const part = piece.subarray(0, Math.min(piece.length, bytes - done))
    if ((await file.read(part, position + done)) < part.length) return false
    sum = crc32c(part, sum)
    done += part.length
  }
  return sum === crc(chunk, 0)
}

const MAGIC_AT = 16
/** A batch looked for behind damage is not taken for one when it claims to lie further ahead than this. */
const OFFSETS_AHEAD_MAX = 2 ** 32

/** Whether a whole good batch, at or beyond `nextOffset`, begins anywhere in [from, to). */
export async function hasBatchBehind(
  file: DiskFile,
  { from, to, nextOffset }: { from: number; to: number; nextOffset: number },
): Promise<boolean> {
  const limitOffset = nextOffset + OFFSETS_AHEAD_MAX
  const chunk = Buffer.allocUnsafeSlow(Math.min(SCAN_CHUNK_BYTES, Math.max(to - from, 0)))
  for (let position = from; to - position >= BATCH_HEADER_BYTES; ) {
    const part = chunk.subarray(0, Math.min(chunk.length, to - position))
    if ((await file.read(part, position)) < part.length) return false
    let at = 0
    for (; part.length - at >= BATCH_HEADER_BYTES; at++) {
      const magicAt = part.indexOf(MAGIC_V2, at + MAGIC_AT)
      at = magicAt < 0 ? part.length : magicAt - MAGIC_AT
      if (part.length - at < BATCH_HEADER_BYTES) break
      const left = to - position - at
      if (headerDamage(part, at, { left, nextOffset, limitOffset }) !== null) continue
      const batch = Buffer.allocUnsafeSlow(batchBytes(part, at))
      if ((await file.read(batch, position + at)) === batch.length && verifyCrc(batch, 0)) return true
    }
    position += Math.max(part.length - BATCH_HEADER_BYTES + 1, 1)
  }
  return false
}
