import { letGoBlocks } from '../base/blocks.ts'
import type { Timer } from '../env/clock.ts'
import type { Env } from '../env/env.ts'
import { partitionName } from '../model/ids.ts'
import { Pace } from './cleaner/pace.ts'
import { CorruptLogError, OffsetOutOfRangeError } from './errors.ts'
import type { PartitionLog } from './partition-log.ts'

export interface ScrubLimits {
  /** `log.scrub.bytes.per.second`: most bytes read. */
  readonly bytesPerSecond: number
  /** `log.scrub.interval.ms`: from the end of a round to the beginning of the next. */
  readonly intervalMs: number
}

/** Since the start of the process; plain numbers. */
export interface ScrubStats {
  rounds: number
  bytes: number
  /** Logs in which damage was found that nobody had met. */
  damaged: number
  /** Wall clock of the end of the last round; -1: none yet. */
  lastRoundMs: number
}

/** After a start everybody reads what was missed: the first round waits. */
const FIRST_AFTER_MS = 600_000
/** Bytes of one read. */
const READ_BYTES = 256 * 1024

/**
 * Reads all that lies on disk once in a while, slowly, so that a bit that flips in what nobody reads is found while other
 * replicas have it: what damage means for a replica is as when a reader meets it. One log at a time, in a ring of names
 * that begins anywhere, for a node may be restarted more often than a round takes.
 */
export class Scrubber {
  readonly stats: ScrubStats = { rounds: 0, bytes: 0, damaged: 0, lastRoundMs: -1 }
  readonly #env: Env
  readonly #logs: ReadonlyMap<string, PartitionLog>
  #limits: (() => ScrubLimits | null) | null = null
  #timer: Timer | null = null
  #running: Promise<void> = Promise.resolve()
  #isStopped = false

  constructor(env: Env, logs: ReadonlyMap<string, PartitionLog>) {
    this.#env = env
    this.#logs = logs
  }

  /** `limits` are asked before each log, for they may change; null: nothing is to be read now. */
  start(limits: () => ScrubLimits | null): void {
    this.#limits = limits
    this.#schedule(Math.min(FIRST_AFTER_MS, limits()?.intervalMs ?? FIRST_AFTER_MS))
  }

  #schedule(delayMs: number): void {
    if (this.#isStopped) return
    this.#timer = this.#env.timers.after(delayMs, () => {
      this.#running = this.#round().then(() => this.#schedule(this.#limits?.()?.intervalMs ?? FIRST_AFTER_MS))
    })
  }

  async #round(): Promise<void> {
    const names = [...this.#logs.keys()].sort()
    const first = names.length === 0 ? 0 : this.#env.randomBytes(4).readUInt32BE(0) % names.length
    for (const name of [...names.slice(first), ...names.slice(0, first)]) {
      const limits = this.#limits?.() ?? null
      if (limits === null) return
      await this.#scrub(name, new Pace(this.#env, limits.bytesPerSecond))
      if (this.#isStopped) return
    }
    this.stats.rounds += 1
    this.stats.lastRoundMs = this.#env.clock.wallMs()
  }

  async #scrub(name: string, pace: Pace): Promise<void> {
    const log = this.#logs.get(name)
    if (log === undefined) return
    const isThere = () => !this.#isStopped && this.#logs.get(name) === log && log.failure === null
    try {
      // What is written meanwhile has just been looked at.
      const limitOffset = log.onDiskOffset
      for (let offset = log.logStartOffset; isThere() && offset < Math.min(limitOffset, log.onDiskOffset); ) {
        offset = await this.#read(log, Math.max(offset, log.logStartOffset), limitOffset, pace)
      }
    } catch (error) {
      this.#onError(log, error as Error)
    }
  }

  /** Returns where to go on. */
  async #read(log: PartitionLog, offset: number, limitOffset: number, pace: Pace): Promise<number> {
    try {
      const read = await log.read(offset, { maxBytes: READ_BYTES, limitOffset, atLeastOneBatch: true })
      letGoBlocks(read.buffers)
      this.stats.bytes += read.bytes
      pace.spent(read.bytes)
      await pace.rest()
      // Behind it nothing is left.
      return read.endOffset > offset ? read.endOffset : limitOffset
    } catch (error) {
      // Retention was faster.
      if (error instanceof OffsetOutOfRangeError && log.logStartOffset > offset) return log.logStartOffset
      throw error
    }
  }

  #onError(log: PartitionLog, error: Error): void {
    const partition = partitionName(log.topicPartition)
    if (error instanceof CorruptLogError) {
      this.stats.damaged += 1
      this.#env.log.error('A look through the logs has found damage', { partition, reason: error.message })
    } else if (!this.#isStopped && log.failure === null) {
      this.#env.log.warn('A log could not be looked through', { partition, reason: error.message })
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    await this.#running
  }
}
