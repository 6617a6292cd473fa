import { assert } from '../base/assert.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { Alarm, Alarms } from './alarms.ts'
import { joinAnswer, joinRefusal, syncRefusal } from './answers.ts'
import type { ClassicGroup } from './classic-group.ts'
import type { Group, Groups } from './groups.ts'
import type { Member } from './member.ts'
import type { Moment } from '../model/shard.ts'
import type { Draft, ShardContext } from './types.ts'

/**
 * How a classic group gets from one generation to the next: what starts a rebalance, what ends it, and what becomes of
 * members that miss it. Joins, syncs, departures and time all come through here.
 */
export class Rebalance {
  readonly #context: ShardContext
  readonly #alarms: Alarms
  readonly #groups: Groups

  constructor(context: ShardContext, alarms: Alarms, groups: Groups) {
    this.#context = context
    this.#alarms = alarms
    this.#groups = groups
  }

  /** The member is alive until then. */
  renewSession(member: Member, moment: Moment, timeoutMs = member.sessionTimeoutMs): void {
    this.#alarms.set(member.session, moment.nowMs + timeoutMs)
  }

  /** Something about the members changed: start a rebalance, or see whether the one under way is complete. */
  membersChanged(group: Group, reason: string, moment: Moment, draft: Draft): void {
    if (group.classic.state === 'PreparingRebalance') this.completeIfEveryoneJoined(group, moment, draft)
    else this.begin(group, reason, moment, draft)
  }

  begin(group: Group, reason: string, moment: Moment, draft: Draft): void {
    const { classic } = group
    assert(classic.state !== 'PreparingRebalance', `${group.groupId} begins a rebalance within one`)
    if (classic.state === 'CompletingRebalance')
      this.dropAssignments(classic, ErrorCode.REBALANCE_IN_PROGRESS, moment, draft)
    classic.pendingSyncs.clear()
    this.#alarms.cancel(classic.syncAlarm)
    const isFirst = classic.state === 'Empty'
    draft.note('a group rebalances', {
      group: group.groupId,
      generation: classic.generation,
      state: classic.state,
      reason,
    })
    classic.moveTo('PreparingRebalance', moment.wallMs)
    if (isFirst) {
      // More members are likely to come at once, and each would start another rebalance.
      const delayMs = this.#context.config.initialRebalanceDelayMs
      classic.hasNewMember = false
      classic.initialDelayStepMs = delayMs
      classic.initialDelayLeftMs = Math.max(classic.rebalanceTimeoutMs - delayMs, 0)
      this.#alarms.set(classic.joinAlarm, moment.nowMs + delayMs)
    } else if (classic.hasEveryoneJoined) {
      this.completeJoin(group, moment, draft)
    } else {
      this.#waitForMembers(classic, moment)
    }
  }

  #waitForMembers(classic: ClassicGroup, moment: Moment): void {
    classic.initialDelayStepMs = null
    this.#alarms.set(classic.joinAlarm, moment.nowMs + classic.rebalanceTimeoutMs)
  }

  /** The first rebalance of an empty group is ended by its delay, not by the last member. */
  completeIfEveryoneJoined(group: Group, moment: Moment, draft: Draft): void {
    const { classic } = group
    if (classic.state !== 'PreparingRebalance' || classic.cameFromEmpty || !classic.hasEveryoneJoined) return
    this.completeJoin(group, moment, draft)
  }

  /** Ends the joining: those who came form the next generation, those who did not are out (static members stay). */
  completeJoin(group: Group, moment: Moment, draft: Draft): void {
    const { classic } = group
    this.#alarms.cancel(classic.joinAlarm)
    classic.initialDelayStepMs = null
    for (const member of [...classic.members.values()]) {
      if (member.joinTicket !== null || member.groupInstanceId !== null) continue
      draft.note('a member missed the rebalance', { group: group.groupId, member: member.memberId })
      classic.remove(member, this.#alarms)
    }
    if (classic.members.size === 0) this.#becomeEmpty(group, moment, draft)
    // Only static members, and none of them came: their sessions decide.
    else if (!classic.electLeader()) this.#waitForMembers(classic, moment)
    else this.#beginGeneration(group, moment, draft)
  }

  #becomeEmpty(group: Group, moment: Moment, draft: Draft): void {
    const { classic } = group
    const value = {
      protocolType: classic.protocolType ?? '',
      generation: classic.generation + 1,
      protocolName: null,
      leaderId: null,
      stateTimestampMs: moment.wallMs,
      members: [],
    }
    draft.note('a group is empty', { group: group.groupId, generation: value.generation })
    if (moment.refusal === null) draft.records.push({ type: 'group', groupId: group.groupId, value })
    // After a failover the last generation written would come back, and its members' sessions would end it again.
    else classic.restore(value)
  }

  #beginGeneration(group: Group, moment: Moment, draft: Draft): void {
    const { classic } = group
    classic.beginGeneration(moment.wallMs)
    draft.note('a group begins a generation', {
      group: group.groupId,
      generation: classic.generation,
      members: classic.members.size,
      protocol: classic.protocolName ?? '',
    })
    for (const member of classic.members.values()) {
      const ticket = classic.unpark(member)
      if (ticket !== null) draft.reply(ticket, joinAnswer(classic, member.memberId))
      member.isNew = false
      this.renewSession(member, moment)
    }
    this.#alarms.set(classic.syncAlarm, moment.nowMs + classic.rebalanceTimeoutMs)
  }

  /** Nothing will come of this generation's assignment: those who wait for it hear `errorCode`. */
  dropAssignments(classic: ClassicGroup, errorCode: number, moment: Moment, draft: Draft): void {
    for (const member of classic.members.values()) {
      member.assignment = Buffer.alloc(0)
      if (member.syncTicket === null) continue
      draft.reply(member.syncTicket, syncRefusal(errorCode))
      member.syncTicket = null
      this.renewSession(member, moment)
    }
  }

  /** Answers what the member has parked, then takes it out of the group. What follows from that is the caller's. */
  expel(classic: ClassicGroup, member: Member, errorCode: number, draft: Draft, memberId = ''): void {
    const ticket = classic.unpark(member)
    if (ticket !== null) draft.reply(ticket, joinRefusal(errorCode, memberId))
    if (member.syncTicket !== null) draft.reply(member.syncTicket, syncRefusal(errorCode))
    member.syncTicket = null
    classic.remove(member, this.#alarms)
  }

  forgetPending(classic: ClassicGroup, memberId: string): void {
    const alarm = classic.pendingJoins.get(memberId)
    if (alarm !== undefined) this.#alarms.cancel(alarm)
    classic.pendingJoins.delete(memberId)
  }

  onAlarm(alarm: Alarm, moment: Moment, draft: Draft): void {
    const group = this.#groups.get(alarm.groupId)
    if (group === undefined) return
    draft.saw(group.lastRecordOffset)
    if (alarm.kind === 'join') this.#onJoinAlarm(group, moment, draft)
    else if (alarm.kind === 'sync') this.#onSyncAlarm(group, moment, draft)
    else this.#onSessionAlarm(group, alarm, moment, draft)
    this.#groups.sweep(group)
  }

  #onJoinAlarm(group: Group, moment: Moment, draft: Draft): void {
    const { classic } = group
    assert(classic.state === 'PreparingRebalance', `${group.groupId} ends a rebalance in ${classic.state}`)
    const stepMs = classic.initialDelayStepMs
    if (stepMs === null || !classic.hasNewMember || classic.initialDelayLeftMs === 0) {
      this.completeJoin(group, moment, draft)
      return
    }
    classic.hasNewMember = false
    const delayMs = Math.min(this.#context.config.initialRebalanceDelayMs, classic.initialDelayLeftMs)
    classic.initialDelayLeftMs = Math.max(classic.initialDelayLeftMs - stepMs, 0)
    classic.initialDelayStepMs = delayMs
    this.#alarms.set(classic.joinAlarm, moment.nowMs + delayMs)
  }

  #onSyncAlarm(group: Group, moment: Moment, draft: Draft): void {
    const { classic } = group
    if (classic.pendingSyncs.size === 0) return
    const missing = [...classic.pendingSyncs]
    for (const memberId of missing) {
      const member = classic.members.get(memberId)
      if (member !== undefined) this.expel(classic, member, ErrorCode.UNKNOWN_MEMBER_ID, draft)
    }
    this.membersChanged(group, `${missing.join(', ')} did not fetch an assignment in time`, moment, draft)
  }

  #onSessionAlarm(group: Group, alarm: Alarm, moment: Moment, draft: Draft): void {
    const { classic } = group
    if (classic.pendingJoins.get(alarm.memberId) === alarm) {
      classic.pendingJoins.delete(alarm.memberId)
      if (classic.state === 'PreparingRebalance' && classic.hasEveryoneJoined) this.completeJoin(group, moment, draft)
      return
    }
    const member = classic.members.get(alarm.memberId)
    // Answering the parked request will start a new session.
    if (member === undefined || member.session !== alarm || member.isAlive) return
    this.expel(classic, member, ErrorCode.UNKNOWN_MEMBER_ID, draft)
    const reason = `the session of ${member.memberId} ended`
    if (classic.state !== 'PreparingRebalance') this.begin(group, reason, moment, draft)
    else if (classic.hasEveryoneJoined) this.completeJoin(group, moment, draft)
  }
}
