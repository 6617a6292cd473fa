import { assert } from '../../base/assert.ts'
import type { Random } from '../../base/random.ts'
import type { LogPosition, PlacedRecord, QuorumRecord, RaftLog, Voter } from '../types.ts'

/** A record of the tests' log: a client's number, or one of the quorum's. */
export interface ModelEntry {
  readonly epoch: number
  readonly value: number | QuorumRecord
}

export interface ModelSnapshot {
  readonly id: LogPosition
  readonly kraftVersion: number
  readonly voters: readonly Voter[] | null
}

/** Size of every snapshot, for fetching it in several chunks. */
export const SNAPSHOT_BYTES = 6

/**
 * The log of the tests: records in memory, and what of them is on the disk. A crash keeps what was flushed and, at random,
 * some of what was not. A truncation, too, is durable only with the next flush.
 */
export class ModelLog implements RaftLog {
  startOffset = 0
  #entries: ModelEntry[] = []
  #flushed: { startOffset: number; entries: ModelEntry[] } = { startOffset: 0, entries: [] }
  durableOffset = 0
  /** Oldest first; the first one is where the log begins, unless that is 0. */
  snapshots: ModelSnapshot[] = []

  get endOffset(): number {
    return this.startOffset + this.#entries.length
  }

  get lastEpoch(): number {
    return this.#entries.at(-1)?.epoch ?? this.earliestSnapshot?.epoch ?? 0
  }

  get earliestSnapshot(): LogPosition | null {
    return this.snapshots[0]?.id ?? null
  }

  get latestSnapshot(): LogPosition | null {
    return this.snapshots.at(-1)?.id ?? null
  }

  snapshot(id: LogPosition): ModelSnapshot | null {
    return this.snapshots.find((each) => each.id.offset === id.offset && each.id.epoch === id.epoch) ?? null
  }

  snapshotBytes(id: LogPosition): number | null {
    return this.snapshot(id) === null ? null : SNAPSHOT_BYTES
  }

  endOffsetForEpoch(epoch: number): LogPosition {
    const index = this.#entries.findLastIndex((entry) => entry.epoch <= epoch)
    if (index >= 0) return { offset: this.startOffset + index + 1, epoch: (this.#entries[index] as ModelEntry).epoch }
    const start = this.earliestSnapshot
    const isOfStart = start !== null && start.offset > 0 && start.epoch <= epoch
    return { offset: this.startOffset, epoch: isOfStart ? start.epoch : epoch }
  }

  /** Null below the start. */
  at(offset: number): ModelEntry | null {
    return this.#entries[offset - this.startOffset] ?? null
  }

  slice(from: number, to: number): readonly ModelEntry[] {
    return this.#entries.slice(from - this.startOffset, to - this.startOffset)
  }

  epochBefore(offset: number): number {
    if (offset === 0) return 0
    return this.at(offset - 1)?.epoch ?? (offset === this.startOffset ? (this.earliestSnapshot?.epoch ?? 0) : -1)
  }

  append(entry: ModelEntry): number {
    this.#entries.push(entry)
    return this.endOffset - 1
  }

  truncateTo(offset: number): void {
    assert(offset >= this.startOffset && offset <= this.endOffset, `truncate to ${offset}`)
    this.#entries.length = offset - this.startOffset
    this.durableOffset = Math.min(this.durableOffset, offset)
  }

  flush(offset = this.endOffset): void {
    this.durableOffset = Math.max(this.durableOffset, offset)
    const entries = this.#entries.slice(0, this.durableOffset - this.startOffset)
    this.#flushed = { startOffset: this.startOffset, entries }
  }

  /** All before the snapshot goes. */
  startWith(snapshot: ModelSnapshot): void {
    const { offset } = snapshot.id
    this.#entries = this.#entries.slice(offset - this.startOffset)
    this.startOffset = offset
    this.durableOffset = Math.max(this.durableOffset, offset)
    this.snapshots = [snapshot]
    this.flush(this.durableOffset)
  }

  /** A fetched snapshot replaces everything. */
  restartWith(snapshot: ModelSnapshot): void {
    this.#entries = []
    this.startOffset = snapshot.id.offset
    this.durableOffset = snapshot.id.offset
    this.snapshots = [snapshot]
    this.flush()
  }

  /** The power goes, and comes back. */
  crash(random: Random): void {
    const { startOffset, entries } = this.#flushed
    const wasExtended = entries.every((entry, index) => this.#entries[index] === entry)
    const survived = wasExtended ? random.between(entries.length, this.#entries.length) : entries.length
    this.#entries = wasExtended ? this.#entries.slice(0, survived) : [...entries]
    this.startOffset = startOffset
    // What recovery accepts it flushes before it is used.
    this.durableOffset = this.endOffset
    this.flush()
  }

  /** What the machine needs to know at its start. */
  quorumRecords(): readonly PlacedRecord[] {
    const placed: PlacedRecord[] = []
    const snapshot = this.snapshots.at(-1)
    if (snapshot !== undefined) {
      const offset = snapshot.id.offset - 1
      placed.push({ offset, record: { type: 'KRaftVersion', value: { kRaftVersion: snapshot.kraftVersion } } })
      if (snapshot.voters !== null) {
        placed.push({ offset, record: { type: 'KRaftVoters', value: { voters: snapshot.voters } } })
      }
    }
    for (const [index, { value }] of this.#entries.entries()) {
      const offset = this.startOffset + index
      if (typeof value !== 'number' && offset >= (snapshot?.id.offset ?? 0)) placed.push({ offset, record: value })
    }
    return placed
  }

  /** A snapshot of all before `offset`. */
  snapshotAt(offset: number): ModelSnapshot {
    let kraftVersion = 0
    let voters: readonly Voter[] | null = null
    for (const placed of this.quorumRecords()) {
      if (placed.offset >= offset) continue
      if (placed.record.type === 'KRaftVersion') kraftVersion = placed.record.value.kRaftVersion
      if (placed.record.type === 'KRaftVoters') voters = placed.record.value.voters
    }
    return { id: { offset, epoch: this.epochBefore(offset) }, kraftVersion, voters }
  }
}
