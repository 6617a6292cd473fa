import type { Host } from './host.ts'

/** Directions that let nothing through, as one trouble has cut them. */
export interface Cut {
  /** They work again, unless something else has cut them too. Once is enough. */
  heal(): void
}

/** Which directions between hosts are cut, and how often. */
export class Cuts {
  readonly #counts = new Map<number, number>()
  #generation = 0

  isCut(from: Host, to: Host): boolean {
    return this.#counts.size > 0 && this.#counts.has(keyOf(from, to))
  }

  /** `onHealed` hears which of the directions are open again. */
  add(
    directions: readonly (readonly [Host, Host])[],
    onHealed: (open: readonly (readonly [Host, Host])[]) => void,
  ): Cut {
    const generation = this.#generation
    for (const [from, to] of directions) {
      const key = keyOf(from, to)
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
    }
    let isOver = false
    return {
      heal: () => {
        if (isOver || generation !== this.#generation) return
        isOver = true
        onHealed(directions.filter(([from, to]) => this.#release(keyOf(from, to))))
      },
    }
  }

  /** True when nothing else has cut it. */
  #release(key: number): boolean {
    const left = (this.#counts.get(key) ?? 0) - 1
    if (left > 0) this.#counts.set(key, left)
    else this.#counts.delete(key)
    return left <= 0
  }

  /** All of them are open. */
  clear(): void {
    this.#counts.clear()
    this.#generation++
  }
}

const HOSTS_MAX = 2 ** 16

function keyOf(from: Host, to: Host): number {
  return from.id * HOSTS_MAX + to.id
}
