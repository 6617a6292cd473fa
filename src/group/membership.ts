import { keptCopy } from '../base/bytes.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { Alarms } from './alarms.ts'
import { checkMember, syncAnswer, syncRefusal } from './answers.ts'
import type { ClassicGroup } from './classic-group.ts'
import type { Group, Groups } from './groups.ts'
import type { Ticket } from '../model/shard.ts'
import type { Rebalance } from './rebalance.ts'
import { metadataBytes } from './record-size.ts'
import type { Caller, GroupCalls } from './requests.ts'
import type { Moment } from '../model/shard.ts'
import type { Draft, ShardContext } from './types.ts'

type SyncRequest = GroupCalls['sync']['call']
type LeaveRequest = GroupCalls['leave']['call']
type LeavingMember = LeaveRequest['members'][number]

const NOTHING = Buffer.alloc(0)
/** From this version SyncGroup must name the protocol, so that a member that has missed a rebalance is found out (KIP-559). */
const PROTOCOL_NAMED_VERSION = 5

/** SyncGroup, Heartbeat and LeaveGroup: what members of a classic group do after they have joined. */
export class Membership {
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

  sync(request: SyncRequest, { apiVersion }: Caller, ticket: Ticket, moment: Moment, draft: Draft): void {
    const refuse = (errorCode: number) => draft.reply(ticket, syncRefusal(errorCode))
    const namesProtocol = request.protocolType !== null && request.protocolName !== null
    if (apiVersion >= PROTOCOL_NAMED_VERSION && !namesProtocol) return refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if (request.groupId === '') return refuse(ErrorCode.INVALID_GROUP_ID)
    const group = this.#find(request.groupId, draft)
    if (group === undefined) return refuse(ErrorCode.UNKNOWN_MEMBER_ID)
    const { classic } = group
    const errorCode = checkSync(classic, request)
    const member = classic.members.get(request.memberId)
    if (errorCode !== ErrorCode.NONE || member === undefined) return refuse(errorCode)
    if (classic.state === 'PreparingRebalance') return refuse(ErrorCode.REBALANCE_IN_PROGRESS)
    this.#hasSynced(classic, request.memberId)
    if (classic.state === 'Stable') return draft.reply(ticket, syncAnswer(classic, member.assignment))
    if (member.syncTicket !== null) draft.reply(member.syncTicket, syncRefusal(ErrorCode.REBALANCE_IN_PROGRESS))
    member.syncTicket = ticket
    if (classic.leaderId === request.memberId) this.#assign(group, request, moment, draft)
  }

  #hasSynced(classic: ClassicGroup, memberId: string): void {
    classic.pendingSyncs.delete(memberId)
    if (classic.pendingSyncs.size === 0) this.#alarms.cancel(classic.syncAlarm)
  }

  /** The leader has spoken: the record makes it so, and everyone who waits is told. */
  #assign(group: Group, request: SyncRequest, moment: Moment, draft: Draft): void {
    const { classic } = group
    const assignments = new Map<string, Buffer>()
    for (const { memberId, assignment } of request.assignments) {
      if (classic.members.has(memberId)) assignments.set(memberId, keptCopy(assignment))
    }
    const value = classic.toMetadata(assignments, moment.wallMs)
    const isTooLarge = metadataBytes(value) > this.#context.config.recordBytesMax
    const errorCode = isTooLarge ? ErrorCode.UNKNOWN_SERVER_ERROR : moment.refusal
    if (errorCode !== null) {
      this.#rebalance.dropAssignments(classic, errorCode, moment, draft)
      this.#rebalance.begin(group, `the assignment could not be stored (error ${errorCode})`, moment, draft)
      return
    }
    for (const member of classic.members.values()) {
      if (member.syncTicket === null) continue
      draft.reply(member.syncTicket, syncAnswer(classic, assignments.get(member.memberId) ?? NOTHING))
      member.syncTicket = null
      this.#rebalance.renewSession(member, moment)
    }
    draft.records.push({ type: 'group', groupId: group.groupId, value })
  }

  heartbeat(request: GroupCalls['heartbeat']['call'], ticket: Ticket, moment: Moment, draft: Draft): void {
    const answer = (errorCode: number) => draft.reply(ticket, { throttleTimeMs: 0, errorCode })
    if (request.groupId === '') return answer(ErrorCode.INVALID_GROUP_ID)
    const group = this.#find(request.groupId, draft)
    if (group === undefined) return answer(ErrorCode.UNKNOWN_MEMBER_ID)
    const { classic } = group
    const errorCode = checkMember(classic, request.memberId, request.groupInstanceId)
    const member = classic.members.get(request.memberId)
    if (errorCode !== ErrorCode.NONE || member === undefined) return answer(errorCode)
    if (request.generationId !== classic.generation) return answer(ErrorCode.ILLEGAL_GENERATION)
    this.#rebalance.renewSession(member, moment)
    // Members hear of a generation before its assignment is there, and may send heartbeats meanwhile.
    answer(classic.state === 'PreparingRebalance' ? ErrorCode.REBALANCE_IN_PROGRESS : ErrorCode.NONE)
  }

  leave(request: LeaveRequest, ticket: Ticket, moment: Moment, draft: Draft): void {
    const answer = (errorCode: number, members: GroupCalls['leave']['answer']['members']) =>
      draft.reply(ticket, { throttleTimeMs: 0, errorCode, members })
    if (request.groupId === '') return answer(ErrorCode.INVALID_GROUP_ID, [])
    const group = this.#find(request.groupId, draft)
    const members = request.members.map((leaving) => ({
      memberId: leaving.memberId,
      groupInstanceId: leaving.groupInstanceId,
      errorCode: group === undefined ? ErrorCode.UNKNOWN_MEMBER_ID : this.#leaveOne(group.classic, leaving, draft),
    }))
    answer(ErrorCode.NONE, members)
    if (group === undefined) return
    const gone = members.filter(({ errorCode }) => errorCode === ErrorCode.NONE)
    const { state } = group.classic
    if (gone.length > 0 && state !== 'Empty') {
      const names = gone.map(({ memberId, groupInstanceId }) => groupInstanceId ?? memberId).join(', ')
      this.#rebalance.membersChanged(group, `${names} left${because(request.members)}`, moment, draft)
    }
    this.#groups.sweep(group)
  }

  #leaveOne(classic: ClassicGroup, leaving: LeavingMember, draft: Draft): number {
    const { memberId, groupInstanceId } = leaving
    if (memberId === '') {
      // An administrator removes a static member by the name it knows.
      const holder = groupInstanceId === null ? undefined : classic.staticMembers.get(groupInstanceId)
      if (holder === undefined) return ErrorCode.UNKNOWN_MEMBER_ID
      return this.#remove(classic, holder, draft)
    }
    if (classic.pendingJoins.has(memberId)) {
      this.#rebalance.forgetPending(classic, memberId)
      return ErrorCode.NONE
    }
    const errorCode = checkMember(classic, memberId, groupInstanceId)
    return errorCode === ErrorCode.NONE ? this.#remove(classic, memberId, draft) : errorCode
  }

  #remove(classic: ClassicGroup, memberId: string, draft: Draft): number {
    const member = classic.members.get(memberId)
    if (member === undefined) return ErrorCode.UNKNOWN_MEMBER_ID
    this.#rebalance.expel(classic, member, ErrorCode.UNKNOWN_MEMBER_ID, draft)
    return ErrorCode.NONE
  }

  #find(groupId: string, draft: Draft): Group | undefined {
    const group = this.#groups.get(groupId)
    draft.saw(group?.lastRecordOffset ?? this.#groups.lastRemovalOffset)
    return group
  }
}

function checkSync(classic: ClassicGroup, request: SyncRequest): number {
  const errorCode = checkMember(classic, request.memberId, request.groupInstanceId)
  if (errorCode !== ErrorCode.NONE) return errorCode
  if (request.generationId !== classic.generation) return ErrorCode.ILLEGAL_GENERATION
  const differs = (theirs: string | null, ours: string | null) => theirs !== null && ours !== null && theirs !== ours
  const isInconsistent =
    differs(request.protocolType, classic.protocolType) || differs(request.protocolName, classic.protocolName)
  return isInconsistent ? ErrorCode.INCONSISTENT_GROUP_PROTOCOL : ErrorCode.NONE
}

function because(members: readonly LeavingMember[]): string {
  const reason = members.find((member) => member.reason)?.reason
  return reason ? ` (${reason})` : ''
}
