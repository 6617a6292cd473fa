import { MalformedError } from '../base/bytes.ts'
import type { RecordHeader } from '../protocol/batch/build.ts'
import {
  attributes,
  baseOffset,
  baseTimestamp,
  isControl,
  isLogAppendTime,
  isTransactional,
  lastOffset,
  maxTimestamp,
  partitionLeaderEpoch,
  producerEpoch,
  producerId,
  verifyCrc,
} from '../protocol/batch/header.ts'
import type { RecordCursor } from '../protocol/batch/cursor.ts'
import { batchesOf, headersOf, NO_HEADERS, openRecords } from '../protocol/batch/records.ts'
import { ProtocolError } from '../rpc/errors.ts'

export interface ConsumerRecord {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly timestampMs: number
  /** Key, value and headers are views of what was fetched: whoever keeps a few of many should copy them. */
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly RecordHeader[]
  readonly leaderEpoch: number
  /** Of the batch that the record came in; one object for all its records. */
  readonly batch: BatchFacts
}

export interface BatchFacts {
  /** As on the wire: codec, kind of timestamp, transactional, control. */
  readonly attributes: number
  /** -1: not from an idempotent producer. */
  readonly producerId: number
  readonly producerEpoch: number
}

export interface AbortedTransaction {
  readonly producerId: number
  readonly firstOffset: number
}

/**
 * What one answer brought of one partition, read record by record. Left out are records below the position that was
 * asked for, transaction markers and, when aborted transactions are given, their records.
 */
export class FetchedRecords {
  readonly topic: string
  readonly partition: number
  /** Where the consumer stands: the next record it is given has this offset or a later one. */
  position: number
  /** Behind all that is here; null where a batch is broken, which is told when it is its turn. */
  readonly endOffset: number | null
  readonly #buffer: Buffer
  readonly #batches: Iterator<number>
  /** Sorted by first offset; null: everything is given. */
  readonly #aborted: AbortedTransaction[] | null
  /** Producers whose present transaction was aborted. */
  readonly #aborting = new Set<number>()
  /** Over the records of the present batch; null when they are not for the reader. */
  #cursor: RecordCursor | null = null
  #firstOffset = 0
  #firstTimestampMs = 0
  /** Of all records of the batch, where the broker gave it. */
  #appendTimeMs: number | null = null
  #batchEnd = 0
  #leaderEpoch = -1
  #batch: BatchFacts = { attributes: 0, producerId: -1, producerEpoch: -1 }

  constructor(parts: {
    topic: string
    partition: number
    position: number
    buffer: Buffer
    aborted: readonly AbortedTransaction[] | null
  }) {
    this.topic = parts.topic
    this.partition = parts.partition
    this.position = parts.position
    this.#buffer = parts.buffer
    this.#aborted = parts.aborted && [...parts.aborted].sort((one, other) => one.firstOffset - other.firstOffset)
    this.#batches = batchesOf(parts.buffer, { allowCut: true })
    this.endOffset = endOf(parts.buffer, parts.position)
  }

  /** The next record; null at the end, and then `position` is behind all that was read. Throws on a broken batch. */
  next(): ConsumerRecord | null {
    for (;;) {
      const cursor = this.#cursor
      if (cursor === null || !cursor.next()) {
        this.position = Math.max(this.position, this.#batchEnd)
        if (!this.#nextBatch()) return null
        continue
      }
      const offset = this.#firstOffset + cursor.offsetDelta
      if (offset < this.position) continue
      this.position = offset + 1
      return {
        topic: this.topic,
        partition: this.partition,
        offset,
        timestampMs: this.#appendTimeMs ?? this.#firstTimestampMs + cursor.timestampDelta,
        key: cursor.key(),
        value: cursor.value(),
        headers: cursor.headerCount === 0 ? NO_HEADERS : headersOf(cursor),
        leaderEpoch: this.#leaderEpoch,
        batch: this.#batch,
      }
    }
  }

  #nextBatch(): boolean {
    const next = this.#batches.next()
    if (next.done) return false
    const at = next.value
    if (!verifyCrc(this.#buffer, at)) {
      throw new ProtocolError(
        `${this.topic}-${this.partition}: the batch at offset ${baseOffset(this.#buffer, at)} fails its checksum`,
      )
    }
    this.#batchEnd = lastOffset(this.#buffer, at) + 1
    this.#leaderEpoch = partitionLeaderEpoch(this.#buffer, at)
    this.#batch = {
      attributes: attributes(this.#buffer, at),
      producerId: producerId(this.#buffer, at),
      producerEpoch: producerEpoch(this.#buffer, at),
    }
    this.#firstOffset = baseOffset(this.#buffer, at)
    this.#firstTimestampMs = baseTimestamp(this.#buffer, at)
    this.#appendTimeMs = isLogAppendTime(this.#buffer, at) ? maxTimestamp(this.#buffer, at) : null
    this.#cursor = this.#isVisible(at) ? openRecords(this.#buffer, at) : null
    return true
  }

  #isVisible(at: number): boolean {
    const buffer = this.#buffer
    if (this.#aborted === null) return !isControl(buffer, at)
    while (this.#aborted.length > 0 && (this.#aborted[0] as AbortedTransaction).firstOffset < this.#batchEnd) {
      this.#aborting.add((this.#aborted.shift() as AbortedTransaction).producerId)
    }
    const producer = producerId(buffer, at)
    if (isControl(buffer, at)) {
      // The marker ends the transaction; the producer's next one is another matter.
      this.#aborting.delete(producer)
      return false
    }
    return !(isTransactional(buffer, at) && this.#aborting.has(producer))
  }
}

function endOf(buffer: Buffer, position: number): number | null {
  let end = position
  try {
    for (const at of batchesOf(buffer, { allowCut: true })) end = Math.max(end, lastOffset(buffer, at) + 1)
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error
    return null
  }
  return end
}
