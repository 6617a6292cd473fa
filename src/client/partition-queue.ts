import { assert } from '../base/assert.ts'
import type { RecordToBuild } from '../protocol/batch/build.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { RecordTooLargeError } from './errors.ts'
import { BrokerError, type ClientError, TimeoutError } from '../rpc/errors.ts'
import { type Delivery, type Identity, ProducerBatch } from './producer-batch.ts'

export interface QueueOptions {
  readonly batchBytes: number
  readonly lingerMs: number
  readonly deliveryTimeoutMs: number
  readonly isIdempotent: boolean
  /** Batches of one partition under way. The server remembers five to recognise copies by. */
  readonly maxInFlight: number
  /** The records of a batch, of so many bytes together, have been delivered or given up. */
  settled?(bytes: number): void
}

const EPOCH_MAX = 32_766

/**
 * The batches of one partition, in order. What fails and can be tried again goes back in its place, and nothing new is
 * sent before all that was under way has come back: so the order holds, with the same sequence numbers.
 *
 * When a batch is given up whose fate is unknown, the numbers after it may or may not have a gap before them. Batches
 * that already have numbers are tried with them; if the server finds a gap, nothing of them was written, and all begin
 * again at 0 in a new epoch (KIP-360).
 */
export class PartitionQueue {
  readonly topic: string
  readonly partition: number
  readonly #options: QueueOptions
  /** The last one may still take records. */
  #waiting: ProducerBatch[] = []
  readonly #inFlight = new Set<ProducerBatch>()
  /** Came back while others were still under way. */
  #returned: { readonly batch: ProducerBatch; readonly error: ClientError }[] = []
  #identity: Identity | null = null
  #nextSequence = 0
  /** Numbers before the next new batch may be missing on the server. */
  #mayHaveGap = false
  /** Nothing is sent before that time. */
  #notBeforeMs = 0
  #lastBatchBytes = 0

  constructor(topic: string, partition: number, options: QueueOptions) {
    this.topic = topic
    this.partition = partition
    this.#options = options
  }

  get isIdle(): boolean {
    return this.#waiting.length === 0 && this.#inFlight.size === 0 && this.#returned.length === 0
  }

  /** Of batches that wait or are under way. */
  batches(): ProducerBatch[] {
    return [...this.#inFlight, ...this.#returned.map(({ batch }) => batch), ...this.#waiting]
  }

  add(record: RecordToBuild, bytes: number, nowMs: number): Promise<Delivery> {
    let batch = this.#waiting.at(-1)
    if (batch === undefined || batch.isClosed || batch.bytes + bytes > this.#options.batchBytes) {
      if (batch !== undefined) batch.isClosed = true
      const { deliveryTimeoutMs, settled } = this.#options
      const times = { createdMs: nowMs, deadlineMs: nowMs + deliveryTimeoutMs }
      // The one before it tells how large it will become.
      const expectedBytes = Math.max(this.#lastBatchBytes, bytes)
      batch = new ProducerBatch(this.topic, this.partition, times, { expectedBytes, settled })
      this.#waiting.push(batch)
    }
    return batch.add(record, bytes)
  }

  /** When the next batch may be sent and when it is given up; Infinity when only an answer can bring it on. */
  nextTimes(isFlushing: boolean): { readyMs: number; deadlineMs: number } {
    const first = this.#waiting[0]
    if (first === undefined) return { readyMs: Number.POSITIVE_INFINITY, deadlineMs: Number.POSITIVE_INFINITY }
    return { readyMs: this.#readyMs(first, isFlushing), deadlineMs: first.deadlineMs }
  }

  #readyMs(first: ProducerBatch, isFlushing: boolean): number {
    if (!this.#mayStart) return Number.POSITIVE_INFINITY
    const isFull = first.isClosed || first.bytes >= this.#options.batchBytes
    return Math.max(isFull || isFlushing ? 0 : first.createdMs + this.#options.lingerMs, this.#notBeforeMs)
  }

  get #mayStart(): boolean {
    if (this.#returned.length > 0 || this.#inFlight.size >= this.#options.maxInFlight) return false
    // With a gap in doubt, the batch that will tell goes alone.
    return !this.#mayHaveGap || this.#inFlight.size === 0
  }

  isReady(nowMs: number, isFlushing: boolean): boolean {
    const first = this.#waiting[0]
    return first !== undefined && this.#readyMs(first, isFlushing) <= nowMs
  }

  /** True when the next batch needs an identity that only the server can give. */
  get needsIdentity(): boolean {
    if (!this.#options.isIdempotent) return false
    return this.#identity === null || (this.#mayHaveGap && this.#identity.epoch >= EPOCH_MAX)
  }

  get hasIdentity(): boolean {
    return this.#identity !== null
  }

  setIdentity(identity: Identity): void {
    this.#identity = identity
    this.#beginSequence()
  }

  /** The next batch, now under way. It must be ready. */
  take(): ProducerBatch {
    const batch = this.#waiting.shift()
    assert(batch !== undefined, 'nothing to send')
    batch.isClosed = true
    this.#lastBatchBytes = batch.bytes
    if (this.#options.isIdempotent && batch.sequence === null) {
      // Nobody with an older number is left to tell whether there is a gap.
      if (this.#mayHaveGap) this.#nextEpoch()
      assert(this.#identity !== null, 'an idempotent producer without an identity')
      batch.setSequence({ ...this.#identity, baseSequence: this.#nextSequence })
      this.#nextSequence = batch.nextSequence
    }
    this.#inFlight.add(batch)
    return batch
  }

  succeeded(batch: ProducerBatch, baseOffset: number, appendTimeMs: number): void {
    this.#inFlight.delete(batch)
    // The server took this number, so it had all before it.
    this.#mayHaveGap = false
    batch.succeed(baseOffset, appendTimeMs)
    this.#requeue(0)
  }

  /** `retryAtMs`: when it may be tried again, if the error allows that. */
  failed(batch: ProducerBatch, error: ClientError, retryAtMs: number): void {
    this.#inFlight.delete(batch)
    const code = error instanceof BrokerError ? error.errorCode : null
    if (code === ErrorCode.MESSAGE_TOO_LARGE && batch.count > 1) {
      // In front of all others: the later ones follow in sequence.
      this.#waiting.unshift(...batch.split())
    } else if (error.retriable || isSequenceError(code)) {
      this.#returned.push({ batch, error })
    } else {
      const isTooLarge = code === ErrorCode.MESSAGE_TOO_LARGE || code === ErrorCode.RECORD_LIST_TOO_LARGE
      batch.fail(isTooLarge ? new RecordTooLargeError(error.message, { cause: error }) : error)
      if (batch.sequence !== null) this.#mayHaveGap = true
    }
    this.#requeue(retryAtMs)
  }

  /** When all that was under way is back, what failed takes its old place. */
  #requeue(retryAtMs: number): void {
    this.#notBeforeMs = Math.max(this.#notBeforeMs, retryAtMs)
    if (this.#inFlight.size > 0 || this.#returned.length === 0) return
    const returned = this.#returned
    this.#returned = []
    this.#waiting.unshift(...returned.map(({ batch }) => batch))
    if (this.#options.isIdempotent) this.#waiting.sort(bySequence)
    const first = returned.find(({ batch }) => batch === this.#waiting[0])
    const code = first?.error instanceof BrokerError ? first.error.errorCode : null
    // The first of all, and the server misses something before it: that will not come any more.
    if (isSequenceError(code)) this.#restartSequence()
  }

  #restartSequence(): void {
    for (const batch of this.#waiting) if (batch.sequence !== null) batch.setSequence(null)
    this.#mayHaveGap = true
  }

  #nextEpoch(): void {
    assert(this.#identity !== null && this.#identity.epoch < EPOCH_MAX, 'no epoch is left')
    this.#identity = { ...this.#identity, epoch: this.#identity.epoch + 1 }
    this.#beginSequence()
  }

  #beginSequence(): void {
    this.#nextSequence = 0
    this.#mayHaveGap = false
  }

  /** Gives up what has waited too long. */
  expire(nowMs: number, lastError: ClientError | null): void {
    while (this.#waiting.length > 0 && (this.#waiting[0] as ProducerBatch).deadlineMs <= nowMs) {
      const batch = this.#waiting.shift() as ProducerBatch
      const { deliveryTimeoutMs } = this.#options
      const why = lastError === null ? '' : `: ${lastError.message}`
      const message = `no delivery to ${this.topic}-${this.partition} within ${deliveryTimeoutMs} ms${why}`
      batch.fail(new TimeoutError(message, lastError === null ? undefined : { cause: lastError }))
      if (batch.sequence !== null) this.#mayHaveGap = true
    }
  }

  /** Gives up everything that is not under way. */
  abandon(error: ClientError): void {
    for (const batch of this.#waiting.splice(0)) batch.fail(error)
  }
}

function isSequenceError(code: number | null): boolean {
  return (
    code === ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER ||
    code === ErrorCode.UNKNOWN_PRODUCER_ID ||
    code === ErrorCode.INVALID_PRODUCER_EPOCH
  )
}

/** Those that were sent before, by their numbers; then the others as they stand. Numbers wrap, distances do not. */
function bySequence(one: ProducerBatch, other: ProducerBatch): number {
  if (one.sequence === null || other.sequence === null)
    return Number(one.sequence === null) - Number(other.sequence === null)
  if (one.sequence.epoch !== other.sequence.epoch) return one.sequence.epoch - other.sequence.epoch
  return (one.sequence.baseSequence - other.sequence.baseSequence) | 0
}
