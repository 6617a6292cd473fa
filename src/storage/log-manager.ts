import { assert } from '../base/assert.ts'
import { DiskError, type DiskLock } from '../env/disk.ts'
import type { Env } from '../env/env.ts'
import { partitionName, type TopicId, type TopicPartition } from '../model/ids.ts'
import { type CleanerOwner, type CleanerStats, LogCleaner } from './cleaner/cleaner.ts'
import type { Checkpoints } from './checkpoints.ts'
import { writeCleanShutdown } from './clean-shutdown.ts'
import { defaultLogConfig, type LogConfig } from './config.ts'
import type { StorageContext } from './context.ts'
import { type FolderOwner, type OpenedFolder, openFolder } from './data-folder.ts'
import { DataFolderError, TopicIdMismatchError } from './errors.ts'
import { deletedDirectoryName, FOLDER_LOCK, META_PROPERTIES, strayDirectoryName } from './file-names.ts'
import { makeDurableDirectory } from './files.ts'
import { GroupedCall } from './grouped-call.ts'
import { IndexCache } from './index-cache.ts'
import { recoverLog } from './log-recovery.ts'
import { LogState } from './log-state.ts'
import type { MetaProperties } from './meta-properties.ts'
import { OpenFiles } from './open-files.ts'
import { inParallel, PARALLEL_LOGS } from './parallel.ts'
import { type FoundLog, PartitionDirectories } from './partition-directories.ts'
import { PartitionLog } from './partition-log.ts'
import { Remover } from './remover.ts'
import { RetentionClock, type RetentionTime } from './retention-clock.ts'
import { type ScrubLimits, Scrubber, type ScrubStats } from './scrubber.ts'
import { StrayDirectories, type StrayFigures, type StrayLimits } from './stray-directories.ts'
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

/** `log.retention.check.interval.ms`, where the owner does not say. */
const ROUND_MS = 300_000

const DEFAULTS = {
  openFilesMax: 512,
  indexCacheBytesMax: 16 * 1024 ** 2,
  tailBytesPerLogMax: 32 * 1024 ** 2,
  tailBytesMax: 64 * 1024 ** 2,
  checkpointIntervalMs: 5000,
  reserveBytes: 0,
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
  readonly #strays: StrayDirectories
  readonly #cleaner: LogCleaner
  readonly #scrubber: Scrubber
  readonly #syncFolder: GroupedCall
  readonly #logs = new Map<string, PartitionLog>()
  /** Directories that are being opened, renamed or removed. */
  readonly #busy = new Set<string>()
  /** Found and not opened, or in vain: after an unclean stop such a log may still end in torn bytes. */
  readonly #untouched: Set<string>
  readonly #directories: PartitionDirectories
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
    this.#untouched = new Set(opened.previousBrokerEpoch === null ? opened.found.map(partitionName) : [])
    this.#checkpoints = opened.checkpoints
    this.#syncFolder = new GroupedCall(() => env.disk.syncDirectory(folder))
    this.#remover = new Remover(env)
    this.#retentionClock = new RetentionClock(env.clock)
    this.#strays = new StrayDirectories(env, folder, (path) => this.#remover.removeTree(path))
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
    this.#directories = new PartitionDirectories(env, {
      folder,
      found: opened.found,
      checkpoints: opened.checkpoints,
      noRoomFor: ({ reserveUse }) => space.reasonFor(reserveUse),
      forgetCleaned: (name) => this.#cleaner.forget(name),
      syncFolder: () => this.#syncFolder.call(),
    })
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
  readFound(): Promise<FoundLog[]> {
    return this.#directories.readFound()
  }

  /**
   * Opens all partitions found, with the configs given (default: Kafka's). One that is damaged, or that has data and does
   * not say whose it is, is left out and reported; it stays on disk as it is. One without either is left to `openLog`: a
   * crash has cut its creation short.
   */
  async openFound(configOf: (topic: string) => LogConfig = () => defaultLogConfig): Promise<FaultyLog[]> {
    const faulty: FaultyLog[] = []
    await inParallel(this.#directories.stillFound, PARALLEL_LOGS, async (topicPartition) => {
      const name = partitionName(topicPartition)
      if (this.#logs.has(name)) return
      try {
        if ((await this.#directories.readIdentity(name)) === null) {
          if (await this.#directories.holdsData(name)) throw this.#directories.nobodys(name)
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
      const actualId = await this.#directories.identify(topicPartition, topicId, config)
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
    const path = this.#directories.path(topicPartition)
    const names = await this.#env.disk.list(path).catch(() => null)
    if (names?.includes(META_PROPERTIES)) {
      this.#env.log.error('A directory is the data folder of a node and no partition; it is left where it is', { path })
      this.#directories.forget(partitionName(topicPartition))
    } else if (names?.length === 0) await this.deleteLog(topicPartition)
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
      this.#directories.forget(name)
      this.#untouched.delete(name)
      await log?.abandon()
      await this.#cleaner.forget(name)
      return this.#directories.rename(topicPartition, nameFor)
    })
  }

  /**
   * Deletes what the topics' retention lets go of, in all logs. The high watermark of each bounds it. Time comes from
   * the wall clock, but not from one that has just jumped. A log that cannot be read is left out and has failed. The
   * listener of each then hears what the rounds to come will take; `roundMs` lie between two.
   */
  async applyRetention(highWatermarkOf: (topicPartition: TopicPartition) => number, roundMs = ROUND_MS): Promise<void> {
    const time = this.#retentionClock.time()
    const logs = [...this.#logs.values()]
    await inParallel(logs, PARALLEL_LOGS, async (log) => {
      try {
        const highWatermark = highWatermarkOf(log.topicPartition)
        await log.applyRetention({ wallMs: time.nowMs, highWatermark })
        await log.lookAhead(time, roundMs, highWatermark)
      } catch (error) {
        const { topic, partition } = log.topicPartition
        this.#env.log.warn('Retention was not applied', { topic, partition, reason: (error as Error).message })
      }
    })
  }

  /** How late it is for retention. */
  get retentionTime(): RetentionTime {
    return this.#retentionClock.time()
  }

  /** Removes what was set aside and has been there for long. Never rejects: what failed is tried again. */
  async removeStrays(limits: StrayLimits): Promise<void> {
    try {
      await this.#strays.look(limits, { nowMs: this.#retentionClock.nowMs(), isFull: !this.isWritable })
    } catch (error) {
      if (!(error instanceof DiskError)) throw error
      this.#env.log.warn('What was set aside could not be looked at', { reason: error.message })
    }
  }

  /** What is set aside now. */
  strays({ retentionMs }: Pick<StrayLimits, 'retentionMs'>): Promise<StrayFigures> {
    return this.#strays.figures(retentionMs, this.#retentionClock.nowMs())
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
