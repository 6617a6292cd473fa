import type { MetadataImage, PartitionImage } from '../metadata/image.ts'

const UNASSIGNED = 'AAAAAAAAAAAAAAAAAAAAAQ'
export const LOST_DIRECTORY = 'AAAAAAAAAAAAAAAAAAAAAg'

/**
 * Keeps scenarios on one controller apart: broker n is really `offset + n`, topics carry the offset in their names, and
 * directory n of two scenarios has two ids. What is printed shows none of it.
 */
export class ScenarioNames {
  readonly #offset: number

  constructor(offset: number) {
    this.#offset = offset
  }

  id(text: string | number | undefined): number {
    return this.#offset + Number(text)
  }

  isOwn(brokerId: number): boolean {
    return brokerId > this.#offset && brokerId < this.#offset + 10
  }

  topic(name = ''): string {
    return `${name}.${this.#offset}`
  }

  /** `orders-0` */
  partition(text = ''): { topic: string; partition: number } {
    const at = text.lastIndexOf('-')
    return { topic: this.topic(text.slice(0, at)), partition: Number(text.slice(at + 1)) }
  }

  directory(n: number): string {
    return this.fresh(1, n)
  }

  /** An id of its own for each kind and number. */
  fresh(kind: number, n: number): string {
    const bytes = Buffer.alloc(16, kind)
    bytes.writeUInt32BE(this.#offset, 4)
    bytes.writeUInt32BE(n, 12)
    return bytes.toString('base64url')
  }

  plain(text: string): string {
    return text.replaceAll(`.${this.#offset}`, '').replaceAll(/\b\d+\b/g, (digits) => {
      return this.isOwn(Number(digits)) ? String(Number(digits) - this.#offset) : digits
    })
  }

  list(ids: readonly number[]): string {
    return ids.map((id) => id - this.#offset).join()
  }

  /** A line for each partition of the scenario that differs. */
  changes(before: MetadataImage, after: MetadataImage): string[] {
    const lines: string[] = []
    for (const topic of after.topicsByName.sorted()) {
      if (!topic.name.endsWith(this.topic())) continue
      for (const [index, partition] of topic.partitions.entries()) {
        const was = before.topicById(topic.topicId)?.partitions[index]
        if (was === undefined || this.#print(was) !== this.#print(partition)) {
          lines.push(`${this.plain(topic.name)}-${index}: ${this.#print(partition)}`)
        }
      }
    }
    return lines
  }

  #print(partition: PartitionImage): string {
    const { replicas, isr, elr, lastKnownElr, addingReplicas, removingReplicas } = partition
    const leader = partition.leader < 0 ? 'none' : this.list([partition.leader])
    const parts = [`replicas=${this.list(replicas)} leader=${leader} isr=${this.list(isr)}`]
    const add = (name: string, ids: readonly number[]) => {
      if (ids.length > 0) parts.push(`${name}=${this.list(ids)}`)
    }
    // Kafka keeps these in the order of a hash set.
    const sorted = (ids: readonly number[]) => [...ids].sort((a, b) => a - b)
    add('elr', sorted(elr))
    add('last', lastKnownElr)
    add('adding', sorted(addingReplicas))
    add('removing', sorted(removingReplicas))
    if (partition.leaderRecoveryState !== 0) parts.push('recovering')
    parts.push(`epoch=${partition.leaderEpoch}/${partition.partitionEpoch}`)
    return `${parts.join(' ')} dirs=${partition.directories.map((id) => this.#directoryName(id)).join()}`
  }

  #directoryName(id: string): string {
    for (let n = 1; n < 10; n++) if (this.directory(n) === id) return String(n)
    return id === UNASSIGNED ? 'unassigned' : id === LOST_DIRECTORY ? 'lost' : id
  }
}
