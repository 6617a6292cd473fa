import { ErrorCode } from '../protocol/errors.ts'
import type { Group, Groups } from './groups.ts'
import type { Member } from './member.ts'
import type { Ticket } from '../model/shard.ts'
import { offsetTombstone } from './offset-commits.ts'
import type { GroupCalls } from './requests.ts'
import type { Moment } from '../model/shard.ts'
import type { Draft } from './types.ts'

type DescribedGroup = GroupCalls['describe']['answer'][number]
type DescribedMember = DescribedGroup['members'][number]

/** From this version DescribeGroups has an error for a group that is not there (KIP-1043). */
const NOT_FOUND_VERSION = 6
/** "Not asked for": the service fills it in when the client wants to know. */
const NO_OPERATIONS = -0x80000000
const NOTHING = Buffer.alloc(0)

/** ListGroups, DescribeGroups and DeleteGroups. Groups of a kind that is not coordinated here are not shown. */
export class Directory {
  readonly #groups: Groups

  constructor(groups: Groups) {
    this.#groups = groups
  }

  list({ statesFilter, typesFilter }: GroupCalls['list']['call'], ticket: Ticket, draft: Draft): void {
    const states = statesFilter.map(normalized)
    const types = typesFilter.map(normalized)
    const listed: GroupCalls['list']['answer'][number][] = []
    draft.saw(this.#groups.lastRemovalOffset)
    for (const group of this.#groups.values()) {
      const { state, protocolType } = group.classic
      if (group.isForeign) continue
      if (states.length > 0 && !states.includes(normalized(state))) continue
      if (types.length > 0 && !types.includes('classic')) continue
      draft.saw(group.lastRecordOffset)
      listed.push({
        groupId: group.groupId,
        protocolType: protocolType ?? '',
        groupState: state,
        groupType: 'classic',
      })
    }
    draft.reply(ticket, listed)
  }

  describe(groupIds: readonly string[], apiVersion: number, ticket: Ticket, draft: Draft): void {
    const described = groupIds.map((groupId) => {
      const group = this.#groups.get(groupId)
      draft.saw(group?.lastRecordOffset ?? this.#groups.lastRemovalOffset)
      return group === undefined || group.isForeign ? dead(groupId, apiVersion) : describe(group)
    })
    draft.reply(ticket, described)
  }

  delete(groupIds: readonly string[], ticket: Ticket, moment: Moment, draft: Draft): void {
    const results = [...new Set(groupIds)].map((groupId) => {
      const group = this.#groups.get(groupId)
      draft.saw(group?.lastRecordOffset ?? this.#groups.lastRemovalOffset)
      if (group === undefined) return result(groupId, ErrorCode.GROUP_ID_NOT_FOUND, `Group ${groupId} not found.`)
      const isInUse = group.isForeign || group.classic.state !== 'Empty'
      if (isInUse) return result(groupId, ErrorCode.NON_EMPTY_GROUP, `Group ${groupId} has members.`)
      if (moment.refusal !== null) return result(groupId, moment.refusal, 'The group cannot be written now.')
      writeTombstones(group, draft)
      return result(groupId, ErrorCode.NONE, null)
    })
    draft.reply(ticket, results)
  }
}

function writeTombstones(group: Group, draft: Draft): void {
  const { groupId } = group
  const positions = new Map<string, Set<number>>()
  for (const offsets of [group.offsets, ...group.transactions.values()]) {
    for (const [topic, partitions] of offsets) {
      const known = positions.get(topic) ?? new Set()
      positions.set(topic, known)
      for (const partition of partitions.keys()) known.add(partition)
    }
  }
  for (const [topic, partitions] of positions) {
    for (const partition of partitions) draft.records.push(offsetTombstone(groupId, topic, partition))
  }
  // Also when no record of the group is in the log: its replay is what removes a group that has only been promised to
  // a member that has not come.
  draft.records.push({ type: 'group', groupId, value: null })
}

function describe({ groupId, classic }: Group): DescribedGroup {
  const protocol = classic.state === 'Stable' ? classic.protocolName : null
  return {
    errorCode: ErrorCode.NONE,
    errorMessage: null,
    groupId,
    groupState: classic.state,
    protocolType: classic.protocolType ?? '',
    protocolData: protocol ?? '',
    members: [...classic.members.values()].map((member) => describeMember(member, protocol)),
    authorizedOperations: NO_OPERATIONS,
  }
}

function describeMember(member: Member, protocol: string | null): DescribedMember {
  return {
    memberId: member.memberId,
    groupInstanceId: member.groupInstanceId,
    clientId: member.clientId,
    clientHost: member.clientHost,
    memberMetadata: protocol === null ? NOTHING : member.metadataFor(protocol),
    memberAssignment: member.assignment,
  }
}

function dead(groupId: string, apiVersion: number): DescribedGroup {
  const isError = apiVersion >= NOT_FOUND_VERSION
  return {
    errorCode: isError ? ErrorCode.GROUP_ID_NOT_FOUND : ErrorCode.NONE,
    errorMessage: isError ? `Group ${groupId} not found.` : null,
    groupId,
    groupState: 'Dead',
    protocolType: '',
    protocolData: '',
    members: [],
    authorizedOperations: NO_OPERATIONS,
  }
}

function result(groupId: string, errorCode: number, errorMessage: string | null) {
  return { groupId, errorCode, errorMessage }
}

function normalized(filter: string): string {
  return filter.trim().toLowerCase()
}
