import type { ModelEntry, ModelLog, ModelSnapshot } from './model-log.ts'
import {
  NOBODY,
  type LogPosition,
  type OutboundResponse,
  type QuorumState,
  type ReplicaKey,
  type Voter,
} from '../types.ts'
import { keyOf, type VoterSet } from '../voter-set.ts'

/** A promise of consensus is broken. */
export class InvariantError extends Error {
  override name = 'InvariantError'
}

function check(holds: boolean, message: string): void {
  if (!holds) throw new InvariantError(message)
}

interface Replica {
  readonly key: ReplicaKey
  readonly state: QuorumState | null
  readonly log: ModelLog
  readonly highWatermark: number
}

/**
 * What must hold in every run, whatever happens (reliability I10, I11): fed with everything that anyone does, it knows more
 * than any node does. Checks cost what happens, not what there is.
 */
export class Invariants {
  /** What was ever reported committed, by offset. */
  readonly committed: ModelEntry[] = []
  readonly #leaders = new Map<number, string>()
  readonly #votes = new Map<string, string>()
  readonly #appended = new Map<string, { readonly value: ModelEntry['value']; readonly epochBefore: number }>()
  readonly #snapshots = new Map<string, ModelSnapshot>()

  /** Election safety; and leader completeness: it has everything that was ever committed. */
  leading(node: Replica, epoch: number): void {
    const before = this.#leaders.get(epoch)
    check(before === undefined, `election safety: epoch ${epoch} is led by ${before} and by ${nameOf(node.key)}`)
    this.#leaders.set(epoch, nameOf(node.key))
    for (const [offset, entry] of this.committed.entries()) {
      if (offset < node.log.startOffset) continue
      check(
        isSame(node.log.at(offset), entry),
        `leader completeness: ${nameOf(node.key)} leads without offset ${offset}`,
      )
    }
    check(node.log.endOffset >= this.committed.length, `leader completeness: ${nameOf(node.key)} ends too early`)
  }

  /** State machine safety: nobody ever commits anything else at the same offset. The high watermark never falls. */
  committing(node: Replica, offset: number): void {
    check(offset > node.highWatermark, `the high watermark falls from ${node.highWatermark} to ${offset}`)
    check(offset <= node.log.endOffset, `the high watermark ${offset} is beyond the log`)
    for (let at = Math.max(node.highWatermark, node.log.startOffset); at < offset; at++) {
      const entry = node.log.at(at)
      check(entry !== null, `committed but not there: offset ${at}`)
      const known = this.committed[at]
      if (known === undefined) this.committed.push(entry as ModelEntry)
      else check(isSame(entry, known), `state machine safety: two values are committed at offset ${at}`)
    }
  }

  /** Log matching: same offset and epoch, same record and same epoch before it; so, by induction, same prefix. */
  appending(log: ModelLog, entry: ModelEntry): void {
    const offset = log.endOffset
    const name = `${offset}@${entry.epoch}`
    const epochBefore = log.epochBefore(offset)
    check(epochBefore <= entry.epoch, `epochs fall at offset ${offset}`)
    const known = this.#appended.get(name)
    if (known === undefined) this.#appended.set(name, { value: entry.value, epochBefore })
    else check(known.value === entry.value && known.epochBefore === epochBefore, `log matching: two records at ${name}`)
  }

  /** Committed is never truncated. */
  truncating(log: ModelLog, offset: number): void {
    for (let at = offset; at < Math.min(log.endOffset, this.committed.length); at++) {
      check(!isSame(log.at(at), this.committed[at] ?? null), `committed offset ${at} is truncated`)
    }
  }

  /** Those of the last record in the log, after every change of it. */
  votersInForce(log: ModelLog, voters: VoterSet): void {
    const { record } = log.quorumRecords().findLast((placed) => placed.record.type === 'KRaftVoters') ?? {}
    const expected = record?.type === 'KRaftVoters' ? record.value.voters : []
    const names = (set: readonly Voter[]) => set.map((voter) => nameOf(keyOf(voter))).join(' ')
    check(names(expected) === names(voters.voters), `voters ${names(voters.voters)}, in the log ${names(expected)}`)
  }

  /** What is promised is never taken back. */
  persisting(before: QuorumState | null, after: QuorumState): void {
    check(after.leaderEpoch >= (before?.leaderEpoch ?? 0), `the epoch falls to ${after.leaderEpoch}`)
    if (before === null || after.leaderEpoch !== before.leaderEpoch || before.votedId === NOBODY) return
    check(after.votedId === before.votedId, `vote for ${before.votedId} overwritten in epoch ${after.leaderEpoch}`)
  }

  /** Nobody speaks of an epoch, or stands in one, that a crash would make it forget. */
  telling(node: Replica, request: { readonly api: string; readonly body: unknown }): void {
    if (request.api !== 'Vote') return
    const { topics } = request.body as { topics: { partitions: { replicaEpoch: number; preVote: boolean }[] }[] }
    const partition = topics[0]?.partitions[0]
    if (partition === undefined || partition.preVote) return
    const { leaderEpoch, votedId } = node.state ?? { leaderEpoch: -1, votedId: NOBODY }
    check(
      leaderEpoch === partition.replicaEpoch && votedId === node.key.id,
      'a candidate has not written down its vote',
    )
  }

  /** One vote per epoch, over all restarts of one directory. */
  answering(
    node: Replica,
    request: { readonly api: string; readonly body: unknown },
    response: OutboundResponse,
  ): void {
    if (response.api !== 'Vote') return
    const [answer] = response.body.topics[0]?.partitions ?? []
    if (answer === undefined) return
    const told = Math.max(node.state?.leaderEpoch ?? 0, node.log.lastEpoch)
    check(answer.leaderEpoch <= told, `epoch ${answer.leaderEpoch} is told before it is durable`)
    const { topics } = request.body as {
      topics: { partitions: { replicaId: number; replicaDirectoryId: string; preVote: boolean }[] }[]
    }
    const asked = topics[0]?.partitions[0]
    if (asked === undefined || asked.preVote || !answer.voteGranted) return
    check(node.state?.votedId === asked.replicaId, `a vote for ${asked.replicaId} is told before it is durable`)
    const vote = `${nameOf(node.key)} in epoch ${answer.leaderEpoch}`
    const candidate = nameOf({ id: asked.replicaId, directoryId: asked.replicaDirectoryId })
    const before = this.#votes.get(vote) ?? candidate
    check(before === candidate, `two votes: ${vote} for ${before} and for ${candidate}`)
    this.#votes.set(vote, candidate)
  }

  offering(snapshot: ModelSnapshot): void {
    this.#snapshots.set(`${snapshot.id.offset}@${snapshot.id.epoch}`, snapshot)
    check(snapshot.id.offset <= this.committed.length, 'a snapshot of what is not committed')
    const last = this.committed[snapshot.id.offset - 1]
    check(
      last?.epoch === snapshot.id.epoch,
      `snapshot ${snapshot.id.offset}@${snapshot.id.epoch} is of another history`,
    )
  }

  installing(id: LogPosition): ModelSnapshot {
    const snapshot = this.#snapshots.get(`${id.offset}@${id.epoch}`)
    check(snapshot !== undefined, 'a snapshot that nobody offered')
    return snapshot as ModelSnapshot
  }
}

function isSame(one: ModelEntry | null, other: ModelEntry | null): boolean {
  return one !== null && other !== null && one.epoch === other.epoch && one.value === other.value
}

function nameOf({ id, directoryId }: ReplicaKey): string {
  return `${id}/${directoryId}`
}
