import assert from 'node:assert/strict'
import type { Random } from '../base/random.ts'
import { buildBatch, ControlRecordType, controlRecordKey } from '../protocol/batch/build.ts'
import {
  baseOffset,
  batchBytes,
  CODECS,
  isControl,
  isTransactional,
  lastOffset,
  lastSequence,
  producerEpoch,
  producerId,
  stampBatch,
} from '../protocol/batch/header.ts'
import { type BatchRecord, recordsOf } from '../protocol/batch/records.ts'
import type { PartitionLog } from '../storage/partition-log.ts'

const EPOCH = 3

interface Appended {
  readonly bytes: Buffer
  readonly wallMs: number
}

interface Producer {
  nextSequence: number
  /** Where its open transaction began. */
  openSince: number | null
}

/** Everything that was ever appended, and what a compacted log must still say of it. */
export class CompactionModel {
  batches: Appended[] = []
  endOffset = 0
  /** Nothing below is looked at any more. */
  startOffset = 0
  readonly #random: Random
  readonly #keys: number
  #producers = new Map<number, Producer>()

  constructor(random: Random, { keys = 8 } = {}) {
    this.#random = random
    this.#keys = keys
  }

  /** A batch of some producer, or the end of a transaction. It is in the log when this returns. */
  append(log: PartitionLog, wallMs: number): void {
    const random = this.#random
    const open = [...this.#producers].filter(([, { openSince }]) => openSince !== null)
    if (open.length > 0 && random.chance(0.35)) {
      const [id] = random.pick(open)
      this.#endTransaction(log, id, wallMs, random.chance(0.5))
      return
    }
    const kind = random.below(4)
    const id = kind === 0 ? -1 : kind === 1 ? 10 + random.below(2) : 20 + random.below(3)
    this.#appendData(log, id, wallMs)
  }

  endAll(log: PartitionLog, wallMs: number): void {
    for (const [id, { openSince }] of this.#producers) {
      if (openSince !== null) this.#endTransaction(log, id, wallMs, this.#random.chance(0.5))
    }
  }

  #appendData(log: PartitionLog, id: number, wallMs: number): void {
    const random = this.#random
    const records = Array.from({ length: random.between(1, 6) }, (_, i) => ({
      key: Buffer.from(`key-${random.below(this.#keys)}`),
      value: random.chance(0.25)
        ? null
        : Buffer.concat([Buffer.from(`${this.endOffset}.${i} `), random.bytes(random.below(150))]),
      headers: random.chance(0.2) ? [{ key: 'h', value: random.bytes(3) }] : [],
      timestampMs: wallMs - random.below(50),
    }))
    const producer = this.#producers.get(id) ?? { nextSequence: 0, openSince: null }
    const batch = buildBatch({
      records,
      codec: random.pick(CODECS),
      ...(id < 0 ? {} : { producerId: id, producerEpoch: EPOCH, baseSequence: producer.nextSequence }),
      isTransactional: id >= 20,
    })
    if (id >= 0) {
      this.#producers.set(id, producer)
      producer.nextSequence += records.length
      if (id >= 20) producer.openSince ??= this.endOffset
    }
    this.#take(log, batch, wallMs)
  }

  #endTransaction(log: PartitionLog, id: number, wallMs: number, isCommit: boolean): void {
    const value = Buffer.alloc(6)
    const type = isCommit ? ControlRecordType.COMMIT : ControlRecordType.ABORT
    const batch = buildBatch({
      records: [{ key: controlRecordKey(type), value, timestampMs: wallMs }],
      producerId: id,
      producerEpoch: EPOCH,
      isTransactional: true,
      isControl: true,
    })
    ;(this.#producers.get(id) as Producer).openSince = null
    this.#take(log, batch, wallMs)
  }

  #take(log: PartitionLog, batch: Buffer, wallMs: number): void {
    const copy = Buffer.from(batch)
    const { baseOffset: offset, lastOffset: last } = log.appendAsLeader(batch, { leaderEpoch: 1, wallMs })
    stampBatch(copy, 0, { baseOffset: offset, leaderEpoch: 1 })
    this.batches.push({ bytes: copy, wallMs })
    this.endOffset = last + 1
  }

  /** The log ends earlier now: its process or its power was lost, or it was truncated. */
  cutTo(endOffset: number): void {
    this.batches = this.batches.filter(({ bytes }) => lastOffset(bytes, 0) < endOffset)
    this.endOffset = endOffset
    this.#producers = new Map()
    for (const { bytes } of this.batches) {
      const id = producerId(bytes, 0)
      if (id < 0) continue
      const known = this.#producers.get(id) ?? { nextSequence: 0, openSince: null }
      this.#producers.set(id, known)
      if (isControl(bytes, 0)) known.openSince = null
      else {
        known.nextSequence = lastSequence(bytes, 0) + 1
        if (isTransactional(bytes, 0)) known.openSince ??= baseOffset(bytes, 0)
      }
    }
  }

  /** Offset of the marker that ended it, per data batch of a transaction; no entry: it is open. */
  #markerOf(): Map<Buffer, { offset: number; isAbort: boolean }> {
    const open = new Map<number, Buffer[]>()
    const markers = new Map<Buffer, { offset: number; isAbort: boolean }>()
    for (const { bytes } of this.batches) {
      const id = producerId(bytes, 0)
      if (!isTransactional(bytes, 0)) continue
      if (!isControl(bytes, 0)) open.set(id, [...(open.get(id) ?? []), bytes])
      else {
        const [record] = recordsOf(bytes)
        const isAbort = record?.key?.readInt16BE(2) === ControlRecordType.ABORT
        for (const batch of open.get(id) ?? []) markers.set(batch, { offset: baseOffset(bytes, 0), isAbort })
        open.delete(id)
      }
    }
    return markers
  }

  /** Base offsets of batches whose transaction was aborted. */
  get abortedOffsets(): number[] {
    return [...this.#markerOf()].flatMap(([batch, { isAbort }]) => (isAbort ? [baseOffset(batch, 0)] : []))
  }

  /** What a reader of committed records sees at `offset` and above, up to `limitOffset`. */
  #committed(limitOffset: number): { record: BatchRecord; wallMs: number }[] {
    const markers = this.#markerOf()
    return this.batches.flatMap(({ bytes, wallMs }) => {
      if (isControl(bytes, 0)) return []
      const marker = markers.get(bytes)
      if (isTransactional(bytes, 0) && (marker === undefined || marker.isAbort)) return []
      const records = [...recordsOf(bytes)].filter(({ offset }) => offset >= this.startOffset && offset < limitOffset)
      return records.map((record) => ({ record, wallMs }))
    })
  }

  /** Keys whose newest committed record is no tombstone. */
  committedKeys(): string[] {
    const newest = new Map(this.#committed(this.endOffset).map(({ record }) => [String(record.key), record.value]))
    return [...newest].flatMap(([key, value]) => (value === null ? [] : [key]))
  }

  /**
   * Reads the log as consumers do and compares: what is there is what was appended, at its offset; committed readers see
   * no aborted record and for every key the newest value; tombstones and markers are there for as long as they must be.
   */
  async compare(
    log: PartitionLog,
    { wallMs, deleteRetentionMs }: { wallMs: number; deleteRetentionMs: number },
  ): Promise<void> {
    const stable = log.lastStableOffset(log.endOffset)
    const batches = await readAll(log)
    this.#compareBatches(batches)
    this.#compareMarkers(batches, { wallMs, deleteRetentionMs, startOffset: log.logStartOffset })
    const seen = await readCommitted(log, stable)
    const newest = new Map<string, { record: BatchRecord; wallMs: number }>()
    const committed = this.#committed(stable)
    for (const each of committed) newest.set(String(each.record.key), each)
    const seenNewest = new Map(seen.map((record) => [String(record.key), record]))
    const known = new Set(committed.map(({ record }) => record.offset))
    for (const { offset } of seen) assert.ok(known.has(offset), `the record at ${offset} is not a committed one`)
    for (const [key, { record, wallMs: appendedMs }] of newest) {
      const found = seenNewest.get(key)
      const mayBeGone = record.value === null && wallMs - appendedMs >= deleteRetentionMs
      if (found === undefined && mayBeGone) continue
      assert.equal(found?.offset, record.offset, `newest record of ${key} in ${log.dump()}`)
    }
  }

  #compareBatches(batches: readonly Buffer[]): void {
    const originals = new Map(this.batches.map(({ bytes }) => [baseOffset(bytes, 0), bytes]))
    let nextOffset = 0
    for (const batch of batches) {
      const first = baseOffset(batch, 0)
      assert.ok(first >= nextOffset, 'offsets grow')
      nextOffset = lastOffset(batch, 0) + 1
      const original = originals.get(first) as Buffer
      assert.ok(original !== undefined, `no batch was appended at ${first}`)
      const identity = (bytes: Buffer) => [
        lastOffset(bytes, 0),
        producerId(bytes, 0),
        producerEpoch(bytes, 0),
        lastSequence(bytes, 0),
        isControl(bytes, 0),
        isTransactional(bytes, 0),
      ]
      assert.deepEqual(identity(batch), identity(original))
      const records = new Map([...recordsOf(original)].map((record) => [record.offset, record]))
      for (const record of recordsOf(batch)) assert.deepEqual(record, records.get(record.offset))
    }
    const last = this.batches.at(-1)
    if (last !== undefined) assert.equal(nextOffset, this.endOffset, 'the log ends where it ended')
  }

  #compareMarkers(
    batches: readonly Buffer[],
    { wallMs, deleteRetentionMs, startOffset }: { wallMs: number; deleteRetentionMs: number; startOffset: number },
  ): void {
    const there = new Set(batches.map((batch) => baseOffset(batch, 0)))
    const markers = this.#markerOf()
    for (const [batch, { offset }] of markers) {
      if (there.has(baseOffset(batch, 0)))
        assert.ok(there.has(offset), `data at ${baseOffset(batch, 0)} without its marker ${offset}`)
    }
    for (const { bytes, wallMs: appendedMs } of this.batches) {
      const mustBeThere =
        isControl(bytes, 0) && wallMs - appendedMs < deleteRetentionMs && baseOffset(bytes, 0) >= startOffset
      if (mustBeThere) assert.ok(there.has(baseOffset(bytes, 0)), `marker ${baseOffset(bytes, 0)} went too early`)
    }
  }

  /** Each producer's last batch is a duplicate, and what follows it is accepted. */
  compareProducers(log: PartitionLog): void {
    const last = new Map<number, Buffer>()
    for (const { bytes } of this.batches) {
      if (producerId(bytes, 0) >= 0 && !isControl(bytes, 0) && baseOffset(bytes, 0) >= this.startOffset)
        last.set(producerId(bytes, 0), bytes)
    }
    for (const [id, bytes] of last) {
      const entry = log.producers.get(id)
      assert.deepEqual([entry?.epoch, entry?.lastSequence], [EPOCH, lastSequence(bytes, 0)], `producer ${id}`)
      assert.equal(log.checkProducer(bytes).kind, 'duplicate')
    }
    const open = [...this.#producers.values()].flatMap(({ openSince }) => openSince ?? [])
    assert.equal(log.lastStableOffset(log.endOffset), Math.min(log.endOffset, ...open), 'last stable offset')
  }
}

/** All batches, each a buffer of its own. */
export async function readAll(log: PartitionLog): Promise<Buffer[]> {
  const batches: Buffer[] = []
  for (let offset = log.logStartOffset; offset < log.endOffset; ) {
    const read = await log.read(offset, { maxBytes: 5000, limitOffset: log.endOffset, atLeastOneBatch: true })
    assert.ok(read.bytes > 0, `nothing at ${offset} of ${log.dump()}`)
    batches.push(...read.buffers.flatMap(splitBatches))
    offset = read.endOffset
  }
  return batches
}

function splitBatches(buffer: Buffer): Buffer[] {
  const batches: Buffer[] = []
  for (let at = 0; at < buffer.length; at += batchBytes(buffer, at)) {
    batches.push(Buffer.from(buffer.subarray(at, at + batchBytes(buffer, at))))
  }
  return batches
}

/** As Kafka's consumer with `isolation.level=read_committed`: fetch by fetch, each with its list of aborted transactions. */
async function readCommitted(log: PartitionLog, stable: number): Promise<BatchRecord[]> {
  const records: BatchRecord[] = []
  for (let offset = log.logStartOffset; offset < stable; ) {
    const read = await log.read(offset, { maxBytes: 3000, limitOffset: stable, atLeastOneBatch: true })
    if (read.bytes === 0) break
    const aborted = await log.abortedTransactions(offset, read.endOffset)
    const abortedProducers = new Set<number>()
    for (const batch of read.buffers.flatMap(splitBatches)) {
      const id = producerId(batch, 0)
      while (aborted[0] !== undefined && aborted[0].firstOffset <= lastOffset(batch, 0)) {
        abortedProducers.add((aborted.shift() as { producerId: number }).producerId)
      }
      if (isControl(batch, 0)) {
        for (const { key } of recordsOf(batch)) {
          if (key?.readInt16BE(2) === ControlRecordType.ABORT) abortedProducers.delete(id)
        }
        continue
      }
      if (isTransactional(batch, 0) && abortedProducers.has(id)) continue
      for (const record of recordsOf(batch)) if (record.offset >= log.logStartOffset) records.push(record)
    }
    offset = read.endOffset
  }
  return records
}
