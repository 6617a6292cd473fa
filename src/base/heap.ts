interface Entry<T> {
  readonly priority: number
  /** Order of insertion: equal priorities come out first in, first out, so that every run is the same. */
  readonly sequence: number
  readonly item: T
}

/** A binary heap: the smallest priority first. Push and pop cost O(log n). */
export class Heap<T> {
  readonly #entries: Entry<T>[] = []
  #sequence = 0

  get size(): number {
    return this.#entries.length
  }

  /** The smallest priority, or null when the heap is empty. */
  peekPriority(): number | null {
    return this.#entries[0]?.priority ?? null
  }

  peek(): T | undefined {
    return this.#entries[0]?.item
  }

  push(priority: number, item: T): void {
    const entries = this.#entries
    const entry = { priority, sequence: this.#sequence++, item }
    let at = entries.length
    entries.push(entry)
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = entries[parent] as Entry<T>
      if (!before(entry, above)) break
      entries[at] = above
      at = parent
    }
    entries[at] = entry
  }

  pop(): T | undefined {
    const entries = this.#entries
    const first = entries[0]
    const last = entries.pop()
    if (first === undefined || last === undefined) return undefined
    if (entries.length > 0) this.#sink(last)
    return first.item
  }

  #sink(entry: Entry<T>): void {
    const entries = this.#entries
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= entries.length) break
      const right = entries[child + 1]
      if (right !== undefined && before(right, entries[child] as Entry<T>)) child++
      const below = entries[child] as Entry<T>
      if (!before(below, entry)) break
      entries[at] = below
      at = child
    }
    entries[at] = entry
  }
}

function before<T>(a: Entry<T>, b: Entry<T>): boolean {
  return a.priority < b.priority || (a.priority === b.priority && a.sequence < b.sequence)
}
