import { assert } from '../../base/assert.ts'

/** Someone whose turn comes when bytes are free again. */
export interface BudgetWaiter {
  /** The bytes asked for are taken now, in the waiter's name. */
  granted(): void
}

/**
 * The bytes of all requests that this node holds at one time, across its connections (`queued.max.request.bytes`). A
 * request takes its whole size before its first byte is read, so a request once begun is never stuck half-way for
 * want of room; the others wait in the order they came. A single request larger than the bound is let in when
 * nothing else is held.
 */
export class ByteBudget {
  readonly limitBytes: number
  #usedBytes = 0
  readonly #waiters = new Map<BudgetWaiter, number>()
  #granting = false

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes
  }

  get usedBytes(): number {
    return this.#usedBytes
  }

  get waiting(): number {
    return this.#waiters.size
  }

  /** True when the bytes are taken; otherwise `waiter.granted` is called once they are, unless `leave` comes first. */
  take(bytes: number, waiter: BudgetWaiter): boolean {
    assert(!this.#waiters.has(waiter), 'a connection waits for the byte budget twice')
    if (this.#waiters.size === 0 && this.#fits(bytes)) {
      this.#usedBytes += bytes
      return true
    }
    this.#waiters.set(waiter, bytes)
    return false
  }

  release(bytes: number): void {
    this.#usedBytes -= bytes
    assert(this.#usedBytes >= 0, `byte budget at ${this.#usedBytes}`)
    this.#grant()
  }

  /** Gives up waiting. Harmless when not waiting. */
  leave(waiter: BudgetWaiter): void {
    if (this.#waiters.delete(waiter)) this.#grant()
  }

  #fits(bytes: number): boolean {
    return this.#usedBytes + bytes <= this.limitBytes || this.#usedBytes === 0
  }

  /** A granted request may be answered, and so release, within `granted`: the loop sees that, the stack stays flat. */
  #grant(): void {
    if (this.#granting) return
    this.#granting = true
    for (const [waiter, bytes] of this.#waiters) {
      if (!this.#fits(bytes)) break
      this.#waiters.delete(waiter)
      this.#usedBytes += bytes
      waiter.granted()
    }
    this.#granting = false
  }
}
