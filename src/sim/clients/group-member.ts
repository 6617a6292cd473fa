import { sleep } from '../../env/clock.ts'
import { Heartbeat } from '../../protocol/apis/heartbeat.ts'
import { JoinGroup, type JoinGroupResponse } from '../../protocol/apis/join-group.ts'
import { LeaveGroup } from '../../protocol/apis/leave-group.ts'
import { SyncGroup } from '../../protocol/apis/sync-group.ts'
import { ErrorCode } from '../../protocol/errors.ts'
import { decodeMessage, encodeMessage } from '../../protocol/message-codec.ts'
import { ConsumerProtocolAssignment, ConsumerProtocolSubscription } from '../../protocol/messages/consumer-protocol.ts'
import type { History } from '../history/history.ts'
import { AnswerError, type ClusterClient } from './cluster-client.ts'
import { fetchOnce, isCoordinatorTrouble, LATEST, listOffset, unexpected } from './fetching.ts'
import { commitOffsets, fetchOffsets, type Membership } from './group-offsets.ts'

const SESSION_TIMEOUT_MS = 6000
const REBALANCE_TIMEOUT_MS = 10_000
/** Longer than an old leader takes to learn that it leads no more, at the pace of a client that is refused. */
const OUT_OF_RANGE_MAX = 100
const HEARTBEAT_MS = 500
const POLL_MS = 400

export interface GroupMemberOptions {
  readonly name: string
  readonly group: string
  readonly topic: string
  readonly client: ClusterClient
  readonly history: History
  /** Goes on at the end where its position is no more: for modes that may lose what was read. */
  readonly toleratesLoss?: boolean
}

/** The member has to join again. */
class RejoinError extends Error {
  override name = 'RejoinError'
}

/**
 * A member of a classic group, eager: joins, is assigned partitions, reads them from the committed offsets on, commits
 * what it has read, and starts over whenever it is told to. Runs until `stop`.
 */
export class GroupMember {
  readonly name: string
  readonly group: string
  readonly topic: string
  readonly #client: ClusterClient
  readonly #history: History
  readonly #toleratesLoss: boolean
  #memberId = ''
  #generation = -1
  #positions = new Map<number, number>()
  /** Partitions not read since they were assigned. */
  #fresh = new Set<number>()
  /** How often in a row a leader has said that the position is not in its log. */
  #outOfRange = 0
  #rejoinReason: string | null = null
  #stopping = false
  #stopped: Promise<void> | null = null

  constructor(options: GroupMemberOptions) {
    this.name = options.name
    this.group = options.group
    this.topic = options.topic
    this.#client = options.client
    this.#history = options.history
    this.#toleratesLoss = options.toleratesLoss ?? false
  }

  /** Partitions it owns now. */
  get owned(): readonly number[] {
    return [...this.#positions.keys()].sort((a, b) => a - b)
  }

  get #membership(): Membership {
    const { group, name, topic } = this
    return { group, name, topic, memberId: this.#memberId, generation: this.#generation }
  }

  start(): void {
    this.#stopped = this.#run()
  }

  /** Commits, leaves the group, and resolves when all that is done. */
  async stop(): Promise<void> {
    this.#stopping = true
    await this.#stopped
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      try {
        await this.#join()
        await this.#consume()
      } catch (error) {
        if (!(error instanceof RejoinError)) throw error
        this.#positions.clear()
        await this.#client.backOff()
      }
    }
    await this.#leave()
  }

  /** One request to the coordinator; null where it has to be sent again, perhaps to another one. */
  async #ask<T>(
    request: (wire: NonNullable<Awaited<ReturnType<ClusterClient['coordinatorOf']>>>) => Promise<T | null>,
  ) {
    return this.#client.tolerate(async () => {
      const wire = await this.#client.coordinatorOf(this.group)
      return wire === null ? null : request(wire)
    })
  }

  async #join(): Promise<void> {
    const before = this.#generation
    const joined = await this.#client.persist(() => this.#joinOnce())
    this.#memberId = joined.memberId
    this.#generation = joined.generationId
    const assignments = joined.leader === joined.memberId ? await this.#assign(joined) : []
    const partitions = partitionsOf(await this.#sync(assignments))
    this.#history.assigned({
      group: this.group,
      member: this.name,
      generation: this.#generation,
      partitions: partitions.map((partition) => `${this.topic}-${partition}`),
    })
    this.#rejoinReason = null
    this.#positions = await this.#startPositions(partitions)
    this.#fresh = new Set(partitions)
    await this.#haunt(before)
  }

  #joinOnce(): Promise<JoinGroupResponse | null> {
    const subscription = { topics: [this.topic], userData: null, ownedPartitions: [] }
    const metadata = Buffer.from(encodeMessage(ConsumerProtocolSubscription, 1, subscription))
    return this.#ask(async (wire) => {
      const answer = await wire.request(
        JoinGroup,
        {
          groupId: this.group,
          sessionTimeoutMs: SESSION_TIMEOUT_MS,
          rebalanceTimeoutMs: REBALANCE_TIMEOUT_MS,
          memberId: this.#memberId,
          protocolType: 'consumer',
          protocols: [{ name: 'range', metadata }],
        },
        { timeoutMs: REBALANCE_TIMEOUT_MS + 5000 },
      )
      const { errorCode } = answer
      if (errorCode === 0) return answer
      if (errorCode === ErrorCode.MEMBER_ID_REQUIRED) this.#memberId = answer.memberId
      else if (errorCode === ErrorCode.UNKNOWN_MEMBER_ID) this.#memberId = ''
      else if (errorCode !== ErrorCode.REBALANCE_IN_PROGRESS && !isCoordinatorTrouble(errorCode)) {
        throw unexpected('JoinGroup', errorCode)
      }
      return null
    })
  }

  /** Contiguous shares, as the range assignor deals them. */
  async #assign({ members }: JoinGroupResponse): Promise<{ memberId: string; assignment: Buffer }[]> {
    const { leaders } = await this.#client.topic(this.topic)
    const ids = members.map(({ memberId }) => memberId).sort()
    const share = Math.ceil(leaders.length / ids.length)
    return ids.map((memberId, i) => {
      const partitions = leaders.map((_, partition) => partition).slice(i * share, (i + 1) * share)
      const assignedPartitions = partitions.length > 0 ? [{ topic: this.topic, partitions }] : []
      const assignment = encodeMessage(ConsumerProtocolAssignment, 1, { assignedPartitions, userData: null })
      return { memberId, assignment: Buffer.from(assignment) }
    })
  }

  #sync(assignments: { memberId: string; assignment: Buffer }[]): Promise<Buffer> {
    return this.#client.persist(() =>
      this.#ask(async (wire) => {
        const { errorCode, assignment } = await wire.request(
          SyncGroup,
          {
            groupId: this.group,
            generationId: this.#generation,
            memberId: this.#memberId,
            protocolType: 'consumer',
            protocolName: 'range',
            assignments,
          },
          { timeoutMs: REBALANCE_TIMEOUT_MS + 5000 },
        )
        if (errorCode === 0) return assignment
        this.#judge('SyncGroup', errorCode)
        return null
      }),
    )
  }

  /** Throws where the member must join again, and where the answer makes no sense. Otherwise: try again. */
  #judge(what: string, errorCode: number): void {
    switch (errorCode) {
      case ErrorCode.UNKNOWN_MEMBER_ID:
        this.#memberId = ''
        throw new RejoinError(what)
      case ErrorCode.REBALANCE_IN_PROGRESS:
      case ErrorCode.ILLEGAL_GENERATION:
        throw new RejoinError(what)
      default:
        if (!isCoordinatorTrouble(errorCode)) throw unexpected(what, errorCode)
    }
  }

  /** The committed offsets; 0 for partitions without one, as the topic is read from its beginning. */
  async #startPositions(partitions: readonly number[]): Promise<Map<number, number>> {
    if (partitions.length === 0) return new Map()
    const offsets = await this.#client.persist(async () => {
      const found = await fetchOffsets(this.#client, this.#history, this.#membership, partitions)
      if (typeof found === 'number') this.#judge('OffsetFetch', found)
      return found instanceof Map ? found : null
    })
    return new Map([...offsets].map(([partition, offset]) => [partition, offset ?? 0]))
  }

  async #consume(): Promise<void> {
    const generation = this.#generation
    void this.#beat(generation)
    while (!this.#stopping && this.#rejoinReason === null) {
      for (const partition of this.owned) await this.#poll(partition)
      if (this.#positions.size === 0) await sleep(this.#client.env.timers, POLL_MS)
      if (this.#rejoinReason === null && this.#client.random.chance(0.3)) await this.#commit()
    }
    // Eager: all is given back before joining again, so what was read is committed first, if that still counts.
    if (this.#rejoinReason === 'rebalance' || this.#stopping) await this.#commit()
    if (this.#rejoinReason !== null) throw new RejoinError(this.#rejoinReason)
  }

  async #poll(partition: number): Promise<void> {
    const from = this.#positions.get(partition)
    if (from === undefined || this.#rejoinReason !== null) return
    const place = { topic: this.topic, partition, from, maxWaitMs: POLL_MS }
    const fetched = await this.#fetch(place)
    if (fetched === null) return this.#client.backOff()
    if (this.#positions.get(partition) !== from) return
    if (fetched.to === from) return
    const continues = !this.#fresh.delete(partition)
    this.#history.read({
      consumer: this.name,
      group: this.group,
      partition: `${this.topic}-${partition}`,
      from,
      to: fetched.to,
      records: fetched.records,
      continues,
    })
    this.#positions.set(partition, fetched.to)
  }

  async #fetch(place: { topic: string; partition: number; from: number; maxWaitMs: number }) {
    try {
      const fetched = await fetchOnce(this.#client, this.#history, place)
      if (fetched !== null) this.#outOfRange = 0
      return fetched
    } catch (error) {
      const isLost = error instanceof AnswerError && error.code === ErrorCode.OFFSET_OUT_OF_RANGE
      const { topic, partition } = place
      if (isLost && !this.#toleratesLoss && ++this.#outOfRange <= OUT_OF_RANGE_MAX) {
        // Whoever has just come to the cluster may have asked a leader of before that was cut off together with the active
        // controller. Clients that know the epoch of what they committed wait for a later leader (KIP-320).
        this.#client.forget(topic)
        return null
      }
      if (!isLost || !this.#toleratesLoss) throw error
      const end = await this.#client.tolerate(() => listOffset(this.#client, { topic, partition, timestamp: LATEST }))
      if (end !== null && this.#positions.get(partition) === place.from) this.#positions.set(partition, end.offset)
      return null
    }
  }

  /** Heartbeats of one generation, until it is over. */
  async #beat(generation: number): Promise<void> {
    while (!this.#stopping && this.#generation === generation && this.#rejoinReason === null) {
      await sleep(this.#client.env.timers, HEARTBEAT_MS)
      if (this.#generation !== generation) return
      const errorCode = await this.#ask(async (wire) => {
        const body = { groupId: this.group, generationId: generation, memberId: this.#memberId }
        return (await wire.request(Heartbeat, body)).errorCode
      })
      if (errorCode === null || errorCode === 0 || this.#generation !== generation) continue
      try {
        this.#judge('Heartbeat', errorCode)
      } catch (error) {
        if (!(error instanceof RejoinError)) throw error
        this.#rejoinReason = errorCode === ErrorCode.REBALANCE_IN_PROGRESS ? 'rebalance' : 'fenced'
      }
    }
  }

  /** Commits every position. */
  async #commit(): Promise<void> {
    if (this.#positions.size === 0) return
    const result = await commitOffsets(this.#client, this.#history, this.#membership, this.#positions)
    // Whoever joins anew after giving up must not find that the old request takes effect in the new generation.
    if (result === 'no answer' && this.#client.random.chance(0.5)) this.#rejoinReason ??= 'impatient'
    if (typeof result !== 'number' || result === 0) return
    try {
      this.#judge('OffsetCommit', result)
    } catch (error) {
      if (!(error instanceof RejoinError)) throw error
      this.#rejoinReason ??= 'fenced'
    }
  }

  /** A client that did not notice: it commits in the generation before this one, and must be refused. */
  async #haunt(generation: number): Promise<void> {
    if (generation < 0 || generation === this.#generation || !this.#client.random.chance(0.2)) return
    const offsets = new Map(this.owned.map((partition) => [partition, 0]))
    if (offsets.size === 0) return
    await commitOffsets(this.#client, this.#history, { ...this.#membership, generation }, offsets)
  }

  async #leave(): Promise<void> {
    if (this.#memberId === '') return
    await this.#ask(async (wire) => {
      const answer = await wire.request(
        LeaveGroup,
        { groupId: this.group, members: [{ memberId: this.#memberId }] },
        { fromVersion: 3 },
      )
      return answer.errorCode
    })
  }
}

/** A member that was given nothing may have been sent nothing. */
function partitionsOf(assignment: Buffer): number[] {
  if (assignment.length === 0) return []
  return decodeMessage(ConsumerProtocolAssignment, assignment).value.assignedPartitions.flatMap(
    (each) => each.partitions,
  )
}
