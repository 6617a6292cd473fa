import { assert } from '../../base/assert.ts'
import { sleep } from '../../env/clock.ts'
import { batchBytes, baseOffset, isControl, lastOffset } from '../../protocol/batch/header.ts'
import { openRecords } from '../../protocol/batch/records.ts'
import { abortedBetween, abortedOf } from '../aborted-lookup.ts'
import { flushDerived } from '../derived-files.ts'
import type { LogState } from '../log-state.ts'
import { readMarker } from '../marker.ts'
import { ProducerStates } from '../producer-states.ts'
import type { Segment } from '../segment.ts'
import { positionFor } from '../segment-index.ts'
import type { AbortedTransaction } from '../txn-index.ts'
import { AbortedRanges } from './aborted-ranges.ts'
import { CleaningAbortedError, UncleanableError } from './errors.ts'
import { groupSegments } from './grouping.ts'
import { KnownProducers } from './known-producers.ts'
import { LogFilter } from './log-filter.ts'
import { KEY_BYTES_MAX, OffsetMap } from './offset-map.ts'
import type { Pace } from './pace.ts'
import type { CleaningPlan } from './plan.ts'
import { noteAbortedBefore, removeSnapshotsBelow, snapshotAt, writeSnapshot } from './replayed-snapshots.ts'
import { type BatchPlace, eachBatch } from './segment-reader.ts'
import { removeCleaned, SegmentCopy } from './segment-copy.ts'
import { swapIn } from './swap.ts'

export interface RoundInput {
  readonly plan: CleaningPlan
  readonly pace: Pace
  /** Of a clock that does not jump. */
  readonly wallMs: number
  readonly mapBytesMax: number
  highWatermark(): number
  /** Throws `CleaningAbortedError` when the node no longer wants this. */
  checkWanted(): void
}

export interface RoundResult {
  /** Everything below is compacted now. */
  readonly endOffset: number
  readonly bytesRead: number
  readonly bytesWritten: number
  readonly bytesRemoved: number
}

/** How long a round waits until what its log knows of its producers is settled. */
const SETTLE_WAITS = 50
const SETTLE_WAIT_MS = 200

/**
 * One round over one log: the newest offset of every key in the dirty part, as far as they fit into memory; then all
 * segments from the log's first one up to there are written anew, oldest first, without what that makes superfluous. The
 * log is locked only while a segment takes the place of others; whatever happens to it meanwhile (records are deleted,
 * retention, a truncation, its end) is noticed there, and ends the round.
 */
export class CleaningRound {
  readonly #state: LogState
  readonly #input: RoundInput
  readonly #truncations: number
  /** A replay of what stays, batch by batch. */
  readonly #replayed = new ProducerStates()
  #bytesRead = 0
  #bytesWritten = 0
  #bytesRemoved = 0

  constructor(input: RoundInput) {
    this.#input = input
    this.#state = input.plan.state
    this.#truncations = input.plan.truncations
  }

  async run(): Promise<RoundResult> {
    const { plan, pace, mapBytesMax, wallMs } = this.#input
    const state = this.#state
    const knownAt = state.endOffset
    const producers = new KnownProducers(state.producers, plan.endOffset)
    const seed = state.context.env.randomBytes(8)
    const newest = new OffsetMap({
      bytesMax: mapBytesMax,
      seed: { low: seed.readInt32LE(0), high: seed.readInt32LE(4) },
    })
    const segments = this.#segmentsBelow(plan.endOffset)
    const { all: abortedInAll, ofSegment: abortedOfSegment } = await this.#readAborted(segments)
    const endOffset = await this.#collectKeys(newest, abortedInAll)
    if (endOffset <= plan.firstDirty) {
      throw new UncleanableError(
        `${mapBytesMax} bytes for keys (log.cleaner.dedupe.buffer.size) do not hold one batch's`,
      )
    }
    if (!producers.isEmpty) await this.#untilSettled(knownAt)
    await this.#removeSnapshots(endOffset)
    const { deleteRetentionMs } = state.config
    const filter = new LogFilter({ newest, endOffset, aborted: abortedInAll, producers, wallMs, deleteRetentionMs })
    const groups = groupSegments(state, this.#segmentsBelow(endOffset))
    let abortedBefore = -1
    for (const group of groups) {
      const snapshot = snapshotAt(state, group[0] as Segment, this.#replayed, abortedBefore)
      const aborted = group.flatMap((segment) => abortedOfSegment.get(segment) ?? [])
      abortedBefore = await this.#cleanGroup(group, filter, aborted)
      if (group !== groups[0]) await writeSnapshot(state, snapshot)
      await pace.rest()
      this.check()
    }
    const next = state.segments[state.segmentIndexOf(endOffset - 1) + 1]
    if (next !== undefined) await noteAbortedBefore(state, next, abortedBefore)
    this.check()
    return {
      endOffset,
      bytesRead: this.#bytesRead,
      bytesWritten: this.#bytesWritten,
      bytesRemoved: this.#bytesRemoved,
    }
  }

  #segmentsBelow(offset: number): Segment[] {
    return this.#state.segments.slice(0, -1).filter(({ baseOffset }) => baseOffset < offset)
  }

  /** Throws `CleaningAbortedError` when what was done, or is being done, does not fit the log any more. */
  readonly check = (): void => {
    const { isClosed, failure, truncations, config } = this.#state
    this.#input.checkWanted()
    if (isClosed) throw new CleaningAbortedError('the log was closed')
    if (failure !== null) throw new CleaningAbortedError('the log has failed')
    if (truncations !== this.#truncations) throw new CleaningAbortedError('the log was truncated')
    if (!config.cleanupPolicy.includes('compact'))
      throw new CleaningAbortedError('the log is not to be compacted any more')
  }

  async #readAborted(
    segments: readonly Segment[],
  ): Promise<{ all: AbortedRanges; ofSegment: ReadonlyMap<Segment, readonly AbortedTransaction[]> }> {
    const state = this.#state
    const { generation } = state
    const all = new AbortedRanges(await abortedBetween(state, segments[0]?.baseOffset ?? 0, this.#input.plan.endOffset))
    const ofSegment = new Map<Segment, readonly AbortedTransaction[]>()
    for (const segment of segments) ofSegment.set(segment, await abortedOf(state, segment))
    this.check()
    // A look-up that met another log in between may know less than there is.
    if (state.generation !== generation) throw new CleaningAbortedError('segments were deleted')
    return { all, ofSegment }
  }

  /** What is met in a segment that has gone meanwhile means nothing. */
  async #eachBatch(
    segment: Segment,
    from: number,
    onBatch: (place: BatchPlace) => boolean | Promise<boolean>,
  ): Promise<void> {
    try {
      await eachBatch(this.#state, segment, { from, pace: this.#input.pace, check: this.check, onBatch })
    } catch (error) {
      this.check()
      if (!this.#state.segments.includes(segment)) throw new CleaningAbortedError('segments were deleted')
      throw error
    }
  }

  /** Takes in the keys of the dirty part. Returns where the first batch begins whose keys did not fit, or its end. */
  async #collectKeys(newest: OffsetMap, aborted: AbortedRanges): Promise<number> {
    const { plan } = this.#input
    const { firstDirty } = plan
    let endOffset = plan.endOffset
    for (const segment of this.#segmentsBelow(plan.endOffset)) {
      const limit = this.#state.limitOf(segment)
      if (limit <= firstDirty || endOffset < plan.endOffset) continue
      const from = segment.baseOffset >= firstDirty ? 0 : await positionFor(this.#state, segment, firstDirty)
      this.check()
      await this.#eachBatch(segment, from, ({ buffer, at }) => {
        this.#bytesRead += batchBytes(buffer, at)
        if (lastOffset(buffer, at) < firstDirty || isControl(buffer, at) || aborted.has(buffer, at)) return true
        if (takeKeys(newest, buffer, at)) return true
        endOffset = baseOffset(buffer, at)
        return false
      })
    }
    return endOffset
  }

  /**
   * Batches of a producer are dropped because it has written newer ones. Those must not be lost again, by a power cut or a
   * change of the leader, so all that the log knew of its producers must be durable and committed.
   */
  async #untilSettled(offset: number): Promise<void> {
    const state = this.#state
    for (let i = 0; i < SETTLE_WAITS; i++) {
      if (state.durableOffset >= offset && this.#input.highWatermark() >= offset) return
      if (state.durableOffset < offset) state.parts?.syncSoon()
      await sleep(state.context.env.timers, SETTLE_WAIT_MS)
      this.check()
    }
    throw new CleaningAbortedError(`records up to offset ${offset} are not committed yet`)
  }

  /** Snapshots in the part that changes speak of markers that may go; they are made anew from what stays. */
  async #removeSnapshots(endOffset: number): Promise<void> {
    const state = this.#state
    const limit = state.segmentLimit(state.segmentIndexOf(endOffset - 1))
    await flushDerived(state)
    this.check()
    await removeSnapshotsBelow(state, limit)
    this.check()
  }

  /** Returns how many aborted transactions its segment names afterwards. */
  async #cleanGroup(
    group: readonly Segment[],
    filter: LogFilter,
    aborted: readonly AbortedTransaction[],
  ): Promise<number> {
    const last = group.at(-1) as Segment
    const copy = await SegmentCopy.begin(this.#state, this.#input.pace, {
      baseOffset: (group[0] as Segment).baseOffset,
      createdMs: last.createdMs,
    })
    try {
      const kept = await this.#fillCopy(group, filter, copy)
      const keptAborted = aborted.filter(({ lastOffset: marker }) => kept.markers.has(marker))
      const bytes = group.reduce((sum, segment) => sum + segment.bytes, 0)
      this.#bytesRead += bytes
      if (group.length > 1 || kept.isChanged) {
        await copy.finish(keptAborted)
        this.check()
        await this.#state.exclusively(() => this.#swap(group, copy.segment))
        this.#bytesWritten += copy.segment.bytes
        this.#bytesRemoved += bytes - copy.segment.bytes
      }
      return keptAborted.length
    } finally {
      await copy.close().catch(() => {})
      if (!this.#state.isClosed) await removeCleaned(this.#state, copy.segment)
    }
  }

  async #fillCopy(
    group: readonly Segment[],
    filter: LogFilter,
    copy: SegmentCopy,
  ): Promise<{ isChanged: boolean; markers: ReadonlySet<number> }> {
    const markers = new Set<number>()
    let isChanged = false
    const last = group.at(-1) as Segment
    for (const segment of group) {
      await this.#eachBatch(segment, 0, ({ buffer, at, position }) => {
        const bytes = batchBytes(buffer, at)
        // Where the log ended here is not forgotten, and a swap knows all segments that it stands for.
        const mustStay = segment === last && position + bytes === segment.bytes
        const kept = filter.apply(buffer, at, mustStay)
        if (kept === null || kept.buffer !== buffer.buffer) isChanged = true
        if (kept === null) return true
        assert(baseOffset(kept, 0) === baseOffset(buffer, at), 'offsets stay')
        assert(lastOffset(kept, 0) === lastOffset(buffer, at), 'offsets stay')
        this.#replayed.apply(kept, 0, 0)
        if (isControl(kept, 0) && readMarker(kept, 0)?.isAbort) markers.add(lastOffset(kept, 0))
        const writing = copy.add(kept)
        return writing === null ? true : writing.then(() => true)
      })
    }
    return { isChanged, markers }
  }

  /** Under the log's lock: nothing that was read may have changed. */
  async #swap(group: readonly Segment[], fresh: Segment): Promise<void> {
    this.check()
    const { segments } = this.#state
    const first = segments.indexOf(group[0] as Segment)
    const isThere = first >= 0 && group.every((segment, i) => segments[first + i] === segment)
    if (!isThere) throw new CleaningAbortedError('segments were deleted')
    await swapIn(this.#state, group, fresh)
  }
}

/** False when the map is full; some of the batch's keys may be in it then. */
function takeKeys(newest: OffsetMap, buffer: Buffer, at: number): boolean {
  const cursor = openRecords(buffer, at)
  const base = baseOffset(buffer, at)
  while (cursor.next()) {
    if (cursor.keyLength < 0 || cursor.keyLength > KEY_BYTES_MAX) continue
    if (!newest.set(cursor.section, cursor.keyStart, cursor.keyLength, base + cursor.offsetDelta)) return false
  }
  return true
}
