import type { Tail } from './tail.ts'

/** Bounds of what all logs of a node keep in memory for readers. */
export interface TailLimits {
  /** Of one log. */
  readonly tailBytesPerLogMax: number
  /** Of all logs. */
  readonly tailBytesMax: number
}

/**
 * Shares the memory for recent batches among the logs: over the bound, the log appended to least recently lets go
 * first. What is not written yet cannot go; it is bounded by those who append (`unwrittenBytes`).
 */
export class TailBudget {
  readonly limits: TailLimits
  retainedBytes = 0
  /** Tails that hold something, by their last append. */
  readonly #tails = new Set<Tail>()
  #latest: Tail | null = null

  constructor(limits: TailLimits) {
    this.limits = limits
  }

  /** Appended to any log, and not in its file. */
  get unwrittenBytes(): number {
    let bytes = 0
    for (const tail of this.#tails) bytes += tail.unwrittenBytes
    return bytes
  }

  grew(tail: Tail, bytes: number): void {
    this.retainedBytes += bytes
    if (this.#latest !== tail) {
      this.#tails.delete(tail)
      this.#tails.add(tail)
      this.#latest = tail
    }
    if (tail.retainedBytes > this.limits.tailBytesPerLogMax) this.trim(tail, this.limits.tailBytesPerLogMax)
    if (this.retainedBytes > this.limits.tailBytesMax) this.#trimOldest()
  }

  /** Lets written entries of one tail go until it holds at most `bytesMax`. */
  trim(tail: Tail, bytesMax: number): void {
    this.retainedBytes -= tail.trim(bytesMax)
    if (tail.isEmpty) this.#forget(tail)
  }

  /** Lets everything of one tail go that ends at or below `offset` and is written. */
  cutBelow(tail: Tail, offset: number): void {
    this.retainedBytes -= tail.cutBelow(offset)
    if (tail.isEmpty) this.#forget(tail)
  }

  /** All of it is gone, by truncation or because the log was closed. */
  reset(tail: Tail, endOffset: number): void {
    this.retainedBytes -= tail.reset(endOffset)
    this.#forget(tail)
  }

  #trimOldest(): void {
    for (const tail of this.#tails) {
      const excess = this.retainedBytes - this.limits.tailBytesMax
      if (excess <= 0) return
      this.trim(tail, Math.max(tail.retainedBytes - excess, 0))
    }
  }

  #forget(tail: Tail): void {
    this.#tails.delete(tail)
    if (this.#latest === tail) this.#latest = null
  }
}
