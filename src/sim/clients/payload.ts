import { crc32c } from '../../base/crc32c.ts'
import type { Random } from '../../base/random.ts'
import type { RecordHeader, RecordToBuild } from '../../protocol/batch/build.ts'
import { verifyCrc } from '../../protocol/batch/header.ts'
import { type BatchRecord, recordsOf } from '../../protocol/batch/records.ts'
import { batchesOf } from './batches.ts'

export interface Payload extends RecordToBuild {
  readonly key: Buffer
  readonly value: Buffer
  readonly headers: readonly RecordHeader[]
  readonly timestampMs: number
}

/** A record that names itself: its id begins the value, up to a `|`. */
export function payloadOf(id: string, key: string, random: Random, timestampMs: number): Payload {
  const padding = random.bytes(random.chance(0.1) ? random.below(4000) : random.below(120))
  const headers = random.chance(0.2) ? [{ key: 'h', value: random.bytes(random.below(20)) }] : []
  return { key: Buffer.from(key), value: Buffer.concat([Buffer.from(`${id}|`), padding]), headers, timestampMs }
}

/** Of everything a reader must get back as it was sent. */
export function digestOf(record: Pick<BatchRecord, 'key' | 'value' | 'headers' | 'timestampMs'>): number {
  let digest = crc32c(
    record.value ?? Buffer.alloc(0),
    crc32c(record.key ?? Buffer.alloc(0), record.timestampMs % 2 ** 32),
  )
  for (const { key, value } of record.headers)
    digest = crc32c(value ?? Buffer.alloc(0), crc32c(Buffer.from(key), digest))
  return digest
}

export interface ReceivedRecord {
  readonly offset: number
  readonly id: string
  readonly digest: number
}

/** The records from `from` on in what a fetch brought. Throws where the bytes are not what they claim to be. */
export function receivedRecords(bytes: Buffer, from: number): { records: ReceivedRecord[]; to: number } {
  const records: ReceivedRecord[] = []
  let to = from
  for (const { at, lastOffset, isControl } of batchesOf(bytes)) {
    if (!verifyCrc(bytes, at)) throw new Error(`a batch with a wrong checksum was served at ${from}`)
    to = Math.max(to, lastOffset + 1)
    if (isControl) continue
    for (const record of recordsOf(bytes, at)) {
      if (record.offset < from) continue
      const value = record.value ?? Buffer.alloc(0)
      const end = value.indexOf('|')
      const id = end < 0 ? `unreadable ${value.toString('hex', 0, 20)}` : value.toString('latin1', 0, end)
      records.push({ offset: record.offset, id, digest: digestOf(record) })
    }
  }
  return { records, to }
}
