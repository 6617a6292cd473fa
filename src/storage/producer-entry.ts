import { advanceSequence, NO_PRODUCER_EPOCH, NO_SEQUENCE } from '../protocol/batch/header.ts'

/** How many of a producer's last batches are told apart from new ones; clients keep at most as many in flight. */
export const PRODUCER_BATCHES_KEPT = 5
export const NO_OFFSET = -1
export const NO_COORDINATOR_EPOCH = -1

/** One appended batch of a producer, as the duplicate check needs it. */
export interface ProducerBatch {
  readonly lastSequence: number
  readonly lastOffset: number
  /** lastOffset less the base offset. */
  readonly offsetDelta: number
  readonly timestampMs: number
}

/** What a log knows of one idempotent producer. */
export class ProducerEntry {
  readonly producerId: number
  epoch: number
  /** Oldest first; all of `epoch`. */
  batches: ProducerBatch[] = []
  /** Of the transaction coordinator that wrote the last marker. */
  coordinatorEpoch = NO_COORDINATOR_EPOCH
  /** Largest timestamp of the last batch or marker. */
  lastTimestampMs = -1
  /** Wall clock of the last append, or of the load; for expiry only. */
  lastSeenMs = -1
  /** Where its open transaction began; NO_OFFSET: none is open. */
  transactionFirstOffset = NO_OFFSET

  constructor(producerId: number, epoch = NO_PRODUCER_EPOCH) {
    this.producerId = producerId
    this.epoch = epoch
  }

  /** NO_SEQUENCE: nothing of this epoch was appended. */
  get lastSequence(): number {
    return this.batches.at(-1)?.lastSequence ?? NO_SEQUENCE
  }

  get lastOffset(): number {
    return this.batches.at(-1)?.lastOffset ?? NO_OFFSET
  }

  /** A new epoch counts its sequence from 0 again. */
  enterEpoch(epoch: number): void {
    if (epoch === this.epoch) return
    this.epoch = epoch
    this.batches = []
  }

  add(batch: ProducerBatch): void {
    if (this.batches.length === PRODUCER_BATCHES_KEPT) this.batches.shift()
    this.batches.push(batch)
  }

  /** The appended batch with these sequences, in this epoch. */
  findBatch(firstSequence: number, lastSequence: number): ProducerBatch | null {
    for (const batch of this.batches) {
      if (batch.lastSequence === lastSequence && firstSequenceOf(batch) === firstSequence) return batch
    }
    return null
  }

  /** Whether a batch of this epoch may begin with `sequence`. */
  follows(sequence: number): boolean {
    const last = this.lastSequence
    return sequence === (last === NO_SEQUENCE ? 0 : advanceSequence(last, 1))
  }
}

/** Counts back through the wrap from 0 to 2147483647. */
export function firstSequenceOf({ lastSequence, offsetDelta }: ProducerBatch): number {
  const first = lastSequence - offsetDelta
  return first < 0 ? first + 2 ** 31 : first
}
