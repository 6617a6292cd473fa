import { assert } from '../base/assert.ts'
import { type Alarms, newAlarm } from './alarms.ts'
import { Member, type MemberProtocol } from './member.ts'
import type { Ticket } from '../model/shard.ts'
import type { GroupMetadata } from './records.ts'
import { subscribedTopics } from './subscription.ts'

/** As DescribeGroups and ListGroups spell them. A group that is not there is `Dead`. */
export type ClassicState = 'Empty' | 'PreparingRebalance' | 'CompletingRebalance' | 'Stable'

const CONSUMER_PROTOCOL_TYPE = 'consumer'

/**
 * The membership of one group under the classic protocol.
 *
 *     Empty -> PreparingRebalance -> CompletingRebalance -> Stable
 *                 members join          leader assigns     members fetch and commit
 *
 * A join or a lost member leads back from the last two to PreparingRebalance; a rebalance that nobody joins ends in
 * Empty. The two stable ends, Empty and Stable, are what the log holds: `restore` alone moves a group there.
 */
export class ClassicGroup {
  readonly groupId: string
  state: ClassicState = 'Empty'
  /** Of the state before: the first rebalance of an empty group waits for more members. */
  cameFromEmpty = false
  /** When the group came into `state`, wall clock; -1 in groups written by Kafka before 2.1. */
  stateTimestampMs: number
  generation = 0
  /** `consumer`, `connect`, …; null of a group that only ever stored offsets. */
  protocolType: string | null = null
  protocolName: string | null = null
  leaderId: string | null = null
  readonly members = new Map<string, Member>()
  /** Instance id to the member that holds it now. */
  readonly staticMembers = new Map<string, string>()
  /** Ids given out with MEMBER_ID_REQUIRED and not used yet (KIP-394); they hold up a rebalance until their alarm. */
  readonly pendingJoins = new Map<string, Member['session']>()
  /** Members that have not sent SyncGroup in this generation. */
  readonly pendingSyncs = new Set<string>()
  /** Somebody joined during the initial delay, which is then extended. */
  hasNewMember = false
  /** What is left of the initial delay when its current step is over. */
  initialDelayLeftMs = 0
  /** Of the initial delay's current step; null when the alarm means the end of an ordinary rebalance. */
  initialDelayStepMs: number | null = null
  readonly joinAlarm
  readonly syncAlarm
  /** Null when nobody can tell: not the consumer protocol, or members that do not keep to it. */
  topics: ReadonlySet<string> | null = null
  /** How many members speak each protocol. */
  readonly #speakers = new Map<string, number>()
  #awaitingJoin = 0

  constructor(groupId: string, wallMs: number) {
    this.groupId = groupId
    this.stateTimestampMs = wallMs
    this.joinAlarm = newAlarm('join', groupId)
    this.syncAlarm = newAlarm('sync', groupId)
  }

  get awaitingJoin(): number {
    return this.#awaitingJoin
  }

  get usesConsumerProtocol(): boolean {
    return this.protocolType === CONSUMER_PROTOCOL_TYPE
  }

  /** Everyone who may still come has come. */
  get hasEveryoneJoined(): boolean {
    return this.#awaitingJoin === this.members.size && this.pendingJoins.size === 0
  }

  /** The longest that any member asked for. */
  get rebalanceTimeoutMs(): number {
    let longest = 0
    for (const member of this.members.values()) longest = Math.max(longest, member.rebalanceTimeoutMs)
    return longest
  }

  moveTo(state: ClassicState, wallMs: number): void {
    this.cameFromEmpty = this.state === 'Empty'
    this.state = state
    this.stateTimestampMs = wallMs
  }

  add(member: Member, protocolType: string): void {
    assert(!this.members.has(member.memberId), `member ${member.memberId} twice in ${this.groupId}`)
    if (this.members.size === 0) this.protocolType = protocolType
    assert(this.protocolType === protocolType, `protocol type ${protocolType} in a group of ${this.protocolType}`)
    if (member.groupInstanceId !== null) this.staticMembers.set(member.groupInstanceId, member.memberId)
    this.members.set(member.memberId, member)
    this.leaderId ??= member.memberId
    this.#countProtocols(member, 1)
    if (member.joinTicket !== null) this.#awaitingJoin++
  }

  /** The member's parked requests must have been answered. */
  remove(member: Member, alarms: Alarms): void {
    assert(member.joinTicket === null && member.syncTicket === null, `${member.memberId} removed with a request parked`)
    assert(this.members.delete(member.memberId), `${member.memberId} is no member of ${this.groupId}`)
    this.#countProtocols(member, -1)
    if (member.groupInstanceId !== null) this.staticMembers.delete(member.groupInstanceId)
    if (this.leaderId === member.memberId) this.leaderId = this.members.keys().next().value ?? null
    this.pendingSyncs.delete(member.memberId)
    alarms.cancel(member.session)
  }

  /** `next` takes the place of `old`, in the order of members too. */
  replace(old: Member, next: Member, alarms: Alarms): void {
    const members = [...this.members.values()]
    const wasLeader = this.leaderId === old.memberId
    const owedSync = this.pendingSyncs.has(old.memberId)
    this.remove(old, alarms)
    this.members.clear()
    for (const member of members) {
      const kept = member === old ? next : member
      this.members.set(kept.memberId, kept)
    }
    this.#countProtocols(next, 1)
    if (next.groupInstanceId !== null) this.staticMembers.set(next.groupInstanceId, next.memberId)
    if (wasLeader) this.leaderId = next.memberId
    if (owedSync) this.pendingSyncs.add(next.memberId)
  }

  setProtocols(member: Member, protocols: readonly MemberProtocol[]): void {
    this.#countProtocols(member, -1)
    member.protocols = protocols
    this.#countProtocols(member, 1)
  }

  park(member: Member, ticket: Ticket): void {
    assert(member.joinTicket === null, `${member.memberId} parks two joins`)
    member.joinTicket = ticket
    this.#awaitingJoin++
  }

  /** Takes the parked JoinGroup of a member, null when there is none. */
  unpark(member: Member): Ticket | null {
    const ticket = member.joinTicket
    if (ticket === null) return null
    member.joinTicket = null
    this.#awaitingJoin--
    return ticket
  }

  #countProtocols(member: Member, change: 1 | -1): void {
    for (const { name } of member.protocols) {
      const count = (this.#speakers.get(name) ?? 0) + change
      if (count === 0) this.#speakers.delete(name)
      else this.#speakers.set(name, count)
    }
  }

  /** Whether somebody with these protocols could be a member: all members must share one. */
  accepts(protocolType: string, protocols: readonly MemberProtocol[]): boolean {
    if (this.state === 'Empty') return protocolType !== '' && protocols.length > 0
    if (protocolType !== this.protocolType) return false
    return protocols.some(({ name }) => (this.#speakers.get(name) ?? 0) === this.members.size)
  }

  /** Every member votes for the first of its protocols that all speak; the earlier vote wins a tie. */
  electProtocol(): string {
    const votes = new Map<string, number>()
    for (const member of this.members.values()) {
      const choice = member.protocols.find(({ name }) => this.#speakers.get(name) === this.members.size)
      assert(choice !== undefined, `no protocol that all members of ${this.groupId} speak`)
      votes.set(choice.name, (votes.get(choice.name) ?? 0) + 1)
    }
    // Any name will do, the empty one too: it is the client's.
    let winner: string | null = null
    for (const [name, count] of votes) if (winner === null || count > (votes.get(winner) as number)) winner = name
    assert(winner !== null, `${this.groupId} elects a protocol without members`)
    return winner
  }

  /** Makes sure that the leader is one who joined. False when nobody did. */
  electLeader(): boolean {
    const leader = this.leaderId === null ? undefined : this.members.get(this.leaderId)
    if (leader === undefined) return false
    if (leader.joinTicket !== null) return true
    for (const member of this.members.values()) {
      if (member.joinTicket === null) continue
      this.leaderId = member.memberId
      return true
    }
    return false
  }

  /** Begins the generation in which the present members share the work. */
  beginGeneration(wallMs: number): void {
    assert(this.state === 'PreparingRebalance', `${this.groupId} begins a generation in ${this.state}`)
    this.generation++
    this.protocolName = this.electProtocol()
    this.#learnTopics()
    this.pendingSyncs.clear()
    for (const memberId of this.members.keys()) this.pendingSyncs.add(memberId)
    this.moveTo('CompletingRebalance', wallMs)
  }

  /** Takes over what a record says. The members that the record names stay, with what is only in memory. */
  restore(metadata: GroupMetadata): void {
    const before = new Map(this.members)
    this.members.clear()
    this.staticMembers.clear()
    this.#speakers.clear()
    this.#awaitingJoin = 0
    this.protocolType = metadata.protocolType === '' ? null : metadata.protocolType
    this.protocolName = metadata.protocolName
    this.generation = metadata.generation
    this.leaderId = metadata.leaderId
    for (const saved of metadata.members) this.#restoreMember(saved, before.get(saved.memberId))
    this.state = metadata.members.length === 0 ? 'Empty' : 'Stable'
    this.stateTimestampMs = metadata.stateTimestampMs
    this.#learnTopics()
  }

  #restoreMember(saved: GroupMetadata['members'][number], known: Member | undefined): void {
    const member = known ?? new Member({ ...saved, groupId: this.groupId, protocols: [] })
    const protocol = this.protocolName ?? ''
    const hasProtocol = member.protocols.some(
      ({ name, metadata }) => name === protocol && metadata.equals(saved.subscription),
    )
    if (!hasProtocol) member.protocols = [{ name: protocol, metadata: saved.subscription }]
    member.assignment = saved.assignment
    member.rebalanceTimeoutMs = saved.rebalanceTimeoutMs
    member.sessionTimeoutMs = saved.sessionTimeoutMs
    this.members.set(member.memberId, member)
    if (member.groupInstanceId !== null) this.staticMembers.set(member.groupInstanceId, member.memberId)
    this.#countProtocols(member, 1)
    if (member.joinTicket !== null) this.#awaitingJoin++
  }

  #learnTopics(): void {
    this.topics = this.usesConsumerProtocol ? subscribedTopics(this.members.values(), this.protocolName) : null
  }

  /**
   * Whether offsets of `topic` are in use by a member. A consumer group whose members' metadata cannot be read counts as
   * subscribed to everything: deleting what somebody may need is the worse mistake.
   */
  isSubscribedTo(topic: string): boolean {
    return this.topics?.has(topic) ?? this.usesConsumerProtocol
  }

  /** What the log is to hold of the group when its members have these assignments. */
  toMetadata(assignments: ReadonlyMap<string, Buffer>, wallMs: number): GroupMetadata {
    const protocol = this.protocolName ?? ''
    return {
      protocolType: this.protocolType ?? '',
      generation: this.generation,
      protocolName: this.protocolName,
      leaderId: this.leaderId,
      stateTimestampMs: wallMs,
      members: [...this.members.values()].map((member) => ({
        memberId: member.memberId,
        groupInstanceId: member.groupInstanceId,
        clientId: member.clientId,
        clientHost: member.clientHost,
        rebalanceTimeoutMs: member.rebalanceTimeoutMs,
        sessionTimeoutMs: member.sessionTimeoutMs,
        subscription: member.metadataFor(protocol),
        assignment: assignments.get(member.memberId) ?? Buffer.alloc(0),
      })),
    }
  }
}
