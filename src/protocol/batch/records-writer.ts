import { assert } from '../../base/assert.ts'
import {
  batchHeader,
  type BatchToBuild,
  type RecordToBuild,
  recordBodyBytes,
  withRecordsSection,
  writeRecordBody,
} from './build.ts'
import { compress } from './codecs.ts'
import { BATCH_HEADER_BYTES, NO_TIMESTAMP, writeHeader } from './header.ts'
import { varintSize, writeVarint } from './varint.ts'

/** What a batch says beside its records. */
export type BatchFacts = Omit<BatchToBuild, 'records' | 'lastOffsetDelta' | 'deleteHorizonMs'>

/**
 * The records of one batch, written as they come, into the memory that the batch is sent from: nothing of a record is kept
 * beside its bytes. Input that cannot be written is a bug of the caller and asserts.
 */
export class RecordsWriter {
  #buffer: Buffer
  #end = BATCH_HEADER_BYTES
  #count = 0
  #baseTimestampMs = NO_TIMESTAMP
  #maxTimestampMs = NO_TIMESTAMP
  /** The bytes have been handed out: whoever has them may still be sending them. */
  #isLent = false

  /** `expectedBytes`: what it will hold, as far as one knows; it grows where that was too little. */
  constructor(expectedBytes: number) {
    this.#buffer = Buffer.allocUnsafeSlow(BATCH_HEADER_BYTES + expectedBytes)
  }

  get count(): number {
    return this.#count
  }

  /** Of the records, before compression. */
  get bytes(): number {
    return this.#end - BATCH_HEADER_BYTES
  }

  append(record: RecordToBuild): void {
    assert(!this.#isLent, 'a record for a batch that has been sent')
    const timestampMs = record.timestampMs ?? NO_TIMESTAMP
    if (this.#count === 0) this.#baseTimestampMs = timestampMs
    const size = recordBodyBytes(record, this.#count, this.#baseTimestampMs)
    this.#makeRoom(varintSize(size) + size)
    const at = writeVarint(this.#buffer, size, this.#end)
    this.#end = writeRecordBody(this.#buffer, record, this.#count, this.#baseTimestampMs, at)
    this.#maxTimestampMs = Math.max(this.#maxTimestampMs, timestampMs)
    this.#count += 1
  }

  /** The whole batch. What an earlier call returned stays as it is. */
  finish(facts: BatchFacts): Buffer {
    assert(this.#count > 0, 'a batch without records')
    const header = batchHeader(facts, {
      count: this.#count,
      lastOffsetDelta: this.#count - 1,
      baseTimestampMs: this.#baseTimestampMs,
      maxTimestampMs: this.#maxTimestampMs,
    })
    const { codec = 'none', compressionLevel } = facts
    const section = this.#buffer.subarray(BATCH_HEADER_BYTES, this.#end)
    if (codec !== 'none') return withRecordsSection(header, compress(codec, section, compressionLevel))
    const whole = this.#isLent ? Buffer.from(this.#buffer.subarray(0, this.#end)) : this.#buffer.subarray(0, this.#end)
    this.#isLent = true
    writeHeader(whole, header)
    return whole
  }

  #makeRoom(bytes: number): void {
    const wanted = this.#end + bytes
    if (wanted <= this.#buffer.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(wanted, this.#buffer.length * 2))
    this.#buffer.copy(grown, 0, 0, this.#end)
    this.#buffer = grown
  }
}
