import { setImmediate as nextEvent } from 'node:timers/promises'
import { Heap } from '../base/heap.ts'
import { Random } from '../base/random.ts'
import type { Env } from '../env/env.ts'
import { type LogFields, type Logger, silentLogger } from '../env/logger.ts'

/**
 * A world in which time passes only when the test says so, for parts that need clock, timers and randomness but neither
 * network nor disk.
 */
export class ManualEnv {
  readonly env: Env
  readonly #due = new Heap<{ callback: () => void; isCancelled: boolean }>()
  #nowMs = 1000
  /** How far the wall clock has jumped, beside the time that passed. */
  wallJumpMs = 0

  constructor({ seed = 1, log = silentLogger }: { seed?: number; log?: Logger } = {}) {
    const random = new Random(seed)
    const missing = new Proxy({}, { get: () => assertNever })
    this.env = {
      clock: {
        wallMs: () => 1_700_000_000_000 + Math.floor(this.#nowMs + this.wallJumpMs),
        monotonicMs: () => this.#nowMs,
      },
      timers: {
        after: (delayMs, callback) => {
          const timer = { callback, isCancelled: false }
          this.#due.push(this.#nowMs + delayMs, timer)
          return {
            cancel() {
              timer.isCancelled = true
            },
          }
        },
      },
      net: missing as Env['net'],
      disk: missing as Env['disk'],
      log,
      randomBytes: (length) => random.bytes(length),
    }
  }

  /** Timers that are set; those cancelled do not count. */
  get armed(): number {
    let count = 0
    const kept: [number, { callback: () => void; isCancelled: boolean }][] = []
    for (;;) {
      const atMs = this.#due.peekPriority()
      const timer = this.#due.pop()
      if (atMs === null || timer === undefined) break
      kept.push([atMs, timer])
      if (!timer.isCancelled) count++
    }
    for (const [atMs, timer] of kept) this.#due.push(atMs, timer)
    return count
  }

  /** Lets `ms` pass: runs what becomes due, in order, and after each event everything that follows from it. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms
    await nextEvent()
    for (;;) {
      const atMs = this.#due.peekPriority()
      if (atMs === null || atMs > endMs) break
      this.#nowMs = Math.max(this.#nowMs, atMs)
      const timer = this.#due.pop()
      if (timer !== undefined && !timer.isCancelled) timer.callback()
      await nextEvent()
    }
    this.#nowMs = endMs
  }

  /** The process stands still for `ms`: nothing runs, and what became due is late. */
  standStill(ms: number): void {
    this.#nowMs += ms
  }

  /** Lets everything happen that needs no time. */
  settle(): Promise<void> {
    return this.advance(0)
  }
}

function assertNever(): never {
  throw new Error('this part of the world is not there')
}

/** Keeps what is logged, as lines. */
export class LineLog implements Logger {
  readonly lines: string[] = []
  readonly #add = (message: string, fields: LogFields = {}) => {
    this.lines.push([message, ...Object.entries(fields).map(([name, value]) => `${name}=${value}`)].join(' '))
  }
  readonly debug = this.#add
  readonly info = this.#add
  readonly warn = this.#add
  readonly error = this.#add
}
