import type { Random } from '../base/random.ts'

/** How far a pause may be from its nominal length, both ways: clients that fail together should not come back together. */
const JITTER = 0.2

/** Pauses between tries: twice as long each time, up to a limit, each a little off. */
export class Backoff {
  readonly #firstMs: number
  readonly #maxMs: number
  readonly #random: Random
  #failures = 0

  constructor(options: { firstMs: number; maxMs: number; random: Random }) {
    this.#firstMs = options.firstMs
    this.#maxMs = options.maxMs
    this.#random = options.random
  }

  /** How long to wait after another failure. */
  nextMs(): number {
    const nominalMs = Math.min(this.#firstMs * 2 ** this.#failures, this.#maxMs)
    this.#failures++
    return nominalMs * (1 - JITTER + 2 * JITTER * this.#random.float())
  }

  reset(): void {
    this.#failures = 0
  }
}
