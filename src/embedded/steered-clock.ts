import type { Clock } from '../env/clock.ts'
import { nodeClock } from '../env-node/clock.ts'

const UNITS_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

const LAST_MS = Date.UTC(9999, 11, 31)

/** `500ms`, `30s`, `5m`, `1h`, `7d`, or a number of milliseconds. */
export type Duration = number | `${number}${keyof typeof UNITS_MS}`

/** Throws for what is no duration. */
export function millisecondsOf(duration: Duration): number {
  if (typeof duration === 'number') return duration
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(duration)
  if (match === null)
    throw new RangeError(`'${duration}' is no duration: a number of milliseconds, or 500ms, 30s, 5m, 1h, 7d`)
  return Number(match[1]) * UNITS_MS[match[2] as keyof typeof UNITS_MS]
}

/**
 * The time of day of a cluster, which a test may move. Durations (sessions, timeouts, long polls) are measured by another
 * clock, as everywhere in the product, and go on in real time: no member is thrown out because a week went by.
 */
export class SteeredClock implements Clock {
  #movedMs = 0

  wallMs(): number {
    return nodeClock.wallMs() + this.#movedMs
  }

  monotonicMs(): number {
    return nodeClock.monotonicMs()
  }

  movedMs(): number {
    return this.#movedMs
  }

  /** Throws `RangeError` for a time that no record could carry; the clock stays where it is then. */
  move(ms: number): void {
    const movedMs = this.#movedMs + Math.round(ms)
    const wallMs = nodeClock.wallMs() + movedMs
    if (!(wallMs >= 0 && wallMs <= LAST_MS)) throw new RangeError(`${ms} ms on is not within 1970 and 9999`)
    this.#movedMs = movedMs
  }
}
