import type { Clock } from '../env/clock.ts'

/** A step of the wall clock beyond this, measured against the monotonic one, is a jump. */
const JUMP_MS = 10 * 60_000
/** A jump forward that lasts this long is believed. */
const HOLD_MS = 3_600_000

/** How late it is for deletions, and when a time to come will be. */
export interface RetentionTime {
  readonly nowMs: number
  /** Milliseconds until then; 0 when it has come. A jump that will be believed counts already: that is when deletions begin. */
  until(atMs: number): number
}

/**
 * Wall time for deletions (reliability H20). A clock that jumps forward must not delete everything: until the new time
 * has lasted for an hour, time goes on from where it was. Backward it follows at once, for that deletes nothing.
 */
export class RetentionClock {
  readonly #clock: Clock
  #trustedMs: number
  #atMs: number
  /** Monotonic time when the present jump was first seen. */
  #jumpedAtMs: number | null = null

  constructor(clock: Clock) {
    this.#clock = clock
    this.#trustedMs = clock.wallMs() - (clock.movedMs?.() ?? 0)
    this.#atMs = clock.monotonicMs()
  }

  time(): RetentionTime {
    const [clock, nowMs] = [this.#clock, this.nowMs()]
    const monotonicMs = clock.monotonicMs()
    if (this.#jumpedAtMs === null) return { nowMs, until: (atMs) => Math.max(0, atMs - nowMs) }
    const wallMs = clock.wallMs()
    const holdMs = Math.max(0, this.#jumpedAtMs + HOLD_MS - monotonicMs)
    const until = (atMs: number) => Math.max(0, Math.min(atMs - nowMs, Math.max(holdMs, atMs - wallMs)))
    return { nowMs, until }
  }

  nowMs(): number {
    const movedMs = this.#clock.movedMs?.() ?? 0
    const wallMs = this.#clock.wallMs() - movedMs
    const monotonicMs = this.#clock.monotonicMs()
    const expectedMs = this.#trustedMs + monotonicMs - this.#atMs
    this.#atMs = monotonicMs
    if (wallMs - expectedMs <= JUMP_MS) {
      this.#jumpedAtMs = null
      this.#trustedMs = wallMs
    } else {
      this.#jumpedAtMs ??= monotonicMs
      const isBelieved = monotonicMs - this.#jumpedAtMs >= HOLD_MS
      this.#trustedMs = isBelieved ? wallMs : expectedMs
    }
    return Math.floor(this.#trustedMs + movedMs)
  }
}
