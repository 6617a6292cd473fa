import { assert } from '../base/assert.ts'
import type { PlacedRecord, ReplicaKey, Voter } from './types.ts'
import { VoterSet } from './voter-set.ts'

interface Entry<T> {
  readonly offset: number
  readonly value: T
}

/**
 * Who votes and by which kraft.version, at every offset of the log that can still be truncated to (KIP-853). A record is in
 * force from the moment it is in the log, committed or not; when it is cut off, the one before is in force again.
 *
 * Invariant: offsets grow; an entry is dropped from the front only when a later one is covered by a snapshot.
 */
export class VoterHistory {
  readonly #static: VoterSet
  readonly #directoryIgnored: boolean
  #sets: Entry<VoterSet>[] = []
  #versions: Entry<number>[] = []
  /** All quorum records before this were taken. */
  #endOffset = Number.NEGATIVE_INFINITY

  constructor(staticVoters: readonly Voter[], directoryIgnored = false) {
    this.#directoryIgnored = directoryIgnored
    this.#static = new VoterSet(staticVoters, directoryIgnored)
  }

  get voters(): VoterSet {
    return this.#sets.at(-1)?.value ?? this.#static
  }

  /** Of the record that brought `voters`; null for the configured ones. -1 for the snapshot that a cluster begins with. */
  get votersOffset(): number | null {
    return this.#sets.at(-1)?.offset ?? null
  }

  /** 0: voters are configured and cannot change. 1: they come from the log. */
  get kraftVersion(): number {
    return this.#versions.at(-1)?.value ?? 0
  }

  /** Records come in the order of the log; one that was taken already, from the leader's own decision, is passed over. */
  add({ offset, record }: PlacedRecord): void {
    // A snapshot has all of its records at one offset.
    if (offset + 1 < this.#endOffset) return
    this.#endOffset = offset + 1
    if (record.type === 'KRaftVoters') {
      push(this.#sets, { offset, value: new VoterSet(record.value.voters, this.#directoryIgnored) })
    }
    if (record.type === 'KRaftVersion') push(this.#versions, { offset, value: record.value.kRaftVersion })
  }

  /**
   * Whether a replica is needed for elections: it votes by the last record, or by one that may be the last one again, for
   * all that is known of what is committed. A leader that wrote its own removal and fell may be the only one with the
   * longest log: it must be able to stand, or nobody is ever elected (Ongaro's dissertation, §4.2.2).
   */
  mayVote(key: ReplicaKey, committedOffset: number): boolean {
    return this.voters.has(key) || this.openSets(committedOffset).some((set) => set.has(key))
  }

  /** The last set that is known to be committed, and all after it: each may be the last one that stands. */
  openSets(committedOffset: number): readonly VoterSet[] {
    const committed = this.#sets.findLastIndex(({ offset }) => offset < committedOffset)
    return this.#sets.slice(Math.max(committed, 0)).map(({ value }) => value)
  }

  truncateTo(endOffset: number): void {
    this.#endOffset = Math.min(this.#endOffset, endOffset)
    this.#sets = this.#sets.filter(({ offset }) => offset < endOffset)
    this.#versions = this.#versions.filter(({ offset }) => offset < endOffset)
  }

  /** The log begins anew with a snapshot that ends at `endOffset`. */
  restart(endOffset: number, kraftVersion: number, voters: readonly Voter[] | null): void {
    const offset = endOffset - 1
    this.#endOffset = endOffset
    this.#versions = [{ offset, value: kraftVersion }]
    this.#sets = voters === null ? [] : [{ offset, value: new VoterSet(voters, this.#directoryIgnored) }]
  }

  /** Nothing before `startOffset` will be truncated any more: of what is older only the newest is needed. */
  forgetBefore(startOffset: number): void {
    this.#sets = fromLastBefore(this.#sets, startOffset)
    this.#versions = fromLastBefore(this.#versions, startOffset)
  }
}

function push<T>(entries: Entry<T>[], entry: Entry<T>): void {
  const last = entries.at(-1)
  if (last?.offset === entry.offset) return
  assert(last === undefined || last.offset < entry.offset, `quorum record at ${entry.offset} after ${last?.offset}`)
  entries.push(entry)
}

function fromLastBefore<T>(entries: Entry<T>[], offset: number): Entry<T>[] {
  const first = entries.findLastIndex((entry) => entry.offset < offset)
  return first <= 0 ? entries : entries.slice(first)
}
