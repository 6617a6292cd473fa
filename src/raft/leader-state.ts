import { assert } from '../base/assert.ts'
import type { FetchRequest } from '../protocol/apis/fetch.ts'
import type { PendingChange } from './pending-change.ts'
import type { ReplicaKey, Ticket, Voter } from './types.ts'
import { keyOf, VoterSet } from './voter-set.ts'

/** What a leader knows of a replica: a voter, or someone who merely reads. Offsets of -1: nothing yet. */
export interface Progress {
  readonly key: ReplicaKey
  /** It holds all before this; a voter has flushed it. */
  endOffset: number
  lastFetchMs: number
  /** When it fetched last, records or a snapshot, as a voter. */
  lastContactMs: number
  lastCaughtUpMs: number
  /** End of the log when it fetched last: who has reached it by the next fetch was level in between. */
  leaderEndOffset: number
}

/** A fetch that waits for something to tell. */
export interface ParkedFetch {
  readonly ticket: Ticket
  readonly version: number
  readonly listener: string
  readonly request: FetchRequest
  readonly replica: ReplicaKey
  readonly untilMs: number
}

/** Within this the majority must fetch, as a multiple of the fetch timeout (KIP-595, check quorum). */
const CHECK_QUORUM_FACTOR = 1.5
/** A reader that was silent for this is forgotten. */
const OBSERVER_SESSION_MS = 300_000
/** Of fetches that wait, for all readers together: a node parks one. */
const PARKED_MAX = 10_000

/**
 * What the leader of one epoch knows. Life cycle: from winning the election to resigning or seeing a higher epoch.
 *
 * Invariants: the high watermark never falls, is unknown until a record of this epoch is on a majority, and counts only
 * members of the voter set that is last in the log; the leader itself counts only if it is one, and with what it has flushed.
 */
export class LeaderState {
  readonly self: ReplicaKey
  /** Since when it leads: who did not fetch since may not have found it yet. */
  readonly sinceMs: number
  /** Where this epoch begins: the LeaderChange is there. */
  readonly epochStartOffset: number
  readonly #checkQuorumMs: number
  #voterSet = VoterSet.empty
  #voters = new Map<number, Progress>()
  readonly #observers = new Map<string, Progress>()
  readonly #fetched = new Set<number>()
  checkQuorumDeadlineMs = 0
  /** When voters that do not fetch are told (again) who leads. */
  announceMs: number
  highWatermark: number | null = null
  readonly #parked = new Map<string, ParkedFetch>()
  /** No parked fetch has to be answered before, unless there is something to tell. */
  parkedUntilMs = Number.POSITIVE_INFINITY
  /** Up to where parked fetches were looked at. */
  #examined = { endOffset: -1, highWatermark: -1 }
  change: PendingChange | null = null
  isResignRequested = false

  constructor(options: {
    readonly self: ReplicaKey
    readonly epochStartOffset: number
    readonly voters: VoterSet
    readonly fetchTimeoutMs: number
    readonly nowMs: number
  }) {
    this.self = options.self
    this.sinceMs = options.nowMs
    this.epochStartOffset = options.epochStartOffset
    this.#checkQuorumMs = options.fetchTimeoutMs * CHECK_QUORUM_FACTOR
    this.announceMs = options.nowMs
    this.setVoters(options.voters, options.nowMs)
  }

  /**
   * Voters that joined are kept track of from what they fetched before; those that left go on as observers. Others are
   * needed now, or no more: they get their time from now on.
   */
  setVoters(voters: VoterSet, nowMs: number): void {
    if (voters === this.#voterSet) return
    const before = this.#voters
    this.#voterSet = voters
    this.checkQuorumDeadlineMs = nowMs + this.#checkQuorumMs
    this.#voters = new Map()
    for (const voter of voters.voters) {
      const key = keyOf(voter)
      const known = before.get(key.id)
      const observed = this.#observers.get(nameOf(key))
      const progress = known !== undefined && voters.has(known.key) ? known : (observed ?? blank(key))
      this.#observers.delete(nameOf(progress.key))
      this.#voters.set(key.id, progress)
    }
    for (const progress of before.values()) {
      if (this.#voters.get(progress.key.id) !== progress) this.#observers.set(nameOf(progress.key), progress)
    }
  }

  /** Of a voter or an observer; null when it never fetched. */
  progressOf(key: ReplicaKey): Progress | null {
    return this.#voterProgress(key) ?? this.#observers.get(nameOf(key)) ?? null
  }

  get voters(): readonly Progress[] {
    return [...this.#voters.values()]
  }

  get observers(): readonly Progress[] {
    return [...this.#observers.values()]
  }

  #voterProgress(key: ReplicaKey): Progress | null {
    return this.#voterSet.has(key) ? (this.#voters.get(key.id) ?? null) : null
  }

  /** A replica fetched from `endOffset`, so it holds all before it. */
  recordFetch(key: ReplicaKey, endOffset: number, leaderEndOffset: number, nowMs: number): void {
    const progress = this.#progressOrNew(key, nowMs)
    if (endOffset >= leaderEndOffset) progress.lastCaughtUpMs = nowMs
    else if (progress.leaderEndOffset > 0 && endOffset >= progress.leaderEndOffset) {
      progress.lastCaughtUpMs = Math.max(progress.lastCaughtUpMs, progress.lastFetchMs)
    }
    progress.leaderEndOffset = leaderEndOffset
    progress.endOffset = endOffset
    progress.lastFetchMs = nowMs
    this.recordContact(key, nowMs)
  }

  #progressOrNew(key: ReplicaKey, nowMs: number): Progress {
    const known = this.progressOf(key)
    if (known !== null) return known
    for (const [name, { lastFetchMs }] of this.#observers) {
      if (nowMs - lastFetchMs >= OBSERVER_SESSION_MS) this.#observers.delete(name)
    }
    const progress = blank(key)
    this.#observers.set(nameOf(key), progress)
    return progress
  }

  /** A voter fetched, records or a snapshot: once a majority has, the leader may go on for a while. */
  recordContact(key: ReplicaKey, nowMs: number): void {
    const progress = this.#voterProgress(key)
    if (progress === null) return
    progress.lastContactMs = nowMs
    this.#fetched.add(key.id)
    if (this.#fetched.size < this.#othersNeeded) return
    this.#fetched.clear()
    this.checkQuorumDeadlineMs = nowMs + this.#checkQuorumMs
  }

  get #othersNeeded(): number {
    return this.#voterSet.has(this.self) ? this.#voterSet.majority - 1 : this.#voterSet.majority
  }

  /** No majority has fetched for too long: someone else may lead by now. Never when the leader is majority enough. */
  hasLostQuorum(nowMs: number): boolean {
    return this.#othersNeeded > 0 && nowMs >= this.checkQuorumDeadlineMs
  }

  get nextCheckMs(): number {
    return this.#othersNeeded > 0 ? this.checkQuorumDeadlineMs : Number.POSITIVE_INFINITY
  }

  /** What a majority of the voters holds, when it includes a record of this epoch. */
  majorityOffset(ownOffset: number, countOldEpochs = false): number | null {
    const ownId = this.#voterSet.has(this.self) ? this.self.id : null
    const offsets = this.voters.map(({ key, endOffset }) => (key.id === ownId ? ownOffset : endOffset))
    const offset = offsets.sort((one, other) => other - one)[this.#voterSet.majority - 1] ?? -1
    // A record of an earlier epoch on a majority can still be overwritten by one of an epoch in between (Raft, §5.4.2).
    return offset > this.epochStartOffset || (countOldEpochs && offset > 0) ? offset : null
  }

  /** The other voters, the one with most of the log first. */
  get successors(): readonly ReplicaKey[] {
    return this.voters
      .filter(({ key }) => key.id !== this.self.id)
      .sort((one, other) => other.endOffset - one.endOffset || one.key.id - other.key.id)
      .map(({ key }) => key)
  }

  /** Voters that have not fetched since `sinceMs`. */
  silentSince(sinceMs: number): readonly ReplicaKey[] {
    return this.voters
      .filter(({ key, lastFetchMs }) => key.id !== this.self.id && lastFetchMs <= sinceMs)
      .map(({ key }) => key)
  }

  /** Holds a fetch back. One that has to be answered now instead, if any: the replica's last one, or this one. */
  park(fetch: ParkedFetch): ParkedFetch | null {
    const name = nameOf(fetch.replica)
    const before = this.#parked.get(name) ?? null
    if (fetch.replica.id < 0 || (before === null && this.#parked.size >= PARKED_MAX)) return fetch
    this.#parked.set(name, fetch)
    this.parkedUntilMs = Math.min(this.parkedUntilMs, fetch.untilMs)
    return before
  }

  get parkedCount(): number {
    return this.#parked.size
  }

  /**
   * Takes out those for which there is something to tell, or that have waited long enough. Costs nothing while neither
   * can be: thousands of brokers wait here.
   */
  unpark(endOffset: number, nowMs: number): readonly ParkedFetch[] {
    const highWatermark = this.highWatermark ?? -1
    const { endOffset: lastEnd, highWatermark: lastHighWatermark } = this.#examined
    if (nowMs < this.parkedUntilMs && endOffset === lastEnd && highWatermark === lastHighWatermark) return []
    this.#examined = { endOffset, highWatermark }
    const due: ParkedFetch[] = []
    this.parkedUntilMs = Number.POSITIVE_INFINITY
    for (const [name, fetch] of this.#parked) {
      const { fetchOffset, highWatermark: known } = partitionOf(fetch.request)
      if (fetch.untilMs > nowMs && fetchOffset >= endOffset && highWatermark <= known) {
        this.parkedUntilMs = Math.min(this.parkedUntilMs, fetch.untilMs)
        continue
      }
      this.#parked.delete(name)
      due.push(fetch)
    }
    return due
  }

  /** All of them: this node leads no more. */
  unparkAll(): readonly ParkedFetch[] {
    const all = [...this.#parked.values()]
    this.#parked.clear()
    return all
  }
}

/** What a fetch says of the metadata log. */
export function partitionOf({ topics }: FetchRequest): FetchRequest['topics'][number]['partitions'][number] {
  const partition = topics[0]?.partitions[0]
  assert(partition !== undefined, 'a fetch of nothing')
  return partition
}

function blank(key: ReplicaKey): Progress {
  const never = Number.NEGATIVE_INFINITY
  return { key, endOffset: -1, lastFetchMs: never, lastContactMs: never, lastCaughtUpMs: never, leaderEndOffset: -1 }
}

function nameOf({ id, directoryId }: ReplicaKey): string {
  return `${id}:${directoryId}`
}

/** A voter as records and requests name it. */
export function voterRef({ voterId, voterDirectoryId }: Voter): { voterId: number; voterDirectoryId: string } {
  return { voterId, voterDirectoryId }
}
