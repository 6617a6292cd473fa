import { assert } from '../base/assert.ts'
import type { RecordToBuild } from '../protocol/batch/build.ts'
import { advanceSequence, type Codec } from '../protocol/batch/header.ts'
import { recordsOf } from '../protocol/batch/records.ts'
import { RecordsWriter } from '../protocol/batch/records-writer.ts'
import type { ClientError } from '../rpc/errors.ts'

/** Where a record has come to rest. */
export interface Delivery {
  readonly topic: string
  readonly partition: number
  /** -1 when nobody said: with acks 0, or when an older copy was found by its sequence number. */
  readonly offset: number
  /** Of the record, or of its appending where the topic says so. */
  readonly timestampMs: number
}

/** Of a producer, as the server knows it in one partition. */
export interface Identity {
  readonly producerId: number
  readonly epoch: number
}

export interface Sequence extends Identity {
  readonly baseSequence: number
}

/**
 * Records of one partition that travel together. Once it has been sent it keeps its sequence number, so that a copy that
 * arrives twice is recognised.
 */
export class ProducerBatch {
  readonly topic: string
  readonly partition: number
  readonly createdMs: number
  /** After that its records are given up. */
  readonly deadlineMs: number
  /** Before compression, as the callers' buffer counts them. */
  bytes = 0
  /** Null until it is first sent, with an idempotent producer. */
  sequence: Sequence | null = null
  /** No more records may be added. */
  isClosed = false
  /** Resolves when all records have been delivered or given up. */
  readonly settled: Promise<void>
  readonly #writer: RecordsWriter
  readonly #timestampsMs: number[] = []
  /** Of the callers, one a record. */
  readonly #resolves: ((delivery: Delivery) => void)[] = []
  readonly #rejects: ((error: ClientError) => void)[] = []
  #encoded: Buffer | null = null
  #settle: () => void = () => {}

  constructor(
    topic: string,
    partition: number,
    times: { createdMs: number; deadlineMs: number },
    { expectedBytes, settled: onSettled }: { expectedBytes: number; settled?: ((bytes: number) => void) | undefined },
  ) {
    this.#writer = new RecordsWriter(expectedBytes)
    this.topic = topic
    this.partition = partition
    this.createdMs = times.createdMs
    this.deadlineMs = times.deadlineMs
    this.settled = new Promise((resolve) => {
      this.#settle = () => {
        onSettled?.(this.bytes)
        resolve()
      }
    })
  }

  get count(): number {
    return this.#timestampsMs.length
  }

  /** `bytes`: what the record takes of the callers' buffer. */
  add(record: RecordToBuild, bytes: number): Promise<Delivery> {
    assert(!this.isClosed, 'a record for a closed batch')
    this.#write(record)
    this.bytes += bytes
    return new Promise((resolve, reject) => {
      this.#resolves.push(resolve)
      this.#rejects.push(reject)
    })
  }

  #write(record: RecordToBuild): void {
    this.#writer.append(record)
    this.#timestampsMs.push(record.timestampMs ?? -1)
  }

  /** The sequence number after this batch's. */
  get nextSequence(): number {
    assert(this.sequence !== null, 'a batch without a sequence')
    return advanceSequence(this.sequence.baseSequence, this.count)
  }

  setSequence(sequence: Sequence | null): void {
    this.sequence = sequence
    this.#encoded = null
  }

  encode(codec: Codec): Buffer {
    this.isClosed = true
    this.#encoded ??= this.#writer.finish({
      codec,
      ...(this.sequence === null
        ? {}
        : {
            producerId: this.sequence.producerId,
            producerEpoch: this.sequence.epoch,
            baseSequence: this.sequence.baseSequence,
          }),
    })
    return this.#encoded
  }

  succeed(baseOffset: number, appendTimeMs: number): void {
    const { topic, partition } = this
    for (let index = 0; index < this.#resolves.length; index++) {
      const timestampMs = appendTimeMs >= 0 ? appendTimeMs : (this.#timestampsMs[index] as number)
      const offset = baseOffset < 0 ? -1 : baseOffset + index
      this.#resolves[index]?.({ topic, partition, offset, timestampMs })
    }
    this.#settle()
  }

  fail(error: ClientError): void {
    for (const reject of this.#rejects) reject(error)
    this.#settle()
  }

  /**
   * Two batches with one half of the records each, for a server that finds this one too large. They take over its
   * sequence numbers: it was refused, so none of them is used.
   */
  split(): [ProducerBatch, ProducerBatch] {
    const records = [...recordsOf(this.#writer.finish({}))]
    const middle = this.count >> 1
    const first = this.#part(records, [0, middle], this.sequence)
    const sequence = this.sequence && {
      ...this.sequence,
      baseSequence: advanceSequence(this.sequence.baseSequence, middle),
    }
    const second = this.#part(records, [middle, this.count], sequence)
    void Promise.all([first.settled, second.settled]).then(() => this.#settle())
    return [first, second]
  }

  #part(
    records: readonly RecordToBuild[],
    [from, to]: readonly [number, number],
    sequence: Sequence | null,
  ): ProducerBatch {
    const bytes = Math.ceil((this.bytes * (to - from)) / this.count)
    const part = new ProducerBatch(this.topic, this.partition, this, { expectedBytes: bytes })
    for (const { key, value, headers, timestampMs } of records.slice(from, to)) {
      part.#write({ key, value, timestampMs: timestampMs as number, ...(headers === undefined ? {} : { headers }) })
    }
    // Not with a spread: the stack has no room for the arguments of a large batch.
    for (const resolve of this.#resolves.slice(from, to)) part.#resolves.push(resolve)
    for (const reject of this.#rejects.slice(from, to)) part.#rejects.push(reject)
    part.bytes = bytes
    part.sequence = sequence
    part.isClosed = true
    return part
  }
}
