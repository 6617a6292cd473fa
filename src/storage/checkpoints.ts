import { dropFreeBlocks } from '../base/blocks.ts'
import type { Timer } from '../env/clock.ts'
import type { Env } from '../env/env.ts'
import { partitionName, type TopicPartition } from '../model/ids.ts'
import { flushDerived, removeUnsyncedIndexes, takeSnapshot, takeSnapshotIfWorthIt } from './derived-files.ts'
import { RECOVERY_POINTS, START_OFFSETS } from './file-names.ts'
import type { RecoveryInput } from './log-recovery.ts'
import type { LogState } from './log-state.ts'
import { OffsetCheckpointFile, type OffsetTable } from './offset-checkpoint.ts'
import { inParallel } from './parallel.ts'

const PARALLEL_FLUSHES = 8
/** What a start after a crash has to verify is bounded by this, not only by time. */
const UNCOVERED_BYTES_MAX = 128 * 1024 ** 2
/**
 * Stands in the file for a log whose recovery point was lost, as long as it cannot be opened: without an entry the next start
 * would take all of it for what no checkpoint had covered yet.
 */
const UNKNOWN_POINT = Number.MAX_SAFE_INTEGER
/** A log that nothing was appended to for this long counts as idle. */
const IDLE_MS = 30_000

/**
 * The recovery points and start offsets of all logs of a folder, on disk. One ticker for all logs: it writes what is
 * derived of the logs that changed, then the recovery points, so that a start after a crash scans little.
 */
export class Checkpoints {
  readonly #env: Env
  readonly #members = new Map<string, LogState>()
  readonly #changed = new Set<LogState>()
  readonly #recoveryPoints: OffsetCheckpointFile
  readonly #startOffsets: OffsetCheckpointFile
  /** What the files said at the start, for logs that are not open (yet). */
  readonly #loadedPoints: Map<string, TopicPartition & { readonly offset: number }>
  readonly #loadedStarts: Map<string, TopicPartition & { readonly offset: number }>
  readonly #isClean: boolean
  #intervalMs = 0
  #timer: Timer | null = null
  #ticking: Promise<void> | null = null
  /** Appended to all logs since the last checkpoint. */
  #uncoveredBytes = 0
  #isStopped = false
  /** The files may name a partition that is gone: no other may get its name before they are written. */
  #areStale = false

  private constructor(
    env: Env,
    folder: string,
    loaded: { points: OffsetTable; starts: OffsetTable | null; isClean: boolean },
  ) {
    this.#env = env
    this.#loadedPoints = new Map(loaded.points)
    this.#loadedStarts = new Map(loaded.starts ?? [])
    this.#isClean = loaded.isClean
    this.#recoveryPoints = new OffsetCheckpointFile(env.disk, `${folder}/${RECOVERY_POINTS}`, () => this.#points())
    this.#startOffsets = new OffsetCheckpointFile(env.disk, `${folder}/${START_OFFSETS}`, () => this.#starts())
  }

  /** `found`: the partitions that lie in the folder. */
  static async load(
    env: Env,
    folder: string,
    { isClean, found }: { isClean: boolean; found: readonly TopicPartition[] },
  ): Promise<Checkpoints> {
    const nothing = () => []
    const unknown = found.map((each) => [partitionName(each), { ...each, offset: UNKNOWN_POINT }] as const)
    const read = await new OffsetCheckpointFile(env.disk, `${folder}/${RECOVERY_POINTS}`, nothing).read()
    const points = read ?? new Map(unknown)
    const starts = await new OffsetCheckpointFile(env.disk, `${folder}/${START_OFFSETS}`, nothing).read()
    return new Checkpoints(env, folder, { points, starts, isClean })
  }

  /** In a folder without logs. */
  async writeEmpty(): Promise<void> {
    this.#loadedPoints.clear()
    this.#loadedStarts.clear()
    await this.writeRecoveryPoints()
    await this.writeStartOffsets()
  }

  start(intervalMs: number): void {
    this.#intervalMs = intervalMs
  }

  recoveryInputOf(name: string): RecoveryInput {
    const point = this.#loadedPoints.get(name)?.offset
    const isKnown = point !== UNKNOWN_POINT
    return {
      // A log that the last clean stop did not know was put there by someone else.
      isClean: this.#isClean && point !== undefined && isKnown,
      recoveryPoint: isKnown ? (point ?? 0) : 0,
      isRecoveryPointKnown: isKnown,
      startOffset: this.#loadedStarts.get(name)?.offset ?? 0,
    }
  }

  add(name: string, state: LogState): void {
    this.#members.set(name, state)
    this.#loadedPoints.delete(name)
    this.#loadedStarts.delete(name)
  }

  /** The partition's directory is gone. Durable when it resolves: another log may get the name now. */
  async remove(name: string): Promise<void> {
    const member = this.#members.get(name)
    if (member !== undefined) this.#changed.delete(member)
    const wasKnown = this.#members.delete(name) || this.#loadedPoints.has(name)
    this.#loadedPoints.delete(name)
    this.#loadedStarts.delete(name)
    if (!wasKnown && !this.#areStale) return
    this.#areStale = true
    await this.#writeBoth()
  }

  async #writeBoth(): Promise<void> {
    await this.writeRecoveryPoints()
    await this.writeStartOffsets()
    this.#areStale = false
  }

  changed(state: LogState): void {
    this.#changed.add(state)
    this.#uncoveredBytes += state.appendedBytes - state.countedBytes
    state.countedBytes = state.appendedBytes
    if (this.#ticking !== null || this.#isStopped) return
    if (this.#uncoveredBytes > UNCOVERED_BYTES_MAX) void this.tick()
    else if (this.#timer === null) this.#schedule()
  }

  /** Only while something has changed: an idle node wakes for nothing. */
  #schedule(): void {
    this.#timer = this.#env.timers.after(this.#intervalMs, () => {
      this.#timer = null
      void this.tick()
    })
  }

  /** Writes everything that changed. Never rejects: what failed is tried again with the next change. */
  tick(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = null
    this.#ticking ??= this.#tickNow().finally(() => {
      this.#ticking = null
      if (this.#changed.size > 0 && !this.#isStopped) this.#schedule()
    })
    return this.#ticking
  }

  async #tickNow(): Promise<void> {
    const changed = [...this.#changed]
    this.#changed.clear()
    this.#uncoveredBytes = 0
    await inParallel(changed, PARALLEL_FLUSHES, async (state) => {
      if (state.isClosed) return
      if (state.failure !== null) {
        await removeUnsyncedIndexes(state)
        return
      }
      // A snapshot of now would be of records that are about to go.
      if (state.isTruncating) {
        this.#changed.add(state)
        return
      }
      if (state.durableOffset < state.writtenOffset) state.parts?.syncSoon()
      takeSnapshotIfWorthIt(state)
      await flushDerived(state)
      this.#noteIdle(state)
    })
    try {
      await this.#writeBoth()
    } catch (error) {
      this.#env.log.warn('Checkpoints were not written; they will be later', { reason: (error as Error).message })
    }
  }

  /** A log that nothing is appended to lets go of its recent batches and of its file after a while. */
  #noteIdle(state: LogState): void {
    if (state.tail.isEmpty) return
    const nowMs = this.#env.clock.monotonicMs()
    if (state.appendedBytes !== state.appendedAtTick) state.idleSinceMs = nowMs
    state.appendedAtTick = state.appendedBytes
    if (nowMs - state.idleSinceMs < IDLE_MS) this.#changed.add(state)
    else {
      // A start after a crash then finds everything said about it.
      takeSnapshot(state)
      void flushDerived(state)
      state.context.tails.trim(state.tail, 0)
      if (this.#changed.size === 0) dropFreeBlocks()
      state.context.files.drop(state.path(state.active, 'log'))
    }
  }

  writeRecoveryPoints(): Promise<void> {
    return this.#recoveryPoints.write()
  }

  writeStartOffsets(): Promise<void> {
    return this.#startOffsets.write()
  }

  *#points(): Generator<TopicPartition & { offset: number }> {
    for (const state of this.#members.values()) yield { ...state.topicPartition, offset: state.takeRecoveryPoint() }
    // Logs that were not opened (faulty ones too) keep what was known of them.
    yield* this.#loadedPoints.values()
  }

  *#starts(): Generator<TopicPartition & { offset: number }> {
    for (const state of this.#members.values()) {
      // Also where the first segment begins just there: a power cut may bring back the removed ones before it.
      if (state.logStartOffset > 0) yield { ...state.topicPartition, offset: state.logStartOffset }
    }
    yield* this.#loadedStarts.values()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    this.#timer = null
    await this.#ticking
  }
}
