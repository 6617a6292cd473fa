import { assert } from '../base/assert.ts'
import { DiskError, isOutOfSpace } from '../env/disk.ts'
import type { Env } from '../env/env.ts'
import { METADATA_TOPIC_ID, NO_TOPIC_ID, partitionName, type TopicId, type TopicPartition } from '../model/ids.ts'
import type { Checkpoints } from './checkpoints.ts'
import type { LogConfig } from './config.ts'
import { CorruptLogError, TopicIdMismatchError } from './errors.ts'
import { isRecordFile, PARTITION_METADATA, strayDirectoryName } from './file-names.ts'
import { inParallel, PARALLEL_LOGS } from './parallel.ts'
import { type PartitionIdentity, readPartitionMetadata, writePartitionMetadata } from './partition-metadata.ts'

export interface FoundLog {
  readonly topicPartition: TopicPartition
  /** Null when the directory does not say. */
  readonly topicId: TopicId | null
}

interface Parts {
  readonly folder: string
  readonly found: readonly TopicPartition[]
  readonly checkpoints: Checkpoints
  /** Why there is no room for a new log; null: there is. */
  noRoomFor(config: LogConfig): string | null
  forgetCleaned(name: string): Promise<void>
  /** What was made, renamed or removed in the folder is durable then. */
  syncFolder(): Promise<void>
}

/** The directories of a data folder's partitions: whose each is, and how one leaves its name to another. */
export class PartitionDirectories {
  readonly #env: Env
  readonly #folder: string
  readonly #found: readonly TopicPartition[]
  readonly #parts: Parts
  /** Of the partitions found and still there; null: not read yet, or not said. */
  readonly #identities: Map<string, PartitionIdentity | null>

  constructor(env: Env, parts: Parts) {
    this.#env = env
    this.#parts = parts
    this.#folder = parts.folder
    this.#found = parts.found
    this.#identities = new Map(parts.found.map((topicPartition) => [partitionName(topicPartition), null]))
  }

  /** It is not what was found there any more. */
  forget(name: string): void {
    this.#identities.delete(name)
  }

  /** The topic ids of the partitions found, as their directories say. One that cannot be read is left out: opening it says why. */
  async readFound(): Promise<FoundLog[]> {
    const result: FoundLog[] = []
    await inParallel(this.stillFound, PARALLEL_LOGS, async (topicPartition) => {
      try {
        const identity = await readPartitionMetadata(this.#env.disk, this.path(topicPartition))
        this.#identities.set(partitionName(topicPartition), identity)
        result.push({ topicPartition, topicId: identity?.topicId ?? null })
      } catch (error) {
        if (!(error instanceof DiskError)) throw error
      }
    })
    return result
  }

  /** Without those that were set aside or deleted. */
  get stillFound(): TopicPartition[] {
    return this.#found.filter((topicPartition) => this.#identities.has(partitionName(topicPartition)))
  }

  /** Null when the directory does not say. */
  async readIdentity(name: string): Promise<PartitionIdentity | null> {
    return this.#identities.get(name) ?? (await readPartitionMetadata(this.#env.disk, `${this.#folder}/${name}`))
  }

  async holdsData(name: string): Promise<boolean> {
    const directory = `${this.#folder}/${name}`
    for (const file of await this.#env.disk.list(directory)) {
      if (!isRecordFile(file)) continue
      if (((await this.#env.disk.stat(`${directory}/${file}`))?.bytes ?? 0) > 0) return true
    }
    return false
  }

  nobodys(name: string): CorruptLogError {
    const file = `${this.#folder}/${name}/${PARTITION_METADATA}`
    return new CorruptLogError(file, 0, 'it is missing or does not say to which topic the data beside it belongs')
  }

  /** Returns whether the directory is still there. */
  async #settleNobodys(topicPartition: TopicPartition): Promise<boolean> {
    const name = partitionName(topicPartition)
    if (!(await this.holdsData(name))) return true
    const { recoveryPoint, isRecoveryPointKnown } = this.#parts.checkpoints.recoveryInputOf(name)
    if (recoveryPoint > 0 || !isRecoveryPointKnown) throw this.nobodys(name)
    const { topic, partition } = topicPartition
    this.#env.log.warn('A directory does not say to which topic its data belongs; it is set aside', {
      topic,
      partition,
    })
    await this.rename(topicPartition, strayDirectoryName)
    this.#identities.delete(name)
    return false
  }

  /** Makes the directory when there is none, and settles whose it is. */
  async identify(topicPartition: TopicPartition, topicId: TopicId | null, config: LogConfig): Promise<TopicId> {
    const { disk } = this.#env
    const name = partitionName(topicPartition)
    const directory = this.path(topicPartition)
    let isThere = this.#identities.has(name) || (await disk.stat(directory)) !== null
    const found = isThere ? await this.readIdentity(name) : null
    // The id of the metadata log is always the same: it cannot be another one's.
    const mayBeAnothers = isThere && found === null && topicId !== null && topicId !== METADATA_TOPIC_ID
    if (mayBeAnothers) isThere = await this.#settleNobodys(topicPartition)
    if (!isThere) {
      assert(topicId !== null, `a new log in ${directory} needs a topic id`)
      const reason = this.#parts.noRoomFor(config)
      if (reason !== null) throw new DiskError('ENOSPC', directory, reason)
      // What the checkpoints may say of the name is about another log.
      await this.#parts.checkpoints.remove(name)
      await this.#parts.forgetCleaned(name)
      await disk.makeDirectory(directory)
    }
    if (found !== null && topicId !== null && found.topicId !== topicId)
      throw new TopicIdMismatchError(directory, found.topicId, topicId)
    const { partition } = topicPartition
    if (found !== null && found.partition !== null && found.partition !== partition) {
      const reason = `the directory is that of partition ${found.partition} of the same topic`
      throw new CorruptLogError(`${directory}/${PARTITION_METADATA}`, 0, reason)
    }
    if (found === null && topicId !== null) await writePartitionMetadata(disk, directory, { topicId, partition })
    return found?.topicId ?? topicId ?? NO_TOPIC_ID
  }

  path(topicPartition: TopicPartition): string {
    return `${this.#folder}/${partitionName(topicPartition)}`
  }

  /** Null when there is no such directory. */
  async rename(
    topicPartition: TopicPartition,
    nameFor: (topicPartition: TopicPartition, unique: string) => string,
  ): Promise<string | null> {
    const directory = this.path(topicPartition)
    const isThere = (await this.#env.disk.stat(directory)) !== null
    const target = `${this.#folder}/${nameFor(topicPartition, this.#env.randomBytes(16).toString('hex'))}`
    if (isThere) await this.#env.disk.rename(directory, target)
    await this.#noteRemoval(partitionName(topicPartition))
    return isThere ? target : null
  }

  /**
   * Makes a removal durable. Without room or descriptors it may come back with a power cut, as something that nobody
   * knows; the name is not given to another log before this has been made up for.
   */
  async #noteRemoval(name: string): Promise<void> {
    for (const note of [() => this.#parts.syncFolder(), () => this.#parts.checkpoints.remove(name)]) {
      await note().catch((error: Error) => {
        if (!isOutOfSpace(error)) throw error
        this.#env.log.warn('A removal was not noted down; it will be later', { name, reason: error.message })
      })
    }
  }
}
