import { keptCopy } from '../base/bytes.ts'
import type { Random } from '../base/random.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { type Alarms, newAlarm } from './alarms.ts'
import { checkMember, joinAnswer, joinRefusal, syncRefusal } from './answers.ts'
import type { ClassicGroup } from './classic-group.ts'
import type { Group, Groups } from './groups.ts'
import { Member, type MemberProtocol } from './member.ts'
import type { Ticket } from '../model/shard.ts'
import type { Rebalance } from './rebalance.ts'
import { metadataBytes } from './record-size.ts'
import type { Caller, GroupCalls } from './requests.ts'
import type { Moment } from '../model/shard.ts'
import type { Draft, ShardContext } from './types.ts'

type JoinRequest = GroupCalls['join']['call']

/** From this version a member without an id is sent back with one before it enters the group (KIP-394). */
const MEMBER_ID_REQUIRED_VERSION = 4
/** From this version a returning static leader can be told to skip the assignment (KIP-814). */
const SKIP_ASSIGNMENT_VERSION = 9
/**
 * A new member cannot send heartbeats while its JoinGroup is parked, and a broken connection is not noticed. If its
 * client gave up, this is how long a rebalance can be held up by it.
 */
const NEW_MEMBER_TIMEOUT_MS = 5 * 60 * 1000

interface Join {
  readonly group: Group
  readonly request: JoinRequest
  readonly caller: Caller
  readonly ticket: Ticket
  readonly protocols: readonly MemberProtocol[]
  readonly moment: Moment
  readonly draft: Draft
}

/** JoinGroup: who may enter a classic group, and whether that takes a rebalance. */
export class Joining {
  readonly #context: ShardContext
  readonly #alarms: Alarms
  readonly #groups: Groups
  readonly #rebalance: Rebalance

  constructor(context: ShardContext, alarms: Alarms, groups: Groups, rebalance: Rebalance) {
    this.#context = context
    this.#alarms = alarms
    this.#groups = groups
    this.#rebalance = rebalance
  }

  handle(request: JoinRequest, caller: Caller, ticket: Ticket, moment: Moment, draft: Draft): void {
    const refuse = (errorCode: number, memberId = request.memberId) =>
      draft.reply(ticket, joinRefusal(errorCode, memberId))
    const { minSessionTimeoutMs, maxSessionTimeoutMs } = this.#context.config
    if (request.groupId === '') return refuse(ErrorCode.INVALID_GROUP_ID)
    if (request.sessionTimeoutMs < minSessionTimeoutMs || request.sessionTimeoutMs > maxSessionTimeoutMs) {
      return refuse(ErrorCode.INVALID_SESSION_TIMEOUT)
    }
    const isNew = request.memberId === ''
    if (!isNew && this.#groups.get(request.groupId) === undefined) {
      draft.saw(this.#groups.lastRemovalOffset)
      return refuse(ErrorCode.UNKNOWN_MEMBER_ID)
    }
    const group = this.#groups.getOrCreate(request.groupId, moment.wallMs)
    draft.saw(group.lastRecordOffset)
    if (group.isForeign) return refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, '')
    if (!this.#hasRoom(group.classic, request.memberId)) {
      this.#turnAway(group, request.memberId)
      refuse(ErrorCode.GROUP_MAX_SIZE_REACHED, '')
    } else {
      const protocols = protocolsOf(request)
      const join = { group, request, caller, ticket, protocols, moment, draft }
      if (!group.classic.accepts(request.protocolType, protocols)) refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
      else if (isNew) this.#joinNew(join)
      else this.#joinKnown(join)
    }
    this.#groups.sweep(group)
  }

  /**
   * While members come together, those who have come count: the limit may have been lowered, and then the last to come
   * are turned away.
   */
  #hasRoom(classic: ClassicGroup, memberId: string): boolean {
    const { groupSizeMax } = this.#context.config
    if (classic.state === 'Empty') return true
    const member = classic.members.get(memberId)
    if (classic.state !== 'PreparingRebalance') return member !== undefined || classic.members.size < groupSizeMax
    return (member !== undefined && member.joinTicket !== null) || classic.awaitingJoin < groupSizeMax
  }

  #turnAway(group: Group, memberId: string): void {
    this.#rebalance.forgetPending(group.classic, memberId)
    const member = group.classic.members.get(memberId)
    // It has no join parked, or there would have been room; a sync cannot be parked while members come together.
    if (member !== undefined) group.classic.remove(member, this.#alarms)
  }

  #joinNew(join: Join): void {
    const { group, request, caller, ticket, moment, draft } = join
    const { groupInstanceId } = request
    const memberId = newMemberId(groupInstanceId ?? caller.clientId, this.#context.random)
    if (groupInstanceId === null && caller.apiVersion >= MEMBER_ID_REQUIRED_VERSION) {
      const alarm = newAlarm('session', group.groupId, memberId)
      group.classic.pendingJoins.set(memberId, alarm)
      this.#alarms.set(alarm, moment.nowMs + request.sessionTimeoutMs)
      draft.reply(ticket, joinRefusal(ErrorCode.MEMBER_ID_REQUIRED, memberId))
      return
    }
    const holderId = groupInstanceId === null ? undefined : group.classic.staticMembers.get(groupInstanceId)
    const holder = holderId === undefined ? undefined : group.classic.members.get(holderId)
    if (holder === undefined) this.#add(join, memberId)
    else this.#replaceStatic(join, holder, memberId)
  }

  #add({ group, request, caller, ticket, protocols, moment, draft }: Join, memberId: string): void {
    const { classic } = group
    const member = new Member({
      groupId: group.groupId,
      memberId,
      groupInstanceId: request.groupInstanceId,
      clientId: caller.clientId,
      clientHost: caller.clientHost,
      rebalanceTimeoutMs: rebalanceTimeoutOf(request),
      sessionTimeoutMs: request.sessionTimeoutMs,
      protocols,
    })
    member.isNew = true
    member.joinTicket = ticket
    this.#rebalance.forgetPending(classic, memberId)
    if (classic.state === 'PreparingRebalance' && classic.cameFromEmpty) classic.hasNewMember = true
    classic.add(member, request.protocolType)
    this.#rebalance.renewSession(member, moment, NEW_MEMBER_TIMEOUT_MS)
    this.#rebalance.membersChanged(group, `${memberId} joins${because(request)}`, moment, draft)
  }

  /** A static member was restarted: it has lost its member id, but its instance id still has a place (KIP-345). */
  #replaceStatic(join: Join, old: Member, memberId: string): void {
    const { group, request, caller, ticket, protocols, moment, draft } = join
    const { classic } = group
    if (classic.state === 'Stable' && moment.refusal !== null) {
      draft.reply(ticket, joinRefusal(moment.refusal, ''))
      return
    }
    const oldLeader = classic.leaderId
    // Whoever still uses the old id is a second process with the same instance id, and is fenced at once.
    fence(classic, old, draft)
    const member = new Member({
      groupId: group.groupId,
      memberId,
      groupInstanceId: old.groupInstanceId,
      clientId: caller.clientId,
      clientHost: caller.clientHost,
      rebalanceTimeoutMs: rebalanceTimeoutOf(request),
      sessionTimeoutMs: request.sessionTimeoutMs,
      protocols,
    })
    member.assignment = old.assignment
    classic.replace(old, member, this.#alarms)
    this.#rebalance.renewSession(member, moment)
    if (classic.state === 'Stable') {
      if (this.#keepGeneration(join, member, oldLeader)) return
      classic.park(member, ticket)
      this.#rebalance.begin(group, `${memberId} changes the chosen protocol${because(request)}`, moment, draft)
      return
    }
    classic.park(member, ticket)
    // The leader may already be assigning to the old id.
    if (classic.state === 'CompletingRebalance') {
      this.#rebalance.begin(group, `${memberId} takes over from ${old.memberId}${because(request)}`, moment, draft)
    } else this.#rebalance.completeIfEveryoneJoined(group, moment, draft)
  }

  /** When the same protocol would be chosen again, only the new id is written down and nobody else is disturbed. */
  #keepGeneration({ group, caller, ticket, moment, draft }: Join, member: Member, oldLeader: string | null): boolean {
    const { classic } = group
    if (classic.electProtocol() !== classic.protocolName) return false
    const assignments = new Map([...classic.members.values()].map(({ memberId, assignment }) => [memberId, assignment]))
    const value = classic.toMetadata(assignments, moment.wallMs)
    if (metadataBytes(value) > this.#context.config.recordBytesMax) return false
    draft.records.push({ type: 'group', groupId: group.groupId, value })
    const canSkip = caller.apiVersion >= SKIP_ASSIGNMENT_VERSION
    const isLeader = classic.leaderId === member.memberId
    // An older client that is told to lead assigns anew, which the group must not see in this generation; so it is
    // told the id it had before.
    const answer = canSkip
      ? joinAnswer(classic, member.memberId, { skipAssignment: isLeader })
      : joinAnswer(classic, member.memberId, { leader: oldLeader })
    draft.reply(ticket, answer)
    return true
  }

  #joinKnown(join: Join): void {
    const { group, request, ticket, protocols, moment, draft } = join
    const { classic } = group
    const { memberId, groupInstanceId } = request
    if (classic.pendingJoins.has(memberId)) {
      // Ids are promised to dynamic members only.
      if (groupInstanceId !== null) draft.reply(ticket, joinRefusal(ErrorCode.UNKNOWN_SERVER_ERROR, ''))
      else this.#add(join, memberId)
      return
    }
    const errorCode = checkMember(classic, memberId, groupInstanceId)
    const member = classic.members.get(memberId)
    if (errorCode !== ErrorCode.NONE || member === undefined) {
      draft.reply(ticket, joinRefusal(errorCode, memberId))
      return
    }
    const isUnchanged = member.matches(protocols)
    // The leader rejoins a stable group because it sees something that the members' metadata does not show.
    const keeps =
      (classic.state === 'CompletingRebalance' && isUnchanged) ||
      (classic.state === 'Stable' && isUnchanged && classic.leaderId !== memberId)
    if (keeps) {
      draft.reply(ticket, joinAnswer(classic, memberId))
      return
    }
    const parked = classic.unpark(member)
    if (parked !== null) draft.reply(parked, joinRefusal(ErrorCode.REBALANCE_IN_PROGRESS, memberId))
    classic.setProtocols(member, protocols)
    member.rebalanceTimeoutMs = rebalanceTimeoutOf(request)
    member.sessionTimeoutMs = request.sessionTimeoutMs
    classic.park(member, ticket)
    this.#rebalance.membersChanged(group, `${memberId} rejoins${because(request)}`, moment, draft)
  }
}

function fence(classic: ClassicGroup, member: Member, draft: Draft): void {
  const join = classic.unpark(member)
  if (join !== null) {
    draft.reply(join, joinRefusal(ErrorCode.FENCED_INSTANCE_ID, member.memberId))
  }
  if (member.syncTicket !== null) draft.reply(member.syncTicket, syncRefusal(ErrorCode.FENCED_INSTANCE_ID))
  member.syncTicket = null
}

/** Copies: what is decoded is a view of a socket buffer, and members stay. Of two with one name the first counts. */
function protocolsOf(request: JoinRequest): MemberProtocol[] {
  const protocols = new Map<string, MemberProtocol>()
  for (const { name, metadata } of request.protocols) {
    if (!protocols.has(name)) protocols.set(name, { name, metadata: keptCopy(metadata) })
  }
  return [...protocols.values()]
}

/** Version 0 has no rebalance timeout; the session's counts for both then. */
function rebalanceTimeoutOf({ rebalanceTimeoutMs, sessionTimeoutMs }: JoinRequest): number {
  return rebalanceTimeoutMs < 0 ? sessionTimeoutMs : rebalanceTimeoutMs
}

function because({ reason }: JoinRequest): string {
  return reason ? ` (${reason})` : ''
}

/** `prefix` and a random UUID, as Kafka makes them. */
/** Clients may have names as long as a text can be; with more behind it nothing could carry the id of a member. */
const PREFIX_CHARACTERS_MAX = 1000

function newMemberId(prefix: string, random: Random): string {
  const bytes = random.bytes(16)
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  const uuid = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
  return `${prefix.slice(0, PREFIX_CHARACTERS_MAX)}-${uuid}`
}
