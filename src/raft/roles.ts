import type { LeaderState } from './leader-state.ts'
import { type Endpoint, type LogPosition, NO_DIRECTORY, type ReplicaKey } from './types.ts'
import type { VoterSet } from './voter-set.ts'

/** A leader, and where it is reached: never nowhere for one that is followed. */
export interface LeaderInfo {
  readonly id: number
  readonly endpoints: readonly Endpoint[]
}

/** No leader is known, or it is known but not how to reach it. A voter waits for an election, an observer asks around. */
export interface Unattached {
  readonly type: 'unattached'
  readonly leaderId: number | null
  /** Infinity for an observer. */
  deadlineMs: number
}

/** Asks whether it would be elected before it disturbs anyone with a new epoch (KIP-996). */
export interface Prospective {
  readonly type: 'prospective'
  /** Whom it goes back to when it would not. */
  readonly leader: LeaderInfo | null
  readonly tally: Tally
  readonly deadlineMs: number
}

/** Stands in an epoch of its own making; has voted for itself. */
export interface Candidate {
  readonly type: 'candidate'
  readonly tally: Tally
  readonly deadlineMs: number
}

/** Fetches from the leader of its epoch. */
export interface Follower {
  readonly type: 'follower'
  readonly leader: LeaderInfo
  fetchDeadlineMs: number
  /** The leader has answered in this epoch: no reason to help anyone against it. */
  hasFetched: boolean
  /** The snapshot that it must load, and how much of it is there. */
  snapshot: { readonly id: LogPosition; position: number } | null
  /** When to compare what the voter set says about this node next. */
  updateVoterMs: number
}

/** Leads its epoch. */
export interface Leading {
  readonly type: 'leader'
  readonly state: LeaderState
}

/** Led its epoch and will not again; tells the voters until they know, or until a new epoch begins. */
export interface Resigned {
  readonly type: 'resigned'
  readonly unacknowledged: Set<number>
  readonly successors: readonly ReplicaKey[]
  readonly deadlineMs: number
}

export type Role = Unattached | Prospective | Candidate | Follower | Leading | Resigned

/** The votes of one election among the voters of its beginning. */
export class Tally {
  readonly voters: VoterSet
  readonly #votes = new Map<number, boolean>()

  constructor(voters: VoterSet, self: number) {
    this.voters = voters
    this.record(self, true)
  }

  /** The vote of someone who has none is no vote; the first one counts. */
  record(id: number, isGranted: boolean): void {
    if (this.voters.byId(id) !== null && !this.#votes.has(id)) this.#votes.set(id, isGranted)
  }

  get granting(): readonly number[] {
    return this.voters.ids.filter((id) => this.#votes.get(id) === true)
  }

  get open(): readonly number[] {
    return this.voters.ids.filter((id) => !this.#votes.has(id))
  }

  get isWon(): boolean {
    return this.granting.length >= this.voters.majority
  }

  get isLost(): boolean {
    return this.granting.length + this.open.length < this.voters.majority
  }
}

export interface VoteQuestion {
  readonly candidate: ReplicaKey
  readonly preVote: boolean
  /** The candidate's log is at least as good as ours. */
  readonly isUpToDate: boolean
}

/**
 * Whether a node in `role`, having voted for `voted` in this epoch, gives its vote. A pre-vote promises nothing, so it
 * goes to anyone with a good log, unless a leader is there (KIP-996).
 */
export function grantsVote(role: Role, voted: ReplicaKey | null, question: VoteQuestion): boolean {
  const { candidate, preVote, isUpToDate } = question
  switch (role.type) {
    case 'leader':
      return false
    case 'follower':
      return preVote && isUpToDate && !role.hasFetched
    case 'candidate':
    case 'resigned':
      return preVote && isUpToDate
    case 'unattached':
    case 'prospective': {
      if (preVote) return isUpToDate
      // Asked again by the same one: the answer was lost.
      if (voted !== null) return isSameCandidate(voted, candidate)
      const leaderId = role.type === 'unattached' ? role.leaderId : (role.leader?.id ?? null)
      return leaderId === null && isUpToDate
    }
  }
}

/** In kraft.version 0 candidates do not say in which directory they are. */
function isSameCandidate(voted: ReplicaKey, candidate: ReplicaKey): boolean {
  return voted.id === candidate.id && [candidate.directoryId, NO_DIRECTORY].includes(voted.directoryId)
}
