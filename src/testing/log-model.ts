import assert from 'node:assert/strict'
import { poisonFreeBlocks } from '../base/blocks.ts'
import type { Random } from '../base/random.ts'
import type { TopicId } from '../model/ids.ts'
import { buildBatch } from '../protocol/batch/build.ts'
import { baseOffset, batchBytes, lastOffset, lastOffsetDelta, maxTimestamp } from '../protocol/batch/header.ts'
import { recordsOf } from '../protocol/batch/records.ts'
import type { PartitionLog } from '../storage/partition-log.ts'
import type { ReadResult } from '../storage/tail.ts'

poisonFreeBlocks()

export const TEST_TOPIC_ID = 'dGVzdC10b3BpYy1pZC0wMQ' as TopicId

interface ModelBatch {
  readonly bytes: Buffer
  readonly baseOffset: number
  readonly endOffset: number
}

/**
 * What a log must hold: the dumb second version that tests compare with. It knows what was appended, what is certain to
 * survive a power cut (`durableOffset`), and where the log may begin.
 */
export class LogModel {
  batches: ModelBatch[] = []
  endOffset = 0
  /** The log may not end before this after a crash. */
  durableOffset = 0
  /** The log begins at the first or anywhere up to the second: an operation on it was under way. */
  startOffset = 0
  startOffsetMax = 0
  /** While a truncation is under way: what certainly remains. */
  truncatingTo: number | null = null
  #nextSequence = 0
  /** Where an empty log may go on, after a crash in a truncation that empties it. */
  #emptyAt: number[] = []
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  /** A batch as a client would send it, of the producer 7, in order. */
  nextBatch({ recordsMax = 5, bytesMax = 300 } = {}): Buffer {
    const random = this.#random
    const count = random.between(1, recordsMax)
    const records = Array.from({ length: count }, () => ({
      key: random.chance(0.3) ? null : random.bytes(random.below(8)),
      value: random.bytes(random.below(bytesMax)),
      timestampMs: 1_000_000 + this.endOffset * 10 + random.below(200),
    }))
    const batch = buildBatch({ records, producerId: 7, producerEpoch: 0, baseSequence: this.#nextSequence })
    return batch
  }

  /** The batch is in the log now, with the offset the log gave it. */
  appended(batch: Buffer): void {
    assert.equal(baseOffset(batch, 0), this.endOffset)
    const endOffset = lastOffset(batch, 0) + 1
    this.batches.push({ bytes: Buffer.from(batch), baseOffset: this.endOffset, endOffset })
    this.endOffset = endOffset
    this.#nextSequence += lastOffsetDelta(batch, 0) + 1
  }

  /** A truncation begins; `cutTo` when it has ended. */
  beginTruncation(log: PartitionLog, offset: number): void {
    const kept = this.batches.findLast(({ endOffset }) => endOffset <= offset)
    this.truncatingTo = Math.min(log.durableOffset, kept?.endOffset ?? this.startOffset)
    // When nothing that can be read remains, the log is begun anew: half way there it may be empty anywhere.
    if ((kept?.endOffset ?? 0) > this.startOffset) return
    this.truncatingTo = 0
    this.#emptyAt = [0, offset]
  }

  /** The process is about to die. */
  crash(log: PartitionLog): void {
    this.durableOffset = this.truncatingTo ?? log.durableOffset
    this.truncatingTo = null
  }

  cutTo(offset: number): void {
    this.truncatingTo = null
    this.#emptyAt = []
    if (offset >= this.endOffset) return
    const kept = this.batches.filter(({ endOffset }) => endOffset <= offset)
    const end = Math.min(offset, this.batches[kept.length]?.baseOffset ?? offset)
    // Nothing that can be read remains: the log is begun anew.
    const isEmptied = offset <= this.startOffset || end < this.startOffset
    this.batches = isEmptied ? [] : kept
    this.endOffset = isEmptied ? offset : end
    if (isEmptied) this.startOffset = this.startOffsetMax = offset
    this.durableOffset = Math.min(this.durableOffset, this.endOffset)
    this.#nextSequence = this.endOffset
  }

  /** After a start: the end is one that a crash may have left, the rest is forgotten. */
  recovered(log: PartitionLog): void {
    const isEmpty = log.endOffset === log.logStartOffset && this.#emptyAt.includes(log.endOffset)
    if (isEmpty) this.startOffset = this.startOffsetMax = log.endOffset
    const ends = [
      0,
      ...this.#emptyAt,
      this.startOffset,
      this.startOffsetMax,
      ...this.batches.map(({ endOffset }) => endOffset),
    ]
    assert.ok(ends.includes(log.endOffset), `the log ends at ${log.endOffset}, within a batch`)
    assert.ok(
      log.endOffset >= this.durableOffset && log.endOffset <= this.endOffset,
      `the log ends at ${log.endOffset}, it was durable to ${this.durableOffset} and ended at ${this.endOffset}`,
    )
    assert.ok(
      log.logStartOffset >= this.startOffset && log.logStartOffset <= this.startOffsetMax,
      `the log starts at ${log.logStartOffset}, not in [${this.startOffset}, ${this.startOffsetMax}]`,
    )
    assert.equal(log.durableOffset, log.endOffset)
    this.batches = isEmpty ? [] : this.batches.filter(({ endOffset }) => endOffset <= log.endOffset)
    this.endOffset = log.endOffset
    this.#nextSequence = this.endOffset
    this.#emptyAt = []
    this.durableOffset = log.endOffset
    this.startOffset = this.startOffsetMax = log.logStartOffset
  }

  /** Reads everything and compares the bytes. */
  async compare(log: PartitionLog): Promise<void> {
    const wanted = this.batches.filter(({ endOffset }) => endOffset > log.logStartOffset)
    const maxBytes = this.#random.pick([1, 300, 5000, 1_000_000])
    let index = 0
    for (let offset = log.logStartOffset; offset < log.endOffset; ) {
      const read: ReadResult = await log.read(offset, { maxBytes, limitOffset: log.endOffset, atLeastOneBatch: true })
      assert.ok(read.bytes > 0, `nothing read at ${offset} of ${log.dump()}`)
      for (const buffer of read.buffers) {
        for (let at = 0; at < buffer.length; at += batchBytes(buffer, at)) {
          const bytes = buffer.subarray(at, at + batchBytes(buffer, at))
          assert.ok(wanted[index]?.bytes.equals(bytes), `other bytes at offset ${baseOffset(buffer, at)}`)
          index++
        }
      }
      offset = read.endOffset
    }
    assert.equal(index, wanted.length, `batches of ${log.dump()}`)
  }

  /** Producers, epochs and timestamps are as a scan of the batches says. */
  async compareDerived(log: PartitionLog): Promise<void> {
    const producer = log.producers.get(7)
    // What was deleted may be forgotten.
    const kept = this.batches.filter(({ baseOffset }) => baseOffset >= log.logStartOffset)
    const last = kept.at(-1)
    if (last === undefined && this.batches.length > 0) return
    assert.equal(
      producer?.lastOffset ?? -1,
      last === undefined ? -1 : last.endOffset - 1,
      'last offset of the producer',
    )
    assert.equal(producer?.lastSequence ?? -1, last === undefined ? -1 : this.endOffset - 1, 'last sequence')
    for (const { bytes, baseOffset } of kept.slice(-5)) {
      const check = log.checkProducer(bytes)
      assert.equal(check.kind, 'duplicate', `the batch at ${baseOffset} is not known`)
    }
    const wantedMs = 1_000_000 + this.#random.below((this.endOffset + 2) * 10)
    const found = await log.findByTimestamp(wantedMs)
    assert.deepEqual(found?.offset ?? null, this.#offsetAt(log, wantedMs), `first record from ${wantedMs}`)
  }

  #offsetAt(log: PartitionLog, wantedMs: number): number | null {
    for (const { bytes } of this.batches) {
      if (maxTimestamp(bytes, 0) < wantedMs) continue
      for (const { offset, timestampMs } of recordsOf(bytes)) {
        if (timestampMs >= wantedMs && offset >= log.logStartOffset) return offset
      }
    }
    return null
  }
}
