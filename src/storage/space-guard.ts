import type { Timer } from '../env/clock.ts'
import type { Env } from '../env/env.ts'

const RETRY_MS = 1000
/** Free bytes wanted beyond twice what waits to be written, before appends are tried again. */
const SPARE_BYTES = 1024 ** 2

/** A log whose write found no room. */
export interface SpaceWaiter {
  /** Bytes it wants to write. */
  readonly unwrittenBytes: number
  /** There is room again, as far as one can tell: try. */
  resume(): void
}

/**
 * The data folder's read-only state (reliability S6): begins when any write finds no room (or no descriptor), for all
 * logs at once, and ends by itself when there is room. Reads, deletions and retention go on meanwhile.
 */
export class SpaceGuard {
  readonly #env: Env
  readonly #folder: string
  readonly #waiters = new Set<SpaceWaiter>()
  #timer: Timer | null = null
  #reason: string | null = null
  /** Called when the state changes. */
  onChange: ((isFull: boolean) => void) | null = null

  constructor(env: Env, folder: string) {
    this.#env = env
    this.#folder = folder
  }

  /** Why nothing can be appended, or null. */
  get reason(): string | null {
    return this.#reason
  }

  wait(waiter: SpaceWaiter, error: Error): void {
    this.#waiters.add(waiter)
    if (this.#reason === null) {
      this.#reason = `no room in ${this.#folder}: ${error.message}`
      this.#env.log.error('Out of space: the data folder takes no records until there is room', {
        reason: error.message,
      })
      this.onChange?.(true)
    }
    this.#schedule()
  }

  forget(waiter: SpaceWaiter): void {
    this.#waiters.delete(waiter)
    if (this.#waiters.size === 0) this.#end()
  }

  #schedule(): void {
    this.#timer ??= this.#env.timers.after(RETRY_MS, () => {
      this.#timer = null
      void this.#retry()
    })
  }

  async #retry(): Promise<void> {
    let wanted = SPARE_BYTES
    for (const waiter of this.#waiters) wanted += waiter.unwrittenBytes * 2
    const free = await this.#env.disk.freeBytes(this.#folder).catch(() => 0)
    if (this.#waiters.size === 0) return
    if (free < wanted) {
      this.#schedule()
      return
    }
    const waiters = [...this.#waiters]
    this.#waiters.clear()
    this.#end()
    for (const waiter of waiters) waiter.resume()
  }

  #end(): void {
    if (this.#reason === null) return
    this.#reason = null
    this.#env.log.info('There is room again in the data folder')
    this.onChange?.(false)
  }

  close(): void {
    this.#timer?.cancel()
    this.#timer = null
    this.#waiters.clear()
  }
}
