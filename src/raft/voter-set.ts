import { assert } from '../base/assert.ts'
import { type Endpoint, NO_DIRECTORY, type ReplicaKey, type Voter } from './types.ts'

/** Who votes. Immutable; in the order of the record it comes from. At most one directory for each id. */
export class VoterSet {
  static readonly empty = new VoterSet([])
  readonly voters: readonly Voter[]
  readonly #byId: ReadonlyMap<number, Voter>
  readonly #directoryIgnored: boolean

  constructor(voters: readonly Voter[], directoryIgnored = false) {
    this.voters = voters
    this.#byId = new Map(voters.map((voter) => [voter.voterId, voter]))
    this.#directoryIgnored = directoryIgnored
    assert(this.#byId.size === voters.length, `voter set with an id twice: ${this}`)
  }

  get size(): number {
    return this.voters.length
  }

  /** How many make a majority. */
  get majority(): number {
    return Math.floor(this.voters.length / 2) + 1
  }

  get ids(): readonly number[] {
    return this.voters.map(({ voterId }) => voterId)
  }

  byId(id: number): Voter | null {
    return this.#byId.get(id) ?? null
  }

  has(key: ReplicaKey): boolean {
    const voter = this.#byId.get(key.id)
    if (voter === undefined) return false
    // A voter of kraft.version 0 has no directory: its number is all there is.
    if (voter.voterDirectoryId === NO_DIRECTORY || this.#directoryIgnored) return true
    return voter.voterDirectoryId === key.directoryId
  }

  endpointsOf(id: number): readonly Endpoint[] {
    return this.#byId.get(id)?.endpoints ?? []
  }

  with(voter: Voter): VoterSet {
    return new VoterSet([...this.voters, voter], this.#directoryIgnored)
  }

  without(key: ReplicaKey): VoterSet {
    return new VoterSet(
      this.voters.filter(({ voterId }) => voterId !== key.id),
      this.#directoryIgnored,
    )
  }

  /** With other endpoints or versions for a member. */
  updated(voter: Voter): VoterSet {
    return new VoterSet(
      this.voters.map((each) => (each.voterId === voter.voterId ? voter : each)),
      this.#directoryIgnored,
    )
  }

  toString(): string {
    return `(${this.ids.join(',')})`
  }
}

export function keyOf({ voterId, voterDirectoryId }: Voter): ReplicaKey {
  return { id: voterId, directoryId: voterDirectoryId }
}

export function sameKey(one: ReplicaKey, other: ReplicaKey): boolean {
  return one.id === other.id && one.directoryId === other.directoryId
}

/** Same replica with the same endpoints and versions. */
export function sameVoter(one: Voter, other: Voter): boolean {
  return (
    sameKey(keyOf(one), keyOf(other)) &&
    one.kRaftVersionFeature.minSupportedVersion === other.kRaftVersionFeature.minSupportedVersion &&
    one.kRaftVersionFeature.maxSupportedVersion === other.kRaftVersionFeature.maxSupportedVersion &&
    one.endpoints.length === other.endpoints.length &&
    one.endpoints.every(({ name, host, port }, index) => {
      const there = other.endpoints[index]
      return there?.name === name && there.host === host && there.port === port
    })
  )
}
