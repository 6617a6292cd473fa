import type { Followed } from './followed.ts'

/** The partitions that are followed from one leader, by the names that its answers have for them. */
export class FollowedSet {
  readonly #byTopic = new Map<string, Map<number, Followed>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  get(topicId: string, partition: number): Followed | undefined {
    return this.#byTopic.get(topicId)?.get(partition)
  }

  /** In the place of an earlier one of the same partition. */
  set(followed: Followed): void {
    const { topicId, topicPartition } = followed.partition
    let partitions = this.#byTopic.get(topicId)
    if (partitions === undefined) {
      partitions = new Map()
      this.#byTopic.set(topicId, partitions)
    }
    if (!partitions.has(topicPartition.partition)) this.#size += 1
    partitions.set(topicPartition.partition, followed)
  }

  /** False when another one has its place. */
  delete(followed: Followed): boolean {
    const { topicId, topicPartition } = followed.partition
    const partitions = this.#byTopic.get(topicId)
    if (partitions?.get(topicPartition.partition) !== followed) return false
    partitions.delete(topicPartition.partition)
    if (partitions.size === 0) this.#byTopic.delete(topicId)
    this.#size -= 1
    return true
  }

  clear(): void {
    this.#byTopic.clear()
    this.#size = 0
  }

  *[Symbol.iterator](): Generator<Followed> {
    for (const partitions of this.#byTopic.values()) yield* partitions.values()
  }
}
