import type { Timer, Timers } from '../env/clock.ts'

/** Beyond this `setTimeout` overflows and fires at once. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1

export const nodeTimers: Timers = {
  after(delayMs, callback) {
    return delayMs <= 0 ? new Soon(callback) : new Later(delayMs, callback)
  },
}

class Soon implements Timer {
  readonly #immediate: NodeJS.Immediate

  constructor(callback: () => void) {
    this.#immediate = setImmediate(callback)
  }

  cancel(): void {
    clearImmediate(this.#immediate)
  }
}

/**
 * Node counts a timeout from the start of the event loop's turn, so after a long turn it fires early. Callers compare
 * deadlines with the clock and would find them not yet reached: this one waits again until the time has really passed.
 */
class Later implements Timer {
  readonly #dueMs: number
  readonly #callback: () => void
  #timeout: NodeJS.Timeout

  constructor(delayMs: number, callback: () => void) {
    this.#dueMs = performance.now() + delayMs
    this.#callback = callback
    this.#timeout = this.#arm(delayMs)
  }

  #arm(delayMs: number): NodeJS.Timeout {
    return setTimeout(() => this.#fired(), Math.min(Math.ceil(delayMs), LONGEST_TIMEOUT_MS))
  }

  #fired(): void {
    const leftMs = this.#dueMs - performance.now()
    if (leftMs > 0) this.#timeout = this.#arm(leftMs)
    else this.#callback()
  }

  cancel(): void {
    clearTimeout(this.#timeout)
  }
}
