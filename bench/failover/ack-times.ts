import type { Ack } from '../../test/history/ledger.ts'

/** When each partition's acknowledgements came, since it was cleared. */
export class AckTimes {
  readonly #byPartition = new Map<number, number[]>()

  add({ partition, atMs }: Ack): void {
    const times = this.#byPartition.get(partition)
    if (times === undefined) this.#byPartition.set(partition, [atMs])
    else times.push(atMs)
  }

  /** Forgets all but the newest of each partition: the next gap begins there. */
  clear(): void {
    for (const times of this.#byPartition.values()) times.splice(0, times.length - 1)
  }

  newest(partition: number): number {
    return this.#byPartition.get(partition)?.at(-1) ?? 0
  }

  /** The longest time without an acknowledgement, in ms. */
  longestGap(partition: number): number {
    const times = this.#byPartition.get(partition) ?? []
    let longest = 0
    for (let i = 1; i < times.length; i++) longest = Math.max(longest, (times[i] as number) - (times[i - 1] as number))
    return longest
  }
}
