import { compress } from '../../protocol/batch/codecs.ts'
import { withRecordsSection } from '../../protocol/batch/build.ts'
import type { RecordCursor } from '../../protocol/batch/cursor.ts'
import {
  attributes,
  baseOffset,
  baseSequence,
  baseTimestamp,
  CODEC_MASK,
  type Codec,
  codecOf,
  DELETE_HORIZON_FLAG,
  isLogAppendTime,
  lastOffsetDelta,
  maxTimestamp,
  NO_TIMESTAMP,
  partitionLeaderEpoch,
  producerEpoch,
  producerId,
} from '../../protocol/batch/header.ts'
import { varintSize, writeVarint } from '../../protocol/batch/varint.ts'

/** A timestamp further than this from the new base cannot be written. */
const DELTA_MAX = 2 ** 51
const NOTHING = Buffer.alloc(0)

/** A record of a batch's section that stays. */
export interface KeptRecord {
  readonly start: number
  readonly end: number
  readonly timestampDelta: number
}

export function keptRecord({ recordStart, recordEnd, timestampDelta }: RecordCursor): KeptRecord {
  return { start: recordStart, end: recordEnd, timestampDelta }
}

/** Whether the records can be written with the delete horizon for their base timestamp. */
export function canCarryHorizon(buffer: Buffer, at: number, kept: readonly KeptRecord[], horizonMs: number): boolean {
  const shift = baseTimestamp(buffer, at) - horizonMs
  return kept.every(({ timestampDelta }) => Math.abs(shift + timestampDelta) < DELTA_MAX)
}

/**
 * The batch at `at` with only the records in `kept`, whose bytes are taken over as they are; `section` is its records
 * section, decompressed. Offsets, sequences, producer and codec stay. With `horizonMs` the base timestamp becomes the time
 * after which tombstones and the marker in it may go (KIP-534).
 */
export function rewriteBatch(
  buffer: Buffer,
  at: number,
  { section, kept, horizonMs }: { section: Buffer; kept: readonly KeptRecord[]; horizonMs: number | null },
): Buffer {
  const base = baseTimestamp(buffer, at)
  const records = horizonMs === null ? copied(section, kept) : shifted(section, kept, base - horizonMs)
  const old = attributes(buffer, at)
  let newest = isLogAppendTime(buffer, at) ? maxTimestamp(buffer, at) : NO_TIMESTAMP
  if (!isLogAppendTime(buffer, at)) {
    for (const { timestampDelta } of kept) newest = Math.max(newest, base + timestampDelta)
  }
  const header = {
    ...keptHeader(buffer, at),
    attributes: horizonMs === null ? old : old | DELETE_HORIZON_FLAG,
    baseTimestampMs: horizonMs ?? base,
    maxTimestampMs: newest,
    recordCount: kept.length,
  }
  return withRecordsSection(header, compress(codecOf(buffer, at) as Codec, records))
}

/** The batch without any record: it stands for its offsets, and for its producer's last sequence or epoch. */
export function emptyBatch(buffer: Buffer, at: number): Buffer {
  const header = {
    ...keptHeader(buffer, at),
    attributes: attributes(buffer, at) & ~(CODEC_MASK | DELETE_HORIZON_FLAG),
    baseTimestampMs: NO_TIMESTAMP,
    maxTimestampMs: maxTimestamp(buffer, at),
    recordCount: 0,
  }
  return withRecordsSection(header, NOTHING)
}

function keptHeader(buffer: Buffer, at: number) {
  return {
    baseOffset: baseOffset(buffer, at),
    lastOffsetDelta: lastOffsetDelta(buffer, at),
    leaderEpoch: partitionLeaderEpoch(buffer, at),
    producerId: producerId(buffer, at),
    producerEpoch: producerEpoch(buffer, at),
    baseSequence: baseSequence(buffer, at),
  }
}

function copied(section: Buffer, kept: readonly KeptRecord[]): Buffer {
  return Buffer.concat(kept.map(({ start, end }) => section.subarray(start, end)))
}

/** The same records counting their time from another base, `shift` earlier. */
function shifted(section: Buffer, kept: readonly KeptRecord[], shift: number): Buffer {
  return Buffer.concat(
    kept.flatMap(({ start, end, timestampDelta }) => {
      const attributesAt = skipVarint(section, start)
      const rest = section.subarray(skipVarint(section, attributesAt + 1), end)
      const delta = timestampDelta + shift
      const size = 1 + varintSize(delta) + rest.length
      const head = Buffer.allocUnsafe(varintSize(size) + 1 + varintSize(delta))
      const headAttributesAt = writeVarint(head, size, 0)
      head[headAttributesAt] = section[attributesAt] as number
      writeVarint(head, delta, headAttributesAt + 1)
      return [head, rest]
    }),
  )
}

/** The cursor has checked that a whole varint lies there. */
function skipVarint(section: Buffer, start: number): number {
  let at = start
  while ((section[at] as number) >= 0x80) at++
  return at + 1
}
