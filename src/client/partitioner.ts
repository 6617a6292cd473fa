import type { Random } from '../base/random.ts'
import type { TopicInfo } from './metadata.ts'

const SEED = 0x9747b28c
const M = 0x5bd1e995

/** MurmurHash2 (Austin Appleby) as Kafka's Java client computes it, as a signed int32. */
export function murmur2(data: Uint8Array): number {
  const { length } = data
  let hash = SEED ^ length
  const whole = length & ~3
  for (let at = 0; at < whole; at += 4) {
    let k =
      (data[at] as number) |
      ((data[at + 1] as number) << 8) |
      ((data[at + 2] as number) << 16) |
      ((data[at + 3] as number) << 24)
    k = Math.imul(k, M)
    k ^= k >>> 24
    k = Math.imul(k, M)
    hash = Math.imul(hash, M) ^ k
  }
  const rest = length - whole
  if (rest >= 3) hash ^= (data[whole + 2] as number) << 16
  if (rest >= 2) hash ^= (data[whole + 1] as number) << 8
  if (rest >= 1) {
    hash ^= data[whole] as number
    hash = Math.imul(hash, M)
  }
  hash ^= hash >>> 13
  hash = Math.imul(hash, M)
  hash ^= hash >>> 15
  return hash | 0
}

/** Where Kafka's Java client puts a key: equal keys of all such clients meet in one partition. */
export function partitionForKey(key: Uint8Array, partitionCount: number): number {
  return (murmur2(key) & 0x7fffffff) % partitionCount
}

/**
 * Chooses partitions for records without a key: one until a batch is full, then another at random. So batches are large
 * although nothing says where records belong (KIP-480, KIP-794).
 */
export class StickyPartitions {
  readonly #random: Random
  readonly #batchBytes: number
  readonly #current = new Map<string, { readonly partition: number; bytes: number }>()

  constructor(random: Random, batchBytes: number) {
    this.#random = random
    this.#batchBytes = batchBytes
  }

  choose(topic: TopicInfo, recordBytes: number): number {
    let current = this.#current.get(topic.name)
    if (current === undefined || current.bytes >= this.#batchBytes || !this.#isUsable(topic, current.partition)) {
      current = { partition: this.#next(topic), bytes: 0 }
      this.#current.set(topic.name, current)
    }
    current.bytes += recordBytes
    return current.partition
  }

  #isUsable(topic: TopicInfo, partition: number): boolean {
    return (topic.partitions[partition]?.leader ?? -1) >= 0
  }

  /** Partitions without a leader are left out, unless none has one. */
  #next(topic: TopicInfo): number {
    const usable = topic.partitions.filter(({ leader }) => leader >= 0)
    return this.#random.pick(usable.length > 0 ? usable : topic.partitions).partition
  }
}
