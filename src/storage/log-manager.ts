import { assert } from '../base/assert.ts'
import { DiskError, type DiskLock, isOutOfSpace } from '../env/disk.ts'
import type { Env } from '../env/env.ts'
import { METADATA_TOPIC_ID, NO_TOPIC_ID, partitionName, type TopicId, type TopicPartition } from '../model/ids.ts'
import { type CleanerOwner, type CleanerStats, LogCleaner } from './cleaner/cleaner.ts'
import type { Checkpoints } from './checkpoints.ts'
import { writeCleanShutdown } from './clean-shutdown.ts'
import { defaultLogConfig, type LogConfig } from './config.ts'
import type { StorageContext } from './context.ts'
import { type FolderOwner, type OpenedFolder, openFolder } from './data-folder.ts'
import { CorruptLogError, DataFolderError, TopicIdMismatchError } from './errors.ts'
import {
  deletedDirectoryName,
  FOLDER_LOCK,
  isRecordFile,
  PARTITION_METADATA,
  strayDirectoryName,
} from './file-names.ts'
import { makeDurableDirectory } from './files.ts'
import { GroupedCall } from './grouped-call.ts'
import { IndexCache } from './index-cache.ts'
import { recoverLog } from './log-recovery.ts'
import { LogState } from './log-state.ts'
import type { MetaProperties } from './meta-properties.ts'
import { OpenFiles } from './open-files.ts'
import { inParallel } from './parallel.ts'
import { PartitionLog } from './partition-log.ts'
import { type PartitionIdentity, readPartitionMetadata, writePartitionMetadata } from './partition-metadata.ts'
import { Remover } from './remover.ts'
import { RetentionClock } from './retention-clock.ts'
import { type ScrubLimits, Scrubber, type ScrubStats } from './scrubber.ts'
import { SpaceGuard } from './space-guard.ts'
import { TailBudget } from './tail-budget.ts'

export interface LogManagerOptions extends FolderOwner {
  /** Descriptors kept open for logs. */
  readonly openFilesMax?: number
  readonly indexCacheBytesMax?: number
  readonly tailBytesPerLogMax?: number
  readonly tailBytesMax?: number
  readonly checkpointIntervalMs?: number
  /** Kept free on the disk for what the node itself must write; at most a twentieth of the disk. */
  readonly reserveBytes?: number
}

const DEFAULTS = {
  openFilesMax: 512,
  indexCacheBytesMax: 16 * 1024 ** 2,
  tailBytesPerLogMax: 32 * 1024 ** 2,
  tailBytesMax: 128 * 1024 ** 2,
  checkpointIntervalMs: 5000,
  reserveBytes: 0,
}

/** Logs opened, closed or checkpointed at the same time. */
const PARALLEL_LOGS = 16

export interface FoundLog {
  readonly topicPartition: TopicPartition
  /** Null when the directory does not say. */
  readonly topicId: TopicId | null
}

export interface FaultyLog {
  readonly topicPartition: TopicPartition
  readonly error: Error
}

/**
 * The logs of one data folder, which belongs to this process alone while it is open. Life cycle: `open`, then logs are
 * opened and created; `close` flushes all and writes the clean-shutdown marker last.
 */
export class LogManager {
  readonly metaProperties: MetaProperties
  /** Partition directories that lay in the folder when it was opened. */
  readonly found: readonly TopicPartition[]
  /** Broker epoch of the clean stop before this start (-1: unknown); null: the last stop was not clean. */
  readonly previousBrokerEpoch: number | null
  readonly #env: Env
  readonly #folder: string
  readonly #lock: DiskLock
  readonly #context: StorageContext
  readonly #checkpoints: Checkpoints
  readonly #remover: Remover
  readonly #retentionClock: RetentionClock
  readonly #cleaner: LogCleaner
  readonly #scrubber: Scrubber
  readonly #syncFolder: GroupedCall
  readonly #logs = new Map<string, PartitionLog>()
  /** Directories that are being opened, renamed or removed. */
  readonly #busy = new Set<string>()
  /** Found and not opened, or in vain: after an unclean stop such a log may still end in torn bytes. */
  readonly #untouched: Set<string>
  /** Of the partitions found and still there; null: not read yet, or not said. */
  readonly #identities: Map<string, PartitionIdentity | null>
  #onSpaceChange: (() => void) | null = null
  #isClosed = false

  private constructor(env: Env, options: Required<LogManagerOptions>, opened: OpenedFolder) {
    const { folder } = options
    this.#env = env
    this.#folder = folder
    this.#lock = opened.lock
    this.metaProperties = opened.meta
    this.found = opened.found
    this.previousBrokerEpoch = opened.previousBrokerEpoch
    this.#identities = new Map(opened.found.map((topicPartition) => [partitionName(topicPartition), null]))
    this.#untouched = new Set(opened.previousBrokerEpoch === null ? opened.found.map(partitionName) : [])
    this.#checkpoints = opened.checkpoints
    this.#syncFolder = new GroupedCall(() => env.disk.syncDirectory(folder))
    this.#remover = new Remover(env)
    this.#retentionClock = new RetentionClock(env.clock)
    this.#cleaner = new LogCleaner(env, folder, this.#retentionClock)
    this.#scrubber = new Scrubber(env, this.#logs)
    const tails = new TailBudget(options)
    const { reserveBytes } = options
    const space = new SpaceGuard(env, { folder, reserveBytes, unwrittenBytes: () => tails.unwrittenBytes })
    this.#context = {
      env,
      folder,
      files: new OpenFiles(env.disk, options.openFilesMax),
      indexes: new IndexCache(options.indexCacheBytesMax),
      tails,
      space,
      changed: (state) => this.#checkpoints.changed(state),
      mayCompact: (state) => this.#cleaner.mayCompact(state),
      uncleanFrom: (state, offset) => this.#cleaner.truncating(state, offset),
      checkpointRecoveryPoints: () => this.#checkpoints.writeRecoveryPoints(),
      checkpointStartOffsets: () => this.#checkpoints.writeStartOffsets(),
      syncFolder: () => this.#syncFolder.call(),
      removeLater: (path, delayMs) => this.#remover.removeFile(path, delayMs),
      randomBelow: (limit) => env.randomBytes(4).readUInt32BE(0) % (limit + 1),
    }
    this.#context.space.onChange = (isFull) => {
      if (isFull) this.#remover.hurry()
      this.#onSpaceChange?.()
    }
    for (const name of opened.deleted) this.#remover.removeTree(`${folder}/${name}`)
    this.#checkpoints.start(options.checkpointIntervalMs)
  }

  /**
   * Takes the folder. Rejects with `DataFolderError` when another process has it, when it belongs to another cluster or
   * node, or when a newer version wrote it.
   */
  static async open(env: Env, given: LogManagerOptions): Promise<LogManager> {
    const options = { ...DEFAULTS, ...given }
    const { folder } = options
    await makeDurableDirectory(env.disk, folder)
    const lock = await env.disk.lock(`${folder}/${FOLDER_LOCK}`)
    if (lock === null) throw new DataFolderError('in-use', `${folder} is used by another process`)
    try {
      const opened = await openFolder(env, options, lock)
      const manager = new LogManager(env, options, opened)
      await manager.#context.space.look()
      if (opened.found.length > 0) await manager.#cleaner.load()
      return manager
    } catch (error) {
      await lock.unlock()
      throw error
    }
  }

  get logs(): Iterable<PartitionLog> {
    return this.#logs.values()
  }

  get logCount(): number {
    return this.#logs.size
  }

  get(topicPartition: TopicPartition): PartitionLog | null {
    return this.#logs.get(partitionName(topicPartition)) ?? null
  }

  /** Null, or why the folder takes no records now. */
  get readOnlyReason(): string | null {
    return this.#context.space.reasonFor('none')
  }

  get isWritable(): boolean {
    return this.readOnlyReason === null
  }

  /** The disk has room (0), or takes no records of clients (1), nor what coordinators write (2). */
  get outOfSpace(): number {
    if (this.#context.space.reasonFor('half') !== null) return 2
    return this.isWritable ? 0 : 1
  }

  /** Hears when `outOfSpace` may be another. */
  onSpaceChange(listener: () => void): void {
    this.#onSpaceChange = listener
  }

  /** Open descriptors, bytes of recent batches and of indexes in memory. */
  get usage(): { openFiles: number; tailBytes: number; indexBytes: number } {
    const { files, tails, indexes } = this.#context
    return { openFiles: files.count, tailBytes: tails.retainedBytes, indexBytes: indexes.bytes }
  }

  /** The topic ids of the partitions found, as their directories say. One that cannot be read is left out: opening it says why. */
  async readFound(): Promise<FoundLog[]> {
    const result: FoundLog[] = []
    await inParallel(this.#stillFound(), PARALLEL_LOGS, async (topicPartition) => {
      try {
        const identity = await readPartitionMetadata(this.#env.disk, this.#directory(topicPartition))
        this.#identities.set(partitionName(topicPartition), identity)
        result.push({ topicPartition, topicId: identity?.topicId ?? null })
      } catch (error) {
        if (!(error instanceof DiskError)) throw error
      }
    })
    return result
  }

  /** Without those that were set aside or deleted. */
  #stillFound(): TopicPartition[] {
    return this.found.filter((topicPartition) => this.#identities.has(partitionName(topicPartition)))
  }

  /**
   * Opens all partitions found, with the configs given (default: Kafka's). One that is damaged, or that has data and does
   * not say whose it is, is left out and reported; it stays on disk as it is. One without either is left to `openLog`: a
   * crash has cut its creation short.
   */
  async openFound(configOf: (topic: string) => LogConfig = () => defaultLogConfig): Promise<FaultyLog[]> {
    const faulty: FaultyLog[] = []
    await inParallel(this.#stillFound(), PARALLEL_LOGS, async (topicPartition) => {
      const name = partitionName(topicPartition)
      if (this.#logs.has(name)) return
      try {
        if ((await this.#readIdentity(name)) === null) {
          if (await this.#holdsData(name)) throw this.#isNobodys(name)
          this.#untouched.delete(name)
          return
        }
        await this.openLog(topicPartition, null, configOf(topicPartition.topic))
      } catch (error) {
        faulty.push({ topicPartition, error: error as Error })
      }
    })
    return faulty
  }

  /**
   * Opens the partition's log, or creates it. `topicId` null: whatever the directory says. A directory that does not say
   * whose it is is taken over when it is empty; its data is set aside, as Kafka does, for it may be another topic's, unless
   * it had been durable: no crash takes the name of the topic from that. Rejects with
   * `TopicIdMismatchError` when the directory belongs to another topic of the same name, with `CorruptLogError` when it
   * is damaged, with `DiskError`.
   */
  async openLog(topicPartition: TopicPartition, topicId: TopicId | null, config: LogConfig): Promise<PartitionLog> {
    const name = partitionName(topicPartition)
    const open = this.#logs.get(name)
    if (open !== undefined) {
      if (topicId !== null && topicId !== open.topicId) throw new TopicIdMismatchError(name, open.topicId, topicId)
      open.config = config
      return open
    }
    return this.#exclusively(name, async () => {
      const actualId = await this.#identify(topicPartition, topicId, config)
      const state = new LogState(this.#context, { topicPartition, topicId: actualId }, config)
      const input = this.#checkpoints.recoveryInputOf(name)
      await recoverLog(state, input)
      await this.#settleIdentity(state, input.recoveryPoint)
      state.resumeRecoveryPoint(input.recoveryPoint)
      this.#untouched.delete(name)
      await this.#cleaner.opened(state)
      const log = new PartitionLog(state)
      this.#logs.set(name, log)
      this.#checkpoints.add(name, state)
      return log
    })
  }

  /**
   * A recovery point above 0 promises that the directory, and whose it is, are durable; so they are made so before there
   * can be one. An empty log waits for its first record.
   */
  async #settleIdentity(state: LogState, recoveryPoint: number): Promise<void> {
    if (state.bytes === 0) return
    if (recoveryPoint > 0) state.isIdentityDurable = true
    else {
      await state.settleIdentity()
      await this.#env.disk.syncDirectory(state.directory)
      state.isDirectoryDirty = false
    }
  }

  /** Null when the directory does not say. */
  async #readIdentity(name: string): Promise<PartitionIdentity | null> {
    return this.#identities.get(name) ?? (await readPartitionMetadata(this.#env.disk, `${this.#folder}/${name}`))
  }

  async #holdsData(name: string): Promise<boolean> {
    const directory = `${this.#folder}/${name}`
    for (const file of await this.#env.disk.list(directory)) {
      if (!isRecordFile(file)) continue
      if (((await this.#env.disk.stat(`${directory}/${file}`))?.bytes ?? 0) > 0) return true
    }
    return false
  }

  #isNobodys(name: string): CorruptLogError {
    const file = `${this.#folder}/${name}/${PARTITION_METADATA}`
    return new CorruptLogError(file, 0, 'it is missing or does not say to which topic the data beside it belongs')
  }

  /** Returns whether the directory is still there. */
  async #settleNobodys(topicPartition: TopicPartition): Promise<boolean> {
    const name = partitionName(topicPartition)
    if (!(await this.#holdsData(name))) return true
    const { recoveryPoint, isRecoveryPointKnown } = this.#checkpoints.recoveryInputOf(name)
    if (recoveryPoint > 0 || !isRecoveryPointKnown) throw this.#isNobodys(name)
    const { topic, partition } = topicPartition
    this.#env.log.warn('A directory does not say to which topic its data belongs; it is set aside', {
      topic,
      partition,
    })
    await this.#renameAway(topicPartition, strayDirectoryName)
    this.#identities.delete(name)
    return false
  }

  /** Makes the directory when there is none, and settles whose it is. */
  async #identify(topicPartition: TopicPartition, topicId: TopicId | null, config: LogConfig): Promise<TopicId> {
    const { disk } = this.#env
    const name = partitionName(topicPartition)
    const directory = this.#directory(topicPartition)
    let isThere = this.#identities.has(name) || (await disk.stat(directory)) !== null
    const found = isThere ? await this.#readIdentity(name) : null
    // The id of the metadata log is always the same: it cannot be another one's.
    const mayBeAnothers = isThere && found === null && topicId !== null && topicId !== METADATA_TOPIC_ID
    if (mayBeAnothers) isThere = await this.#settleNobodys(topicPartition)
    if (!isThere) {
      assert(topicId !== null, `a new log in ${directory} needs a topic id`)
      const reason = this.#context.space.reasonFor(config.reserveUse)
      if (reason !== null) throw new DiskError('ENOSPC', directory, reason)
      // What the checkpoints may say of the name is about another log.
      await this.#checkpoints.remove(name)
      await this.#cleaner.forget(name)
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

  async #exclusively<T>(name: string, action: () => Promise<T>): Promise<T> {
    assert(!this.#isClosed, `${name}: the log manager is closed`)
    assert(!this.#busy.has(name), `${name} is being opened or removed`)
    this.#busy.add(name)
    try {
      return await action()
    } finally {
      this.#busy.delete(name)
    }
  }

  #directory(topicPartition: TopicPartition): string {
    return `${this.#folder}/${partitionName(topicPartition)}`
  }

  /** Closes and removes the partition. Its name is free when this resolves; the files go in the background. */
  async deleteLog(topicPartition: TopicPartition): Promise<void> {
    const path = await this.#moveAway(topicPartition, deletedDirectoryName)
    if (path !== null) this.#remover.removeTree(path)
  }

  /**
   * Closes the partition and keeps its files under another name: nobody knows what they are, or they are damaged. A
   * directory that a crash left without any is removed.
   */
  async quarantine(topicPartition: TopicPartition): Promise<void> {
    const isEmpty = await this.#env.disk.list(this.#directory(topicPartition)).then(
      (names) => names.length === 0,
      () => false,
    )
    if (isEmpty) await this.deleteLog(topicPartition)
    else await this.#moveAway(topicPartition, strayDirectoryName)
  }

  async #moveAway(
    topicPartition: TopicPartition,
    nameFor: (topicPartition: TopicPartition, unique: string) => string,
  ): Promise<string | null> {
    const name = partitionName(topicPartition)
    return this.#exclusively(name, async () => {
      const log = this.#logs.get(name)
      this.#logs.delete(name)
      this.#identities.delete(name)
      this.#untouched.delete(name)
      await log?.abandon()
      await this.#cleaner.forget(name)
      return this.#renameAway(topicPartition, nameFor)
    })
  }

  /** Null when there is no such directory. */
  async #renameAway(
    topicPartition: TopicPartition,
    nameFor: (topicPartition: TopicPartition, unique: string) => string,
  ): Promise<string | null> {
    const directory = this.#directory(topicPartition)
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
    for (const note of [() => this.#syncFolder.call(), () => this.#checkpoints.remove(name)]) {
      await note().catch((error: Error) => {
        if (!isOutOfSpace(error)) throw error
        this.#env.log.warn('A removal was not noted down; it will be later', { name, reason: error.message })
      })
    }
  }

  /**
   * Deletes what the topics' retention lets go of, in all logs. The high watermark of each bounds it. Time comes from
   * the wall clock, but not from one that has just jumped. A log that cannot be read is left out and has failed.
   */
  async applyRetention(highWatermarkOf: (topicPartition: TopicPartition) => number): Promise<void> {
    const wallMs = this.#retentionClock.nowMs()
    const logs = [...this.#logs.values()]
    await inParallel(logs, PARALLEL_LOGS, async (log) => {
      try {
        await log.applyRetention({ wallMs, highWatermark: highWatermarkOf(log.topicPartition) })
      } catch (error) {
        const { topic, partition } = log.topicPartition
        this.#env.log.warn('Retention was not applied', { topic, partition, reason: (error as Error).message })
      }
    })
  }

  /**
   * From now on logs with `cleanup.policy=compact` are compacted in the background, up to the high watermark of each.
   * Called once.
   */
  startCleaner(owner: CleanerOwner): void {
    this.#cleaner.start(owner)
  }

  /** From now on all that lies on disk is read once in a while, and checked. Called once. */
  startScrubber(limits: () => ScrubLimits | null): void {
    this.#scrubber.start(limits)
  }

  get scrubStats(): Readonly<ScrubStats> {
    return this.#scrubber.stats
  }

  get cleanerStats(): Readonly<CleanerStats> {
    return this.#cleaner.stats
  }

  /** Writes all checkpoints now, as the ticker does from time to time. */
  checkpoint(): Promise<void> {
    return this.#checkpoints.tick()
  }

  /**
   * Flushes and closes all logs, then writes the marker that lets the next start trust them. Logs that failed, and
   * logs never opened after an unclean stop, keep the marker from being written; so does a disk without room. Returns
   * whether it was written.
   */
  async close({ brokerEpoch = -1 }: { brokerEpoch?: number } = {}): Promise<boolean> {
    if (this.#isClosed) return false
    this.#isClosed = true
    await this.#scrubber.stop()
    await this.#cleaner.stop()
    await this.#checkpoints.stop()
    let isClean = this.#untouched.size === 0
    await inParallel([...this.#logs.values()], PARALLEL_LOGS, async (log) => {
      try {
        await log.close()
      } catch (error) {
        isClean = false
        const { topic, partition } = log.topicPartition
        this.#env.log.error('A log was not closed cleanly', { topic, partition, reason: (error as Error).message })
      }
    })
    this.#remover.stop()
    this.#context.space.close()
    try {
      await this.#checkpoints.writeRecoveryPoints()
      await this.#checkpoints.writeStartOffsets()
      if (isClean) await writeCleanShutdown(this.#env.disk, this.#folder, brokerEpoch)
    } catch (error) {
      if (!(error instanceof DiskError)) throw error
      isClean = false
      this.#env.log.error('The data folder was not closed cleanly', { reason: error.message })
    } finally {
      await this.#context.files.close()
      await this.#lock.unlock()
    }
    return isClean
  }
}
