import { assert } from '../../base/assert.ts'
import type { RaftFacts } from '../../raft/raft.ts'
import type { PartitionLog } from '../../storage/partition-log.ts'
import { divergence, type Lineage } from './lineage.ts'

/** One controller as it is now. */
export interface QuorumMember {
  readonly nodeId: number
  readonly directoryId: string
  /** `__cluster_metadata-0` */
  readonly log: PartitionLog
  readonly facts: () => RaftFacts
}

/** What a controller with one disk was last seen to be. It stays when the node dies: so much that disk must hold. */
interface Seen {
  readonly member: QuorumMember
  lineage: Lineage
  durableOffset: number
  highWatermark: number
  epoch: number
  isLeader: boolean
}

/**
 * What must hold between the logs of a metadata quorum (I10), in truth and not only as far as the controllers know of each
 * other. Asked after every event of one of them.
 */
export class QuorumInvariants {
  /** By directory: a new disk has another. */
  readonly #seen = new Map<string, Seen>()
  /** By epoch. */
  readonly #leaders = new Map<number, number>()
  /** Of the leader that committed last. */
  #committed: Lineage = { epochs: [], startOffset: 0, endOffset: 0 }

  check(member: QuorumMember): void {
    const { log } = member
    if (log.failure !== null) return
    const seen = this.#seen.get(member.directoryId)
    if (seen === undefined || seen.member.log !== log) return this.#begin(member)
    const facts = member.facts()
    const isLeader = facts.role === 'leader'
    const isSame =
      seen.lineage.endOffset === log.endOffset &&
      seen.durableOffset === log.durableOffset &&
      seen.highWatermark === facts.highWatermark &&
      seen.epoch === facts.epoch &&
      seen.isLeader === isLeader
    if (isSame) return
    const before = { ...seen }
    seen.lineage = lineageOf(log)
    seen.durableOffset = log.durableOffset
    seen.highWatermark = facts.highWatermark
    seen.epoch = facts.epoch
    seen.isLeader = isLeader
    if (isLeader) this.#checkLeader(member, facts)
    this.#checkCut(member, before.lineage, seen.lineage)
    const led = before.isLeader && before.epoch === facts.epoch
    if (isLeader && led && facts.highWatermark > before.highWatermark) this.#checkCommit(member, facts, seen)
  }

  #begin(member: QuorumMember): void {
    const { log } = member
    const { epoch, highWatermark, role } = member.facts()
    const lineage = lineageOf(log)
    const { durableOffset } = log
    const isLeader = role === 'leader'
    this.#seen.set(member.directoryId, { member, lineage, durableOffset, highWatermark, epoch, isLeader })
  }

  /** Election safety: one leader in an epoch. */
  #checkLeader({ nodeId }: QuorumMember, { epoch }: RaftFacts): void {
    const first = this.#leaders.get(epoch) ?? nodeId
    this.#leaders.set(epoch, first)
    assert(first === nodeId, `I10: controllers ${first} and ${nodeId} lead in epoch ${epoch}`)
  }

  /** What is cut off was not committed. */
  #checkCut({ nodeId }: QuorumMember, before: Lineage, { endOffset, startOffset }: Lineage): void {
    if (endOffset >= before.endOffset || startOffset >= before.endOffset) return
    const common = divergence(before, this.#committed)
    const text = `controller ${nodeId} cut its log from ${before.endOffset} to ${endOffset}`
    assert(endOffset >= common, `I10: ${text}, though it held what is committed up to ${common}`)
  }

  /** Only what the present leader has written is committed by counting, and a majority of the voters' disks hold it. */
  #checkCommit({ nodeId, log }: QuorumMember, { epoch, highWatermark, voters }: RaftFacts, { lineage }: Seen): void {
    const of = log.epochs.epochAt(highWatermark - 1)
    const name = `controller ${nodeId}, leader of epoch ${epoch}, has committed ${highWatermark}`
    assert(of === epoch, `I10: ${name}, which is of epoch ${of}`)
    const holders = voters.voters.filter(({ voterId, voterDirectoryId }) => {
      return this.#holds(voterId, voterDirectoryId, { ...lineage, endOffset: highWatermark })
    })
    const text = `${name}; of (${voters.ids}) only (${holders.map(({ voterId }) => voterId)}) hold it on their disks`
    assert(holders.length >= voters.majority, `I10: ${text}`)
    if (highWatermark > this.#committed.endOffset) this.#committed = { ...lineage, endOffset: highWatermark }
  }

  /**
   * A disk that has gone since counts with what it held: it had told the leader so, which cannot know (a disk replaced while
   * the leader's own write was under way). Nothing else is done to disks where this is watched.
   */
  #holds(voterId: number, directoryId: string, committed: Lineage): boolean {
    const seen = this.#seen.get(directoryId)
    if (seen?.member.nodeId !== voterId) return false
    const endOffset = Math.min(seen.lineage.endOffset, seen.durableOffset)
    return divergence({ ...seen.lineage, endOffset }, committed) >= committed.endOffset
  }
}

function lineageOf({ epochs, logStartOffset, endOffset }: PartitionLog): Lineage {
  return { epochs: [...epochs.entries], startOffset: logStartOffset, endOffset }
}
