import { MalformedError } from '../../base/bytes.ts'
import type { Timer } from '../../env/clock.ts'
import { DiskError, isOutOfSpace } from '../../env/disk.ts'
import type { Env } from '../../env/env.ts'
import { partitionName, type TopicPartition } from '../../model/ids.ts'
import { CorruptLogError } from '../errors.ts'
import { CLEANER_OFFSETS } from '../file-names.ts'
import type { LogState } from '../log-state.ts'
import { OffsetCheckpointFile } from '../offset-checkpoint.ts'
import type { RetentionClock } from '../retention-clock.ts'
import { CleaningRound } from './clean-log.ts'
import { CleaningAbortedError, UncleanableError } from './errors.ts'
import { Pace } from './pace.ts'
import { type CleaningPlan, planCleaning } from './plan.ts'

export interface CleanerLimits {
  /** `log.cleaner.dedupe.buffer.size`: most memory for the keys of one log. It is taken as keys come, and given back. */
  readonly mapBytesMax?: number
  /** `log.cleaner.io.max.bytes.per.second`: most bytes read and written. */
  readonly bytesPerSecondMax?: number
  /** `log.cleaner.backoff.ms`: how long after a log has got something to compact it is looked at. */
  readonly backoffMs?: number
}

const DEFAULTS = { mapBytesMax: 32 * 1024 ** 2, bytesPerSecondMax: 32 * 1024 ** 2, backoffMs: 15_000 }

/** A log that waits for its high watermark is not looked at more often, whatever is configured. */
const BACKOFF_MS_MIN = 100

/** Who knows what the cleaner must ask. */
export interface CleanerOwner {
  /** Nothing at or beyond it is compacted. */
  highWatermarkOf(topicPartition: TopicPartition): number
  /** Asked before every use, for they may change; null: nothing is to be compacted now. */
  limits?(): CleanerLimits | null
}

/** Since the start of the process; plain numbers. */
export interface CleanerStats {
  rounds: number
  bytesRead: number
  bytesWritten: number
  bytesRemoved: number
  /** Rounds that ended early because their log had changed, or because there was no room. */
  interruptions: number
  failures: number
  /** Logs that are not compacted any more before the next start. */
  uncleanable: number
  /** Wall clock of the end of the last round; -1: none yet. */
  lastRunMs: number
  lastRunTookMs: number
}

/**
 * Compacts the logs of a node whose `cleanup.policy` has `compact`: one at a time, the one with the largest dirty part
 * first. Sleeps for as long as no such log has a closed segment that was not compacted. A log that fails is marked, said
 * once, and left alone until the next start. `cleaner-offset-checkpoint` holds where each log's dirty part begins; it only
 * ever says too little, which costs a round, never too much, which could bring back deleted keys.
 */
export class LogCleaner {
  readonly stats: CleanerStats = {
    rounds: 0,
    bytesRead: 0,
    bytesWritten: 0,
    bytesRemoved: 0,
    interruptions: 0,
    failures: 0,
    uncleanable: 0,
    lastRunMs: -1,
    lastRunTookMs: 0,
  }
  readonly #env: Env
  readonly #clock: RetentionClock
  readonly #checkpoint: OffsetCheckpointFile
  readonly #firstDirty = new Map<string, TopicPartition & { readonly offset: number }>()
  /** To be looked at when the timer fires. */
  readonly #candidates = new Set<LogState>()
  readonly #uncleanable = new Set<string>()
  #owner: CleanerOwner | null = null
  #timer: Timer | null = null
  #running: Promise<void> | null = null
  /** The log of the round under way. */
  #current: { readonly name: string; readonly done: Promise<void> } | null = null
  #isStopped = false

  constructor(env: Env, folder: string, clock: RetentionClock) {
    this.#env = env
    this.#clock = clock
    this.#checkpoint = new OffsetCheckpointFile(env.disk, `${folder}/${CLEANER_OFFSETS}`, () =>
      this.#firstDirty.values(),
    )
  }

  /** Before the first log is opened. */
  async load(): Promise<void> {
    for (const [name, entry] of (await this.#checkpoint.read()) ?? []) this.#firstDirty.set(name, entry)
  }

  /** From now on logs are compacted. */
  start(owner: CleanerOwner): void {
    this.#owner = owner
    this.#schedule()
  }

  /** As they are now; null: nothing is to be compacted. */
  #limits(): Required<CleanerLimits> | null {
    const given = this.#owner?.limits === undefined ? {} : this.#owner.limits()
    if (given === null) return null
    const { bytesPerSecondMax = DEFAULTS.bytesPerSecondMax, backoffMs = DEFAULTS.backoffMs } = given
    // Kafka's default is no bound at all; ours is one that leaves the disk to those who wait for it.
    const isBounded = bytesPerSecondMax <= Number.MAX_SAFE_INTEGER
    return {
      ...DEFAULTS,
      ...given,
      bytesPerSecondMax: isBounded ? bytesPerSecondMax : DEFAULTS.bytesPerSecondMax,
      backoffMs: Math.max(backoffMs, BACKOFF_MS_MIN),
    }
  }

  /** The log was opened. Beyond its end nothing of it is compacted, whatever was said of another life of it. */
  async opened(state: LogState): Promise<void> {
    await this.#lower(state, state.endOffset)
    this.mayCompact(state)
  }

  /** A segment of the log was closed, or its config has changed. */
  mayCompact(state: LogState): void {
    // Most logs of a node have only an active segment.
    if (state.segments.length < 2 || !state.config.cleanupPolicy.includes('compact')) return
    if (this.#uncleanable.has(nameOf(state))) return
    this.#candidates.add(state)
    this.#schedule()
  }

  /** The log is about to be cut at `offset`. What comes there later is dirty; durable when this resolves. */
  truncating(state: LogState, offset: number): Promise<void> {
    return this.#lower(state, offset)
  }

  async #lower(state: LogState, offset: number): Promise<void> {
    const name = nameOf(state)
    const known = this.#firstDirty.get(name)
    if (known === undefined || known.offset <= offset) return
    this.#firstDirty.set(name, { ...known, offset })
    await this.#checkpoint.write()
  }

  /** The partition goes, or another one gets its name. Durable when this resolves; nothing touches its files any more. */
  async forget(name: string): Promise<void> {
    if (this.#current?.name === name) await this.#current.done
    for (const state of this.#candidates) if (nameOf(state) === name) this.#candidates.delete(state)
    if (this.#uncleanable.delete(name)) this.stats.uncleanable--
    if (this.#firstDirty.delete(name)) await this.#checkpoint.write()
  }

  #schedule(): void {
    if (this.#timer !== null || this.#running !== null || this.#isStopped) return
    if (this.#candidates.size === 0 || this.#owner === null) return
    const limits = this.#limits()
    if (limits === null) return
    this.#timer = this.#env.timers.after(limits.backoffMs, () => {
      this.#timer = null
      this.#running = this.#run().finally(() => {
        this.#running = null
        this.#schedule()
      })
    })
  }

  /** Until no log is due. One whose round was interrupted waits for the next time. */
  async #run(): Promise<void> {
    const interrupted = new Set<LogState>()
    for (;;) {
      const limits = this.#limits()
      if (this.#isStopped || limits === null) return
      const plan = await this.#dirtiest(interrupted)
      if (plan === null || this.#isStopped) return
      const done = this.#clean(plan, limits, interrupted)
      this.#current = { name: nameOf(plan.state), done }
      await done
      this.#current = null
    }
  }

  async #dirtiest(interrupted: ReadonlySet<LogState>): Promise<CleaningPlan | null> {
    let dirtiest: CleaningPlan | null = null
    for (const state of [...this.#candidates]) {
      if (interrupted.has(state) || this.#isStopped) continue
      // It comes back when a segment is closed while it is looked at.
      this.#candidates.delete(state)
      const plan = await this.#planOf(state)
      if (plan === null) continue
      if (plan.isDue || plan.mayRipen) this.#candidates.add(state)
      if (plan.isDue && plan.dirtyRatio > (dirtiest?.dirtyRatio ?? -1)) dirtiest = plan
    }
    return dirtiest
  }

  async #planOf(state: LogState): Promise<CleaningPlan | null> {
    if (state.isClosed || state.failure !== null || !state.config.cleanupPolicy.includes('compact')) return null
    if (state.isTruncating) {
      // What it says of itself now is neither the old nor the new.
      this.#candidates.add(state)
      return null
    }
    const firstDirty = Math.max(this.#firstDirty.get(nameOf(state))?.offset ?? 0, state.logStartOffset)
    const highWatermark = this.#owner?.highWatermarkOf(state.topicPartition) ?? 0
    try {
      return await planCleaning(state, { firstDirty, highWatermark, wallMs: this.#clock.nowMs() })
    } catch (error) {
      if (!(error instanceof DiskError)) throw error
      // Its segments are being deleted, or no file can be opened.
      this.#candidates.add(state)
      return null
    }
  }

  /** Never rejects but for a bug. */
  async #clean(plan: CleaningPlan, limits: Required<CleanerLimits>, interrupted: Set<LogState>): Promise<void> {
    const { state } = plan
    const startedMs = this.#env.clock.monotonicMs()
    this.#candidates.delete(state)
    const round = new CleaningRound({
      plan,
      pace: new Pace(this.#env, limits.bytesPerSecondMax),
      wallMs: this.#clock.nowMs(),
      mapBytesMax: limits.mapBytesMax,
      highWatermark: () => this.#owner?.highWatermarkOf(state.topicPartition) ?? 0,
      checkWanted: () => {
        if (this.#isStopped) throw new CleaningAbortedError('the cleaner stops')
      },
    })
    try {
      const result = await round.run()
      round.check()
      this.#firstDirty.set(nameOf(state), { ...state.topicPartition, offset: result.endOffset })
      const { stats } = this
      stats.rounds++
      stats.bytesRead += result.bytesRead
      stats.bytesWritten += result.bytesWritten
      stats.bytesRemoved += result.bytesRemoved
      stats.lastRunMs = this.#env.clock.wallMs()
      stats.lastRunTookMs = this.#env.clock.monotonicMs() - startedMs
      this.#candidates.add(state)
      await this.#checkpoint.write()
    } catch (error) {
      this.#failed(state, error, interrupted)
    }
  }

  #failed(state: LogState, error: unknown, interrupted: Set<LogState>): void {
    const { topic, partition } = state.topicPartition
    const reason = error instanceof Error ? error.message : String(error)
    if (error instanceof CleaningAbortedError || isOutOfSpace(error) || state.isClosed) {
      this.stats.interruptions++
      if (isOutOfSpace(error)) this.#env.log.warn('A log could not be compacted now', { topic, partition, reason })
      interrupted.add(state)
      if (!state.isClosed) this.#candidates.add(state)
      return
    }
    const isKnown = error instanceof MalformedError || error instanceof UncleanableError || error instanceof DiskError
    if (!isKnown && !(error instanceof CorruptLogError)) throw error
    this.stats.failures++
    this.stats.uncleanable++
    this.#uncleanable.add(nameOf(state))
    this.#candidates.delete(state)
    this.#env.log.error('A log is not compacted any more before the next start', { topic, partition, reason })
    // Damage is damage of the replica, whoever meets it (reliability S3).
    if (error instanceof CorruptLogError) state.fail(error)
  }

  /** No file is touched any more when this resolves. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    this.#timer = null
    await this.#running
  }
}

function nameOf(state: LogState): string {
  return partitionName(state.topicPartition)
}
