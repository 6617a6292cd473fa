import type { Random } from '../base/random.ts'
import { Alarms, newAlarm } from './alarms.ts'
import { Directory } from './directory.ts'
import { Expiry } from './expiry.ts'
import { type Group, Groups } from './groups.ts'
import { Joining } from './join.ts'
import type { Moment, Origin, Shard, Ticket } from '../model/shard.ts'
import { Membership } from './membership.ts'
import { OutlookBook } from './outlook-book.ts'
import { OffsetCommits, replayOffset, replayTransactionEnd } from './offset-commits.ts'
import { Rebalance } from './rebalance.ts'
import type { GroupMetadata, GroupRecord } from './records.ts'
import type { GroupRequest, GroupResponse } from './requests.ts'
import { RetentionRisk } from './retention-risk.ts'
import { type GroupStanding, standingsOf, type SurveyedGroup } from './standing.ts'
import { Draft, type GroupConfig, type GroupOutcome, type ShardContext } from './types.ts'

/**
 * The groups whose ids fall on one partition of `__consumer_offsets`.
 *
 * What is in the log changes by `replay` only. The rest of a classic group's membership (who waits for what, sessions,
 * a generation that has no assignment yet) is in memory alone, as in Kafka: after a failover the members come back to
 * the last generation that was stable and find out by themselves.
 */
export class GroupShard implements Shard<GroupRecord, GroupRequest, GroupResponse> {
  readonly #context: { config: GroupConfig; readonly random: Random }
  readonly #alarms = new Alarms()
  readonly #groups = new Groups(this.#alarms)
  readonly #rebalance: Rebalance
  readonly #joining: Joining
  readonly #membership: Membership
  readonly #offsets: OffsetCommits
  readonly #directory = new Directory(this.#groups)
  readonly #expiry: Expiry
  readonly #risk: RetentionRisk
  readonly #expiryAlarm = newAlarm('expiry', '')
  /** Records of kinds that nobody has told us about; they are skipped. */
  unknownRecords = 0

  /** `book` is shared by the shards of a node. */
  constructor(config: GroupConfig, random: Random, book = new OutlookBook()) {
    const context: ShardContext = (this.#context = { config, random })
    this.#rebalance = new Rebalance(context, this.#alarms, this.#groups)
    this.#joining = new Joining(context, this.#alarms, this.#groups, this.#rebalance)
    this.#membership = new Membership(context, this.#alarms, this.#groups, this.#rebalance)
    this.#offsets = new OffsetCommits(context, this.#groups, this.#rebalance)
    this.#expiry = new Expiry(context, this.#groups)
    this.#risk = new RetentionRisk(this.#groups, book)
  }

  set config(config: GroupConfig) {
    this.#context.config = config
  }

  get groupCount(): number {
    return this.#groups.size
  }

  /** For figures: what is not committed yet shows too. */
  *survey(): Generator<SurveyedGroup> {
    for (const { groupId, offsets, risk } of this.#groups.values()) {
      let positions = 0
      for (const partitions of offsets.values()) positions += partitions.size
      yield { groupId, positions, isAtRisk: risk?.isAtRisk === true }
    }
  }

  /** The same of where those of `groupIds` stand that are here. */
  standings(groupIds: readonly string[]): readonly GroupStanding[] {
    return standingsOf(this.#groups, { groupIds, onlyAtRisk: false }).standings
  }

  handle(request: GroupRequest, ticket: Ticket, moment: Moment): GroupOutcome {
    const draft = new Draft()
    const { caller } = request
    switch (request.type) {
      case 'join':
        this.#joining.handle(request.body, caller, ticket, moment, draft)
        break
      case 'sync':
        this.#membership.sync(request.body, caller, ticket, moment, draft)
        break
      case 'heartbeat':
        this.#membership.heartbeat(request.body, ticket, moment, draft)
        break
      case 'leave':
        this.#membership.leave(request.body, ticket, moment, draft)
        break
      case 'commit-offsets':
        this.#offsets.commit(request.body, caller, ticket, moment, draft)
        break
      case 'fetch-offsets':
        this.#offsets.fetch(request.body, ticket, draft)
        break
      case 'delete-offsets':
        this.#offsets.delete(request.body, ticket, moment, draft)
        break
      case 'list':
        this.#directory.list(request.body, ticket, draft)
        break
      case 'describe':
        this.#directory.describe(request.body, caller.apiVersion, ticket, draft)
        break
      case 'delete-groups':
        this.#directory.delete(request.body, ticket, moment, draft)
        break
      case 'forget-topics':
        if (moment.refusal === null) this.#expiry.forgetTopics(request.body, draft)
        draft.reply(ticket, null)
        break
      case 'outlooks':
        this.#risk.changed(request.body, moment, draft)
        draft.reply(ticket, null)
        break
      case 'standings': {
        const { standings, seen } = standingsOf(this.#groups, request.body)
        draft.saw(seen)
        draft.reply(ticket, { standings })
        break
      }
    }
    this.#risk.tell(draft)
    return draft
  }

  nextDeadlineMs(): number | null {
    return this.#alarms.nextMs()
  }

  tick(moment: Moment): GroupOutcome {
    const draft = new Draft()
    const alarm = this.#alarms.takeDue(moment.nowMs)
    if (alarm === null) return draft
    if (alarm.kind === 'expiry') {
      this.#alarms.set(this.#expiryAlarm, moment.nowMs + this.#expiry.step(moment, draft))
    } else this.#rebalance.onAlarm(alarm, moment, draft)
    return draft
  }

  /** Members loaded from the log get a full session to come back in. */
  loaded(moment: Moment): GroupOutcome {
    const draft = new Draft()
    for (const group of this.#groups.values()) {
      const { members } = group.classic
      for (const member of members.values()) this.#rebalance.renewSession(member, moment)
      const sizeMax = this.#context.config.groupSizeMax
      if (members.size > sizeMax) {
        this.#rebalance.begin(group, `${members.size} members, and the limit is ${sizeMax}`, moment, draft)
      }
    }
    this.#alarms.set(this.#expiryAlarm, moment.nowMs + this.#context.config.expiryIntervalMs)
    this.#risk.loaded(moment, draft)
    return draft
  }

  replay(record: GroupRecord, origin: Origin): void {
    switch (record.type) {
      case 'offset': {
        const group = this.#touch(record.groupId, record.value === null, origin)
        if (group === undefined) return
        replayOffset(group, record, origin)
        this.#risk.moved(group, record.topic, record.partition)
        this.#groups.sweep(group)
        return
      }
      case 'group': {
        const group = this.#touch(record.groupId, record.value === null, origin)
        if (group !== undefined) this.#replayGroup(group, record.value)
        return
      }
      case 'foreign': {
        const group = this.#touch(record.groupId, record.isTombstone, origin)
        if (group === undefined) return
        if (!record.isTombstone) group.isForeign = true
        else if (record.isDefining) group.isForeign = false
        this.#groups.sweep(group)
        return
      }
      case 'unknown':
        this.unknownRecords++
    }
  }

  /** The group of a record; made when it is not there, except by a tombstone. */
  #touch(groupId: string, isTombstone: boolean, { offset }: Origin): Group | undefined {
    // The wall time is not known here and does not matter: a group of offsets only has no state that could expire.
    const group = isTombstone ? this.#groups.get(groupId) : this.#groups.getOrCreate(groupId, -1)
    if (group !== undefined) group.lastRecordOffset = offset
    return group
  }

  #replayGroup(group: Group, value: GroupMetadata | null): void {
    const { classic } = group
    group.isPersisted = value !== null
    // Only a group without members is ever deleted; those it has promised a place will be told to start again.
    if (value === null)
      for (const memberId of classic.pendingJoins.keys()) this.#rebalance.forgetPending(classic, memberId)
    classic.restore(value ?? NO_GROUP)
    this.#groups.sweep(group)
  }

  replayTransactionEnd(producerId: number, isCommit: boolean, offset: number): void {
    for (const group of this.#groups.values()) {
      if (!group.transactions.has(producerId)) continue
      replayTransactionEnd(group, producerId, isCommit)
      group.lastRecordOffset = offset
      this.#groups.sweep(group)
    }
  }

  /** One line for each group, for people and tests. */
  dump(): string {
    return [...this.#groups.values()].map(dumpGroup).join('\n')
  }
}

const NO_GROUP: GroupMetadata = {
  protocolType: '',
  generation: 0,
  protocolName: null,
  leaderId: null,
  stateTimestampMs: -1,
  members: [],
}

function dumpGroup({ groupId, classic, offsets, isForeign }: Group): string {
  const members = [...classic.members.values()].map((member) => {
    const marks = [
      member.memberId === classic.leaderId ? 'leader' : '',
      member.joinTicket === null ? '' : 'joining',
      member.syncTicket === null ? '' : 'syncing',
    ]
    return [member.memberId, ...marks.filter((mark) => mark !== '')].join(':')
  })
  const positions = [...offsets].flatMap(([topic, partitions]) =>
    [...partitions].map(([partition, { offset }]) => `${topic}-${partition}=${offset}`),
  )
  const kind = isForeign ? ' foreign' : ''
  return (
    `${groupId}${kind} ${classic.state} generation=${classic.generation} protocol=${classic.protocolName ?? '-'}` +
    ` members=(${members.join(' ')}) pending=${classic.pendingJoins.size} offsets=(${positions.join(' ')})`
  )
}
