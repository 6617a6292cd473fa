import type { TopicPartition } from '../model/ids.ts'

/** Something for each of some partitions; kept by their names, since two equal objects are two. */
export class PartitionMap<T> {
  readonly #entries = new Map<string, { readonly key: TopicPartition; readonly value: T }>()

  constructor(entries: Iterable<readonly [TopicPartition, T]> = []) {
    for (const [key, value] of entries) this.set(key, value)
  }

  get size(): number {
    return this.#entries.size
  }

  get({ topic, partition }: TopicPartition): T | undefined {
    return this.#entries.get(`${topic}-${partition}`)?.value
  }

  has({ topic, partition }: TopicPartition): boolean {
    return this.#entries.has(`${topic}-${partition}`)
  }

  set({ topic, partition }: TopicPartition, value: T): void {
    this.#entries.set(`${topic}-${partition}`, { key: { topic, partition }, value })
  }

  delete({ topic, partition }: TopicPartition): void {
    this.#entries.delete(`${topic}-${partition}`)
  }

  clear(): void {
    this.#entries.clear()
  }

  keys(): TopicPartition[] {
    return [...this.#entries.values()].map(({ key }) => key)
  }

  values(): T[] {
    return [...this.#entries.values()].map(({ value }) => value)
  }

  entries(): [TopicPartition, T][] {
    return [...this.#entries.values()].map(({ key, value }) => [key, value])
  }
}

/** As requests list them: each topic once. */
export function byTopic<T extends TopicPartition>(items: Iterable<T>): [topic: string, items: T[]][] {
  const topics = new Map<string, T[]>()
  for (const item of items) {
    const known = topics.get(item.topic)
    if (known === undefined) topics.set(item.topic, [item])
    else known.push(item)
  }
  return [...topics]
}

/** Those of `from` that are not in `without`. */
export function difference(from: readonly TopicPartition[], without: readonly TopicPartition[]): TopicPartition[] {
  const known = new PartitionMap(without.map((partition) => [partition, true] as const))
  return from.filter((partition) => !known.has(partition))
}
