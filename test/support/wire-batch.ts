import { ByteReader, ByteWriter, readInt64, writeInt64 } from '../../src/base/bytes.ts'
import { crc32c } from '../../src/base/crc32c.ts'

/** What the tests know of a record; written by hand like `wire.ts`. */
export interface WireRecord {
  readonly offset: number
  readonly timestampMs: number
  readonly key: Buffer | null
  readonly value: Buffer | null
}

export interface Sequence {
  readonly producerId: number
  readonly producerEpoch: number
  readonly baseSequence: number
}

const noSequence: Sequence = { producerId: -1, producerEpoch: -1, baseSequence: -1 }

/** An uncompressed v2 batch as a producer sends it. */
export function makeBatch(
  records: readonly { key?: Buffer | null; value: Buffer | null }[],
  sequence: Sequence = noSequence,
  timestampMs = Date.now(),
): Buffer {
  const body = new ByteWriter(1024)
  records.forEach(({ key = null, value }, index) => {
    const record = new ByteWriter()
    record.int8(0)
    record.varlong(0)
    record.varint(index)
    for (const field of [key, value]) {
      record.varint(field === null ? -1 : field.length)
      if (field !== null) record.bytes(field)
    }
    record.varint(0)
    const bytes = record.toBuffer()
    body.varint(bytes.length)
    body.bytes(bytes)
  })
  const recordBytes = body.toBuffer()
  const batch = Buffer.alloc(61 + recordBytes.length)
  batch.writeInt32BE(batch.length - 12, 8)
  batch.writeInt32BE(-1, 12)
  batch[16] = 2
  batch.writeInt32BE(records.length - 1, 23)
  writeInt64(batch, timestampMs, 27)
  writeInt64(batch, timestampMs, 35)
  writeInt64(batch, sequence.producerId, 43)
  batch.writeInt16BE(sequence.producerEpoch, 51)
  batch.writeInt32BE(sequence.baseSequence, 53)
  batch.writeInt32BE(records.length, 57)
  recordBytes.copy(batch, 61)
  batch.writeUInt32BE(crc32c(batch.subarray(21)), 17)
  return batch
}

/** The records of uncompressed batches, those of control batches left out. A batch cut off at the end is ignored. */
export function readBatches(bytes: Buffer): { records: WireRecord[]; nextOffset: number } {
  const records: WireRecord[] = []
  let nextOffset = -1
  for (let at = 0; at + 61 <= bytes.length; ) {
    const baseOffset = readInt64(bytes, at)
    const end = at + 12 + bytes.readInt32BE(at + 8)
    if (end > bytes.length) break
    const attributes = bytes.readInt16BE(at + 21)
    if (crc32c(bytes.subarray(at + 21, end)) !== bytes.readUInt32BE(at + 17)) {
      throw new Error(`batch at offset ${baseOffset} fails its checksum`)
    }
    if ((attributes & 7) !== 0) throw new Error(`batch at offset ${baseOffset} is compressed`)
    if ((attributes & 0x20) === 0) {
      const base = { offset: baseOffset, timestampMs: readInt64(bytes, at + 27) }
      records.push(...recordsOf(new ByteReader(bytes, at + 57, end), base))
    }
    nextOffset = baseOffset + bytes.readInt32BE(at + 23) + 1
    at = end
  }
  return { records, nextOffset }
}

function recordsOf(reader: ByteReader, base: Pick<WireRecord, 'offset' | 'timestampMs'>): WireRecord[] {
  const count = reader.int32()
  const records: WireRecord[] = []
  const field = () => {
    const length = reader.varint()
    return length < 0 ? null : Buffer.from(reader.bytes(length))
  }
  for (let i = 0; i < count; i++) {
    const end = reader.varint() + reader.position
    reader.int8()
    const timestampMs = base.timestampMs + reader.varlong()
    const offset = base.offset + reader.varint()
    records.push({ offset, timestampMs, key: field(), value: field() })
    reader.position = end
  }
  return records
}
