/** Someone who waits until a position of a partition has reached an offset. */
export interface AckWait {
  /** The position must reach this. */
  readonly waitOffset: number
  /** Whoever leads next may make it true, too: then it is not failed with the leadership. */
  readonly outlivesLeader?: boolean
  /** Called once: error 0 when it was reached, else why it never will be known. */
  acked(errorCode: number): void
}

/** Waits in the order of their offsets. Nearly all arrive in that order; a duplicate of an earlier batch does not. */
export class AckQueue {
  #waits: AckWait[] = []
  /** Everything before it has been answered; the array is cut now and then. */
  #head = 0

  get size(): number {
    return this.#waits.length - this.#head
  }

  add(wait: AckWait): void {
    const waits = this.#waits
    let at = waits.length
    while (at > this.#head && (waits[at - 1] as AckWait).waitOffset > wait.waitOffset) at -= 1
    if (at === waits.length) waits.push(wait)
    else waits.splice(at, 0, wait)
  }

  /** Gave up (its deadline came first). */
  remove(wait: AckWait): void {
    const at = this.#waits.indexOf(wait, this.#head)
    if (at >= 0) this.#waits.splice(at, 1)
  }

  /** Answers all that wait for `position` or less. */
  reached(position: number, errorCode: number): void {
    while (this.size > 0 && (this.#waits[this.#head] as AckWait).waitOffset <= position) {
      const wait = this.#waits[this.#head++] as AckWait
      // The wait may add or remove others: the queue is whole before it is told.
      if (this.#head === this.#waits.length || this.#head > 1024) this.#cut()
      wait.acked(errorCode)
    }
  }

  fail(errorCode: number): void {
    for (const wait of this.#take(() => true)) wait.acked(errorCode)
  }

  /** Those that wait for more than this will never be answered otherwise. */
  failBeyond(position: number, errorCode: number): void {
    for (const wait of this.#take(({ waitOffset }) => waitOffset > position)) wait.acked(errorCode)
  }

  /** Only those that outlive their leader are left. */
  failMortal(errorCode: number): void {
    for (const wait of this.#take(({ outlivesLeader }) => outlivesLeader !== true)) wait.acked(errorCode)
  }

  /** Out of the queue, before any of them is told: they may add or remove others. */
  #take(which: (wait: AckWait) => boolean): AckWait[] {
    const waits = this.#waits.slice(this.#head)
    this.#waits = waits.filter((wait) => !which(wait))
    this.#head = 0
    return waits.filter(which)
  }

  #cut(): void {
    this.#waits = this.#waits.slice(this.#head)
    this.#head = 0
  }
}
