import type { Env } from '../../env/env.ts'
import { sleep } from '../../env/clock.ts'

/** The cleaner works this long before it lets everything else have its turn, and rests at least as long as it worked. */
const SLICE_MS = 4

/** Bounds what the cleaner takes of the disk and of the event loop. */
export class Pace {
  readonly #env: Env
  readonly #bytesPerSecond: number
  #sinceMs: number
  #bytes = 0

  constructor(env: Env, bytesPerSecond: number) {
    this.#env = env
    this.#bytesPerSecond = bytesPerSecond
    this.#sinceMs = env.clock.monotonicMs()
  }

  /** Read or written. */
  spent(bytes: number): void {
    this.#bytes += bytes
  }

  get isRestDue(): boolean {
    return this.#workedMs >= SLICE_MS
  }

  get #workedMs(): number {
    return this.#env.clock.monotonicMs() - this.#sinceMs
  }

  async rest(): Promise<void> {
    const workedMs = this.#workedMs
    const owedMs = (this.#bytes / this.#bytesPerSecond) * 1000 - workedMs
    await sleep(this.#env.timers, Math.max(owedMs, Math.min(workedMs, SLICE_MS), 0))
    this.#bytes = 0
    this.#sinceMs = this.#env.clock.monotonicMs()
  }
}
