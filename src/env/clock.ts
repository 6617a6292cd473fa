export interface Clock {
  /** Milliseconds since 1970, whole. May jump both ways: never used to measure a duration. */
  wallMs(): number
  /** Milliseconds from an arbitrary start, fractional. Never goes back. */
  monotonicMs(): number
  /** How far somebody has moved `wallMs` on purpose, as a test does: a jump that is to be believed. Left out: not at all. */
  movedMs?(): number
}

export interface Timer {
  /** The callback will not run any more. Harmless when it has run. */
  cancel(): void
}

export interface Timers {
  /** Runs `callback` once, `delayMs` or a little more from now. 0 means: after the current event, in a later one. */
  after(delayMs: number, callback: () => void): Timer
}

/** A promise that resolves after `delayMs`. */
export function sleep(timers: Timers, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    timers.after(delayMs, resolve)
  })
}
