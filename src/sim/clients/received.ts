import {
  baseOffset,
  baseSequence,
  baseTimestamp,
  batchBytes,
  crc,
  partitionLeaderEpoch,
  producerEpoch,
  producerId,
  verifyCrc,
} from '../../protocol/batch/header.ts'
import { recordsOf } from '../../protocol/batch/records.ts'
import { batchesOf } from './batches.ts'
import { digestOf } from './payload.ts'

export interface ReceivedRecord {
  readonly offset: number
  readonly epoch: number
  readonly id: string
  readonly digest: number
}

/** A batch as it was read before: its records count from its base offset. */
type KnownBatch = readonly Omit<ReceivedRecord, 'epoch'>[]

/** Batches kept: more than a run has, so that the last reader finds what the first one decoded. */
const KNOWN_MAX = 20_000

/**
 * Batches that were read before, by what tells them apart. Every reader of a run gets the same bytes, whose checksum is
 * compared each time; decoding them once is enough.
 */
const known = new Map<string, KnownBatch>()

/** The records from `from` on in what a fetch brought. Throws where the bytes are not what they claim to be. */
export function receivedRecords(bytes: Buffer, from: number): { records: ReceivedRecord[]; to: number } {
  const records: ReceivedRecord[] = []
  let to = from
  for (const { at, lastOffset, isControl } of batchesOf(bytes)) {
    if (!verifyCrc(bytes, at)) throw new Error(`a batch with a wrong checksum was served at ${from}`)
    to = Math.max(to, lastOffset + 1)
    if (isControl) continue
    const [first, epoch] = [baseOffset(bytes, at), partitionLeaderEpoch(bytes, at)]
    for (const { offset, id, digest } of recordsIn(bytes, at)) {
      if (first + offset >= from) records.push({ offset: first + offset, epoch, id, digest })
    }
  }
  return { records, to }
}

function recordsIn(bytes: Buffer, at: number): KnownBatch {
  const producer = `${producerId(bytes, at)} ${producerEpoch(bytes, at)} ${baseSequence(bytes, at)}`
  const name = `${producer} ${baseTimestamp(bytes, at)} ${batchBytes(bytes, at)} ${crc(bytes, at)}`
  let batch = known.get(name)
  if (batch === undefined) {
    if (known.size >= KNOWN_MAX) known.clear()
    batch = decoded(bytes, at)
    known.set(name, batch)
  }
  return batch
}

function decoded(bytes: Buffer, at: number): KnownBatch {
  const first = baseOffset(bytes, at)
  return Array.from(recordsOf(bytes, at), (record) => {
    const value = record.value ?? Buffer.alloc(0)
    const end = value.indexOf('|')
    const id = end < 0 ? `unreadable ${value.toString('hex', 0, 20)}` : value.toString('latin1', 0, end)
    return { offset: record.offset - first, id, digest: digestOf(record) }
  })
}
