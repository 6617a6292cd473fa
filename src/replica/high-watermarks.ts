import type { Env } from '../env/env.ts'
import { partitionName, type TopicPartition } from '../model/ids.ts'
import { OffsetCheckpointFile, type OffsetTable } from '../storage/offset-checkpoint.ts'
import type { HostedPartitions } from './hosted.ts'

const FILE_NAME = 'replication-offset-checkpoint'

/**
 * `replication-offset-checkpoint`: how far each partition had been committed, as Kafka writes it. A hint: a leader starts
 * from it, and what is missing or old only rises again; nothing is ever truncated to it (KIP-101).
 */
export class HighWatermarks {
  readonly #file: OffsetCheckpointFile
  readonly #env: Env
  #read: OffsetTable = new Map()

  constructor(env: Env, folder: string, hosted: HostedPartitions) {
    this.#env = env
    this.#file = new OffsetCheckpointFile(env.disk, `${folder}/${FILE_NAME}`, function* () {
      for (const partition of hosted) {
        if (partition.log !== null) yield { ...partition.topicPartition, offset: partition.highWatermark }
      }
    })
  }

  async load(): Promise<void> {
    this.#read = (await this.#file.read()) ?? new Map()
  }

  /** As it was at the start of the process; 0 when unknown. */
  of(topicPartition: TopicPartition): number {
    return this.#read.get(partitionName(topicPartition))?.offset ?? 0
  }

  /** A topic of the same name that comes later begins anew. */
  forget(topicPartition: TopicPartition): void {
    if (this.#read.size === 0) return
    const rest = new Map(this.#read)
    rest.delete(partitionName(topicPartition))
    this.#read = rest
  }

  /** Never rejects: it is a hint, and the next one will do. */
  async write(): Promise<void> {
    try {
      await this.#file.write()
    } catch (error) {
      this.#env.log.warn('High watermarks were not written down', { reason: String(error) })
    }
  }
}
