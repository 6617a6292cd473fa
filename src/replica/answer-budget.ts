/** Someone who wants to read when answers have been sent. */
export interface RoomWaiter {
  roomFreed(): void
}

/** Nobody is given less than this, unless less is wanted: with crumbs a client would only ask again. */
const LEAST_BYTES = 1024 ** 2
/** One answer is given at most this part of what is free, so that a few large ones do not keep all others waiting. */
const PART_OF_FREE = 1 / 4

/**
 * The bytes of all answers that this node holds for its clients, from reading them until they have been sent. A client
 * that does not read what it asked for keeps its answer here, and however many of them there are, no more than the limit
 * is read: the next ones wait until somebody has read, or was cut off. (A single batch is given even if it is larger.)
 */
export class AnswerBudget {
  readonly limitBytes: number
  #heldBytes = 0
  readonly #waiters = new Set<RoomWaiter>()
  #waking = false

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  /** How many wait for room. */
  get waiting(): number {
    return this.#waiters.size
  }

  /** Somebody waits, or would have to. */
  get isShort(): boolean {
    return this.#waiters.size > 0 || this.limitBytes - this.#heldBytes < LEAST_BYTES
  }

  /** Takes up to `wantedBytes` before it is known how many there are; 0: none are free. */
  reserve(wantedBytes: number): number {
    const wanted = Math.max(wantedBytes, 1)
    const least = Math.min(wanted, LEAST_BYTES)
    const free = this.limitBytes - this.#heldBytes
    if (free < least && this.#heldBytes > 0) return 0
    const granted = Math.max(least, Math.min(wanted, Math.floor(free * PART_OF_FREE)))
    this.#heldBytes += granted
    return granted
  }

  /** What was reserved has become an answer of `bytes`. */
  settle(reservedBytes: number, bytes: number): void {
    this.#heldBytes += bytes
    this.release(reservedBytes)
  }

  /** An answer that nothing was reserved for. */
  hold(bytes: number): void {
    this.#heldBytes += bytes
  }

  release(bytes: number): void {
    if (bytes === 0) return
    this.#heldBytes -= bytes
    if (this.#waiters.size > 0) this.#wake()
  }

  wait(waiter: RoomWaiter): void {
    this.#waiters.add(waiter)
  }

  leave(waiter: RoomWaiter): void {
    this.#waiters.delete(waiter)
  }

  /** In the order they came. One that is woken takes room at once, or waits again at the end. */
  #wake(): void {
    if (this.#waking) return
    this.#waking = true
    for (const waiter of [...this.#waiters]) {
      if (this.limitBytes - this.#heldBytes < LEAST_BYTES && this.#heldBytes > 0) break
      if (this.#waiters.delete(waiter)) waiter.roomFreed()
    }
    this.#waking = false
  }
}
