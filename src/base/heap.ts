/**
 * A binary heap: the smallest priority first; equal priorities come out first in, first out, so that every run is the same.
 * Push and pop cost O(log n). In arrays side by side and not in one of objects: numbers need no object of their own there.
 */
export class Heap<T> {
  readonly #priorities: number[] = []
  /** Order of insertion. */
  readonly #sequences: number[] = []
  readonly #items: T[] = []
  #sequence = 0

  get size(): number {
    return this.#items.length
  }

  /** The smallest priority, or null when the heap is empty. */
  peekPriority(): number | null {
    return this.#priorities[0] ?? null
  }

  peek(): T | undefined {
    return this.#items[0]
  }

  push(priority: number, item: T): void {
    this.#raise(this.#items.length, priority, this.#sequence++, item)
  }

  pop(): T | undefined {
    const first = this.#items[0]
    const [priority, sequence, item] = [this.#priorities.pop(), this.#sequences.pop(), this.#items.pop()]
    if (priority !== undefined && this.#items.length > 0) this.#sink(priority, sequence as number, item as T)
    return first
  }

  /** Takes out all items but those that `isKept`, in one pass. */
  retain(isKept: (item: T) => boolean): void {
    const [priorities, sequences, items] = [this.#priorities, this.#sequences, this.#items]
    let kept = 0
    for (let i = 0; i < items.length; i++) {
      if (!isKept(items[i] as T)) continue
      // Never behind what is read: the heap of those kept grows at the front of the same arrays.
      this.#raise(kept++, priorities[i] as number, sequences[i] as number, items[i] as T)
    }
    priorities.length = kept
    sequences.length = kept
    items.length = kept
  }

  /** Puts an item in where a leaf is free, and up from there. */
  #raise(leaf: number, priority: number, sequence: number, item: T): void {
    let at = leaf
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.#isBefore(priority, sequence, parent)) break
      this.#move(parent, at)
      at = parent
    }
    this.#set(at, priority, sequence, item)
  }

  /** Puts an item in at the top, and down from there. */
  #sink(priority: number, sequence: number, item: T): void {
    const { length } = this.#items
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= length) break
      const right = child + 1
      if (right < length && this.#isBefore(this.#priorities[right] as number, this.#sequences[right] as number, child))
        child = right
      if (this.#isBefore(priority, sequence, child)) break
      this.#move(child, at)
      at = child
    }
    this.#set(at, priority, sequence, item)
  }

  #isBefore(priority: number, sequence: number, at: number): boolean {
    const other = this.#priorities[at] as number
    return priority < other || (priority === other && sequence < (this.#sequences[at] as number))
  }

  #move(from: number, to: number): void {
    this.#set(to, this.#priorities[from] as number, this.#sequences[from] as number, this.#items[from] as T)
  }

  #set(at: number, priority: number, sequence: number, item: T): void {
    this.#priorities[at] = priority
    this.#sequences[at] = sequence
    this.#items[at] = item
  }
}
