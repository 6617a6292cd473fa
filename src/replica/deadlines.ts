import type { Clock, Timer, Timers } from '../env/clock.ts'

/** Deadlines that fall into one such stretch expire together, at its end. */
const GRAIN_MS = 8

export interface Expiring {
  /** Set by `Deadlines`; 0 while it waits for nothing. */
  deadlineSlot: number
  expired(): void
}

/**
 * Requests that wait at most so long. Adding and removing cost a Set operation each, and one timer serves them all:
 * there are tens of thousands a second, and hardly any expires.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #timers: Timers
  readonly #slots = new Map<number, Set<Expiring>>()
  #timer: Timer | null = null
  #timerSlot = Number.POSITIVE_INFINITY

  constructor(clock: Clock, timers: Timers) {
    this.#clock = clock
    this.#timers = timers
  }

  add(item: Expiring, afterMs: number): void {
    const slot = Math.ceil((this.#clock.monotonicMs() + Math.max(afterMs, 0)) / GRAIN_MS) + 1
    item.deadlineSlot = slot
    const items = this.#slots.get(slot)
    if (items === undefined) this.#slots.set(slot, new Set([item]))
    else items.add(item)
    if (slot < this.#timerSlot) this.#arm(slot)
  }

  remove(item: Expiring): void {
    const items = this.#slots.get(item.deadlineSlot)
    items?.delete(item)
    if (items?.size === 0) this.#slots.delete(item.deadlineSlot)
    item.deadlineSlot = 0
  }

  close(): void {
    this.#timer?.cancel()
    this.#slots.clear()
  }

  #arm(slot: number): void {
    this.#timer?.cancel()
    this.#timerSlot = slot
    const delayMs = Math.max(slot * GRAIN_MS - this.#clock.monotonicMs(), 0)
    this.#timer = this.#timers.after(delayMs, () => this.#expire())
  }

  #expire(): void {
    this.#timer = null
    this.#timerSlot = Number.POSITIVE_INFINITY
    const now = this.#clock.monotonicMs()
    let next = Number.POSITIVE_INFINITY
    const due: Expiring[] = []
    for (const [slot, items] of this.#slots) {
      if (slot * GRAIN_MS > now) {
        next = Math.min(next, slot)
        continue
      }
      this.#slots.delete(slot)
      for (const item of items) due.push(item)
    }
    if (next !== Number.POSITIVE_INFINITY) this.#arm(next)
    for (const item of due) {
      // An earlier one of this round may have answered it.
      if (item.deadlineSlot === 0) continue
      item.deadlineSlot = 0
      item.expired()
    }
  }
}
