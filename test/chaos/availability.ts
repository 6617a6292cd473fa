import type { Ack } from '../history/ledger.ts'
import type { Strike } from './nemesis.ts'

/** Shorter times between two acknowledgements are how batches and acknowledgements come anyway. */
const GAP_MS = 250

export interface ChaosReport {
  /** Of the time and the partitions: acknowledged without a gap over `GAP_MS`. */
  readonly share: number
  /** Of the stretches of a second and of a tenth of one, and the partitions: acknowledged something. */
  readonly slots: readonly number[]
  /** Of the records: acknowledged within one second, and within five. */
  readonly inTime: readonly number[]
  readonly byFault: readonly { readonly name: string; readonly times: number; readonly longestMs: number }[]
  readonly acknowledged: number
}

export interface Gap {
  readonly partition: number
  readonly fromMs: number
  readonly toMs: number
}

/**
 * A client at full rate sends what it has in large batches, a few a second for each partition: then a gap over `GAP_MS` is no trouble,
 * and only whole seconds say something, beside those of the same load before the first fault.
 */
export const SLOTS_MS = [1000, 100] as const

/** Follows the acknowledgements of a load, and knows when there were none. */
export class Availability {
  readonly gaps: Gap[] = []
  readonly #newest: number[]
  #fromMs = Date.now()
  /** For each length of a slot, those in which the partition acknowledged something: `slot * partitions + partition`. */
  readonly #slots = SLOTS_MS.map(() => new Set<number>())

  constructor(partitions: number) {
    this.#newest = Array.from({ length: partitions }, () => this.#fromMs)
  }

  add({ partition, atMs }: Ack): void {
    const before = this.#newest[partition] as number
    if (atMs - before > GAP_MS) this.gaps.push({ partition, fromMs: before, toMs: atMs })
    if (atMs > before) this.#newest[partition] = atMs
    if (atMs < this.#fromMs) return
    for (const [index, slotMs] of SLOTS_MS.entries()) {
      this.#slots[index]?.add(Math.floor((atMs - this.#fromMs) / slotMs) * this.#newest.length + partition)
    }
  }

  /** Counted from now on. */
  restart(): void {
    this.gaps.length = 0
    this.#fromMs = Date.now()
    for (const slots of this.#slots) slots.clear()
  }

  /** The share of time and partitions in which records were acknowledged, of so long a run. */
  share(durationMs: number): number {
    const missing = this.gaps.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0)
    return 1 - missing / (durationMs * this.#newest.length)
  }

  /** For each of `SLOTS_MS`, the share of slots and partitions in which something was acknowledged. */
  slots(durationMs: number): number[] {
    return SLOTS_MS.map((slotMs, index) => {
      const all = Math.floor(durationMs / slotMs) * this.#newest.length
      const filled = [...(this.#slots[index] ?? [])].filter((slot) => slot < all).length
      return filled / all
    })
  }

  /** By kind of fault: how often, and the longest gap that began while it lasted or shortly after. */
  byFault(strikes: readonly Strike[]): { name: string; times: number; longestMs: number }[] {
    const afterMs = 5000
    const names = [...new Set(strikes.map(({ name }) => name))]
    return names.map((name) => {
      const own = strikes.filter((strike) => strike.name === name)
      const hit = this.gaps.filter((gap) =>
        own.some(({ fromMs, toMs }) => gap.toMs > fromMs && gap.fromMs < toMs + afterMs),
      )
      const longestMs = Math.max(0, ...hit.map(({ fromMs, toMs }) => toMs - fromMs))
      return { name, times: own.length, longestMs }
    })
  }
}
