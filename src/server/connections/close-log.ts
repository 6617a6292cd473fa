import type { Clock } from '../../env/clock.ts'
import type { LogFields, Logger } from '../../env/logger.ts'

/** Lines a hostile crowd can make us write in one window; what is over is counted and told with the next window. */
const LINES_PER_WINDOW_MAX = 50
const WINDOW_MS = 10_000

/** Says why connections were closed, without letting clients fill the disk with log lines. */
export class CloseLog {
  readonly #log: Logger
  readonly #clock: Clock
  #windowEndsMs = 0
  #lines = 0
  #suppressed = 0

  constructor(log: Logger, clock: Clock) {
    this.#log = log
    this.#clock = clock
  }

  refused(message: string, fields: LogFields): void {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs >= this.#windowEndsMs) {
      if (this.#suppressed > 0) this.#log.warn('more connections were closed', { notLogged: this.#suppressed })
      this.#windowEndsMs = nowMs + WINDOW_MS
      this.#lines = 0
      this.#suppressed = 0
    }
    if (this.#lines++ < LINES_PER_WINDOW_MAX) this.#log.warn(message, fields)
    else this.#suppressed++
  }
}
