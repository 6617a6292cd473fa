import { assert, bug } from '../../base/assert.ts'

/** Someone whose turn comes when bytes are free again. */
export interface BudgetWaiter {
  /** The bytes asked for are taken now, in the waiter's name. */
  granted(): void
}

/** A request larger than this part of the bound is a large one. */
const LARGE_PART = 1 / 16
/** All large ones together get this part of it: a few of them, sent slowly, must not keep out all others. */
const LARGE_SHARE = 1 / 2

/** Requests of one kind, in the order they came. */
interface Lane {
  readonly limitBytes: number
  usedBytes: number
  readonly waiters: Map<BudgetWaiter, number>
}

/**
 * The bytes of all requests that this node holds at one time, across its connections (`queued.max.request.bytes`). A
 * request takes its whole size before its first byte is read, so a request once begun is never stuck half-way for
 * want of room; the others wait in the order they came, the large ones among themselves. A single request larger than the
 * bound is let in when no other large one is held.
 */
export class ByteBudget {
  readonly limitBytes: number
  readonly #small: Lane
  readonly #large: Lane
  #granting = false

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes
    this.#small = { limitBytes, usedBytes: 0, waiters: new Map() }
    this.#large = { limitBytes: limitBytes * LARGE_SHARE, usedBytes: 0, waiters: new Map() }
  }

  get usedBytes(): number {
    return this.#small.usedBytes + this.#large.usedBytes
  }

  get waiting(): number {
    return this.#small.waiters.size + this.#large.waiters.size
  }

  /** True when the bytes are taken; otherwise `waiter.granted` is called once they are, unless `leave` comes first. */
  take(bytes: number, waiter: BudgetWaiter): boolean {
    const lane = this.#laneOf(bytes)
    assert(!lane.waiters.has(waiter), 'a connection waits for the byte budget twice')
    if (lane.waiters.size === 0 && this.#fits(bytes, lane)) {
      lane.usedBytes += bytes
      return true
    }
    lane.waiters.set(waiter, bytes)
    return false
  }

  /** The bytes of one request, as they were taken. */
  release(bytes: number): void {
    if (bytes === 0) return
    const lane = this.#laneOf(bytes)
    lane.usedBytes -= bytes
    if (!(lane.usedBytes >= 0)) bug(`byte budget at ${lane.usedBytes}`)
    this.#grant()
  }

  /** Gives up waiting. Harmless when not waiting. */
  leave(waiter: BudgetWaiter): void {
    const wasSmall = this.#small.waiters.delete(waiter)
    if (this.#large.waiters.delete(waiter) || wasSmall) this.#grant()
  }

  #laneOf(bytes: number): Lane {
    return bytes > this.limitBytes * LARGE_PART ? this.#large : this.#small
  }

  #fits(bytes: number, lane: Lane): boolean {
    if (lane.usedBytes === 0 && (lane === this.#large || this.usedBytes === 0)) return true
    return lane.usedBytes + bytes <= lane.limitBytes && this.usedBytes + bytes <= this.limitBytes
  }

  /** A granted request may be answered, and so release, within `granted`: the loop sees that, the stack stays flat. */
  #grant(): void {
    if (this.#granting) return
    this.#granting = true
    for (const lane of [this.#small, this.#large]) {
      for (const [waiter, bytes] of lane.waiters) {
        if (!this.#fits(bytes, lane)) break
        lane.waiters.delete(waiter)
        lane.usedBytes += bytes
        waiter.granted()
      }
    }
    this.#granting = false
  }
}
