import type { PartitionLeader } from '../partition/leader.ts'
import type { Deadlines, Expiring } from './deadlines.ts'
import type { Partition } from './partition.ts'
import type { ReplicaSession } from './replica-session.ts'
import type { ReplicaSessions } from './replica-sessions.ts'

/** A follower that lives asks again within a round trip, and what its disk takes. */
const CHECK_MS_MAX = 500

/**
 * Whether a partition is still led here, found out without the controller, from those who could have succeeded this node: each of
 * them has to ask for more in the present leader epoch, by a request that it made after the check began. Whoever does
 * follows; it had not begun to lead, and had acknowledged nothing, when the check began (docs/replication.md).
 *
 * That a request was made after the check is known by its session (KIP-227): its epoch is one more than that of a request only
 * when the answer to that one has been received.
 */
export class LeadershipChecks {
  readonly #sessions: ReplicaSessions
  readonly #deadlines: Deadlines
  readonly #pending = new Set<LeadershipCheck>()
  #last = 0

  constructor(sessions: ReplicaSessions, deadlines: Deadlines) {
    this.#sessions = sessions
    this.#deadlines = deadlines
  }

  /** False: it is not, or it is not known. */
  check(partition: Partition): Promise<boolean> {
    const { leader } = partition
    if (leader === null) return Promise.resolve(false)
    const successors = leader.possibleSuccessors
    if (successors.length === 0) return Promise.resolve(true)
    this.#last += 1
    const found = new Promise<boolean>((resolve) => {
      const check = new LeadershipCheck({ number: this.#last, partition, leader, successors }, (isLed) => {
        this.#pending.delete(check)
        if (check.deadlineSlot !== 0) this.#deadlines.remove(check)
        resolve(isLed)
      })
      this.#pending.add(check)
      this.#deadlines.add(check, CHECK_MS_MAX)
    })
    // Answered at once, they ask again at once.
    for (const session of this.#sessions) if (successors.includes(session.replicaId)) session.waiter?.wake()
    return found
  }

  /** A request of the session has come that is known to follow the last answer. */
  heard(session: ReplicaSession): void {
    session.provedCheck = session.answeredCheck
    for (const check of [...this.#pending]) check.heard(session)
  }

  answered(session: ReplicaSession): void {
    session.answeredCheck = this.#last
  }

  /** What it asks is answered at once. */
  isAwaited(replicaId: number): boolean {
    for (const check of this.#pending) if (check.isAwaiting(replicaId)) return true
    return false
  }
}

interface CheckParts {
  readonly number: number
  readonly partition: Partition
  readonly leader: PartitionLeader
  readonly successors: readonly number[]
}

class LeadershipCheck implements Expiring {
  deadlineSlot = 0
  readonly #parts: CheckParts
  readonly #missing: Set<number>
  /** Who has not been heard since: what those ask is answered at once. */
  readonly #silent: Set<number>
  readonly #found: (isLed: boolean) => void

  constructor(parts: CheckParts, found: (isLed: boolean) => void) {
    this.#parts = parts
    this.#missing = new Set(parts.successors)
    this.#silent = new Set(parts.successors)
    this.#found = found
  }

  isAwaiting(replicaId: number): boolean {
    return this.#silent.has(replicaId)
  }

  heard(session: ReplicaSession): void {
    const { number, partition, leader } = this.#parts
    if (partition.leader !== leader) return this.#found(false)
    if (session.provedCheck < number) return
    // One that follows somebody else by now is not hurried again: it would ask, and be answered, as fast as it can.
    this.#silent.delete(session.replicaId)
    if (session.epochOf(partition) !== leader.leaderEpoch) return
    this.#missing.delete(session.replicaId)
    if (this.#missing.size === 0) this.#found(true)
  }

  expired(): void {
    this.#found(false)
  }
}
