import {
  baseOffset,
  baseSequence,
  isControl,
  isTransactional,
  lastOffset,
  lastOffsetDelta,
  lastSequence,
  maxTimestamp,
  NO_PRODUCER_EPOCH,
  producerEpoch,
  producerId,
} from '../protocol/batch/header.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { readMarker } from './marker.ts'
import {
  firstSequenceOf,
  NO_COORDINATOR_EPOCH,
  NO_OFFSET,
  type ProducerBatch,
  ProducerEntry,
} from './producer-entry.ts'

/** Bound of producers remembered per log; beyond it the one idle longest, with no open transaction, is forgotten. */
export const PRODUCERS_PER_LOG_MAX = 100_000

export interface Refusal {
  readonly kind: 'refuse'
  readonly errorCode: number
  readonly message: string
}

export type ProducerVerdict =
  | { readonly kind: 'append' }
  | { readonly kind: 'duplicate'; readonly batch: ProducerBatch }
  | Refusal

/** A transaction that a marker has just ended. */
export interface CompletedTransaction {
  readonly producerId: number
  readonly firstOffset: number
  /** Of the marker. */
  readonly lastOffset: number
  readonly isAborted: boolean
}

const APPEND: ProducerVerdict = { kind: 'append' }

/**
 * The idempotent and transactional producers of one log (KIP-98, KIP-360): a fold over its batches. `check` only looks;
 * `apply` is the only code that changes state, on append, on replication and when the log is replayed.
 */
export class ProducerStates {
  /** By the time of the last append, oldest first. Null, as the others, when empty: most logs of a node are idle. */
  #producers: Map<number, ProducerEntry> | null = null
  /** With an open transaction, by its first offset. */
  #open: Map<number, ProducerEntry> | null = null
  /** Ended, and the marker may not be below the high watermark yet: what the transaction wrote is not stable before. */
  #ended: CompletedTransaction[] | null = null

  get size(): number {
    return this.#producers?.size ?? 0
  }

  get entries(): Iterable<ProducerEntry> {
    return this.#producers?.values() ?? []
  }

  get(id: number): ProducerEntry | null {
    return this.#producers?.get(id) ?? null
  }

  /** Replaces everything by what a snapshot held. */
  load(entries: readonly ProducerEntry[], nowMs: number): void {
    this.clear()
    if (entries.length === 0) return
    const producers = new Map<number, ProducerEntry>()
    for (const entry of entries) {
      // A restart must not expire producers that were silent only because we were down.
      entry.lastSeenMs = Math.max(nowMs, entry.lastTimestampMs)
      producers.set(entry.producerId, entry)
    }
    this.#producers = producers
    const open = entries.filter((entry) => entry.transactionFirstOffset !== NO_OFFSET)
    for (const entry of open.sort((a, b) => a.transactionFirstOffset - b.transactionFirstOffset)) {
      this.#opened(entry)
    }
  }

  clear(): void {
    this.#producers = null
    this.#open = null
    this.#ended = null
  }

  #opened(entry: ProducerEntry): void {
    this.#open ??= new Map()
    this.#open.set(entry.producerId, entry)
  }

  /** Whether a leader may append this batch of a client. */
  check(buffer: Buffer, at: number): ProducerVerdict {
    const id = producerId(buffer, at)
    // Any negative id is none.
    if (id < 0) return APPEND
    const entry = this.#producers?.get(id)
    // Nothing known (expired, or all its records deleted): any sequence may come (KIP-360).
    if (entry === undefined || entry.epoch === NO_PRODUCER_EPOCH) return APPEND
    const epoch = producerEpoch(buffer, at)
    const first = baseSequence(buffer, at)
    if (epoch === entry.epoch) {
      const duplicate = entry.findBatch(first, lastSequence(buffer, at))
      if (duplicate !== null) return { kind: 'duplicate', batch: duplicate }
    }
    if (epoch < entry.epoch) {
      const message = `producer ${id} sent epoch ${epoch}, epoch ${entry.epoch} has begun`
      return { kind: 'refuse', errorCode: ErrorCode.INVALID_PRODUCER_EPOCH, message }
    }
    if (epoch > entry.epoch ? first !== 0 : !entry.follows(first)) {
      const message = `producer ${id} epoch ${epoch} sent sequence ${first} after ${entry.lastSequence} of epoch ${entry.epoch}`
      return { kind: 'refuse', errorCode: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, message }
    }
    if (entry.transactionFirstOffset !== NO_OFFSET && !isTransactional(buffer, at)) {
      const message = `producer ${id} has a transaction open since offset ${entry.transactionFirstOffset}`
      return { kind: 'refuse', errorCode: ErrorCode.INVALID_TXN_STATE, message }
    }
    return APPEND
  }

  /** Whether the marker of a coordinator may be appended. `bumped`: its epoch must be above the producer's (KIP-890). */
  checkMarker(marker: {
    producerId: number
    producerEpoch: number
    coordinatorEpoch: number
    bumped: boolean
  }): Refusal | null {
    const entry = this.#producers?.get(marker.producerId)
    if (entry === undefined) return null
    const isStale = marker.bumped
      ? marker.producerEpoch <= entry.epoch && entry.transactionFirstOffset !== NO_OFFSET
      : marker.producerEpoch < entry.epoch
    if (isStale) {
      const message = `marker of producer ${marker.producerId} with epoch ${marker.producerEpoch}, the log knows ${entry.epoch}`
      return { kind: 'refuse', errorCode: ErrorCode.INVALID_PRODUCER_EPOCH, message }
    }
    if (entry.coordinatorEpoch > marker.coordinatorEpoch) {
      const message = `marker of coordinator epoch ${marker.coordinatorEpoch}, ${entry.coordinatorEpoch} has written since`
      return { kind: 'refuse', errorCode: ErrorCode.TRANSACTION_COORDINATOR_FENCED, message }
    }
    return null
  }

  /** Takes in the batch at `at`, which is in the log now. Returns the transaction it ended. */
  apply(buffer: Buffer, at: number, nowMs: number): CompletedTransaction | null {
    const id = producerId(buffer, at)
    if (id < 0) return null
    const entry = this.#touch(id, producerEpoch(buffer, at))
    entry.lastSeenMs = nowMs
    entry.lastTimestampMs = maxTimestamp(buffer, at)
    if (isControl(buffer, at)) return this.#applyMarker(entry, buffer, at)
    entry.add({
      lastSequence: lastSequence(buffer, at),
      lastOffset: lastOffset(buffer, at),
      offsetDelta: lastOffsetDelta(buffer, at),
      timestampMs: entry.lastTimestampMs,
    })
    if (isTransactional(buffer, at) && entry.transactionFirstOffset === NO_OFFSET) {
      entry.transactionFirstOffset = baseOffset(buffer, at)
      this.#opened(entry)
    }
    return null
  }

  #touch(id: number, epoch: number): ProducerEntry {
    this.#producers ??= new Map()
    const producers = this.#producers
    const known = producers.get(id)
    if (known === undefined) {
      const entry = new ProducerEntry(id, epoch)
      if (producers.size >= PRODUCERS_PER_LOG_MAX) forgetIdlest(producers)
      producers.set(id, entry)
      return entry
    }
    known.enterEpoch(epoch)
    producers.delete(id)
    producers.set(id, known)
    return known
  }

  #applyMarker(entry: ProducerEntry, buffer: Buffer, at: number): CompletedTransaction | null {
    const marker = readMarker(buffer, at)
    if (marker === null) return null
    entry.coordinatorEpoch = Math.max(entry.coordinatorEpoch, marker.coordinatorEpoch)
    const firstOffset = entry.transactionFirstOffset
    if (firstOffset === NO_OFFSET) return null
    entry.transactionFirstOffset = NO_OFFSET
    this.#open?.delete(entry.producerId)
    const completed = {
      producerId: entry.producerId,
      firstOffset,
      lastOffset: lastOffset(buffer, at),
      isAborted: marker.isAbort,
    }
    this.#ended ??= []
    this.#ended.push(completed)
    return completed
  }

  /** First offset of the oldest open transaction, or null. */
  get firstOpenOffset(): number | null {
    for (const entry of this.#open?.values() ?? []) return entry.transactionFirstOffset
    return null
  }

  /** What a read_committed reader may see ends here: at an open transaction or one whose end is not committed (I14). */
  lastStableOffset(highWatermark: number): number {
    this.forgetEnded(highWatermark)
    let stable = Math.min(highWatermark, this.firstOpenOffset ?? highWatermark)
    for (const { firstOffset } of this.#ended ?? []) stable = Math.min(stable, firstOffset)
    return stable
  }

  /** Transactions whose marker is below the high watermark hold the stable offset back no more. */
  forgetEnded(highWatermark: number): void {
    const ended = this.#ended
    if (ended === null || ended.length === 0 || (ended[0] as CompletedTransaction).lastOffset >= highWatermark) return
    this.#ended = ended.filter((transaction) => transaction.lastOffset >= highWatermark)
  }

  /** Forgets producers silent for longer than `expirationMs`, except those with an open transaction. */
  expire(nowMs: number, expirationMs: number): void {
    for (const entry of this.#producers?.values() ?? []) {
      const isOld = nowMs - entry.lastSeenMs >= expirationMs
      if (isOld && entry.transactionFirstOffset === NO_OFFSET) this.#producers?.delete(entry.producerId)
    }
  }

  dump(): string {
    return [...this.entries].map(dumpEntry).join('\n')
  }
}

function forgetIdlest(producers: Map<number, ProducerEntry>): void {
  for (const entry of producers.values()) {
    if (entry.transactionFirstOffset !== NO_OFFSET) continue
    producers.delete(entry.producerId)
    return
  }
}

function dumpEntry(entry: ProducerEntry): string {
  const last = entry.batches.at(-1)
  const transaction = entry.transactionFirstOffset === NO_OFFSET ? 'none' : entry.transactionFirstOffset
  const coordinator = entry.coordinatorEpoch === NO_COORDINATOR_EPOCH ? 'none' : entry.coordinatorEpoch
  return (
    `producerId: ${entry.producerId} producerEpoch: ${entry.epoch} coordinatorEpoch: ${coordinator} ` +
    `currentTxnFirstOffset: ${transaction} lastTimestamp: ${entry.lastTimestampMs} ` +
    `firstSequence: ${last === undefined ? -1 : firstSequenceOf(last)} lastSequence: ${entry.lastSequence} ` +
    `lastOffset: ${entry.lastOffset}`
  )
}
