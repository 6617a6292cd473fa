import {
  advanceSequence,
  baseSequence,
  BATCH_HEADER_BYTES,
  producerEpoch,
  producerId,
} from '../protocol/batch/header.ts'

/** Beyond it the oldest is forgotten. */
const REFUSED_MAX = 10_000
/** Clients give a batch up after two minutes by default: whoever has not sent it again by then does not mean to. */
const REMEMBERED_MS = 10 * 60_000
const SEQUENCES = 2 ** 31

interface Refused {
  readonly producerEpoch: number
  readonly sequence: number
  readonly sinceMs: number
}

/**
 * Idempotent producers of which a batch was refused for the time being (too few in sync, not the leader yet, no room),
 * by the partition they sent it to. Where a log knows nothing of a producer, any sequence may come (KIP-360): so without
 * this the next batch, which was under way already, would be taken in the place of the refused one, and that one, sent
 * again, would be out of order for ever (KAFKA-14359).
 */
export class RefusedProducers {
  /** Oldest first. */
  readonly #refused = new Map<string, Refused>()

  /** `batch` was refused, and its client will send it again. Nothing of it has been checked. */
  note(partition: string, batch: Buffer, nowMs: number): void {
    if (batch.length < BATCH_HEADER_BYTES || producerId(batch, 0) < 0) return
    const key = keyOf(partition, batch)
    if (this.#comesAfter(key, batch, nowMs) !== null) return
    this.#refused.delete(key)
    if (this.#refused.size >= REFUSED_MAX) this.#forgetOldest()
    this.#refused.set(key, {
      producerEpoch: producerEpoch(batch, 0),
      sequence: baseSequence(batch, 0),
      sinceMs: nowMs,
    })
  }

  /** The sequence that was refused and has to come before `batch`; null when none has. */
  missingBefore(partition: string, batch: Buffer, nowMs: number): number | null {
    if (this.#refused.size === 0 || producerId(batch, 0) < 0) return null
    return this.#comesAfter(keyOf(partition, batch), batch, nowMs)
  }

  /** The log knows the producer of `batch` from now on. */
  forget(partition: string, batch: Buffer): void {
    if (this.#refused.size > 0) this.#refused.delete(keyOf(partition, batch))
  }

  #comesAfter(key: string, batch: Buffer, nowMs: number): number | null {
    const refused = this.#refused.get(key)
    if (refused === undefined || refused.producerEpoch !== producerEpoch(batch, 0)) return null
    if (nowMs - refused.sinceMs >= REMEMBERED_MS) return null
    // Counted through the wrap from 2147483647 to 0.
    const distance = advanceSequence(baseSequence(batch, 0), SEQUENCES - refused.sequence)
    return distance > 0 && distance < SEQUENCES / 2 ? refused.sequence : null
  }

  #forgetOldest(): void {
    for (const key of this.#refused.keys()) {
      this.#refused.delete(key)
      return
    }
  }
}

function keyOf(partition: string, batch: Buffer): string {
  return `${producerId(batch, 0)} ${partition}`
}
