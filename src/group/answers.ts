import { ErrorCode } from '../protocol/errors.ts'
import type { ClassicGroup } from './classic-group.ts'
import type { GroupCalls } from './requests.ts'

type JoinAnswer = GroupCalls['join']['answer']
type SyncAnswer = GroupCalls['sync']['answer']

const NOTHING = Buffer.alloc(0)

export function joinRefusal(errorCode: number, memberId: string): JoinAnswer {
  return {
    throttleTimeMs: 0,
    errorCode,
    generationId: -1,
    protocolType: null,
    protocolName: null,
    leader: '',
    skipAssignment: false,
    memberId,
    members: [],
  }
}

/** Membership in the current generation. Only the leader learns who the others are. */
export function joinAnswer(
  group: ClassicGroup,
  memberId: string,
  { leader = group.leaderId, skipAssignment = false } = {},
): JoinAnswer {
  return {
    throttleTimeMs: 0,
    errorCode: ErrorCode.NONE,
    generationId: group.generation,
    protocolType: group.protocolType,
    protocolName: group.protocolName,
    leader: leader ?? '',
    skipAssignment,
    memberId,
    members: leader === memberId ? membersForLeader(group) : [],
  }
}

function membersForLeader(group: ClassicGroup): JoinAnswer['members'] {
  const protocol = group.protocolName ?? ''
  return [...group.members.values()].map((member) => ({
    memberId: member.memberId,
    groupInstanceId: member.groupInstanceId,
    metadata: member.metadataFor(protocol),
  }))
}

export function syncRefusal(errorCode: number): SyncAnswer {
  return { throttleTimeMs: 0, errorCode, protocolType: null, protocolName: null, assignment: NOTHING }
}

export function syncAnswer(group: ClassicGroup, assignment: Buffer): SyncAnswer {
  return {
    throttleTimeMs: 0,
    errorCode: ErrorCode.NONE,
    protocolType: group.protocolType,
    protocolName: group.protocolName,
    assignment,
  }
}

/** Whether this caller is the member it says to be; NONE when it is. */
export function checkMember(group: ClassicGroup, memberId: string, groupInstanceId: string | null): number {
  if (groupInstanceId !== null) {
    const holder = group.staticMembers.get(groupInstanceId)
    if (holder === undefined) return ErrorCode.UNKNOWN_MEMBER_ID
    if (holder !== memberId) return ErrorCode.FENCED_INSTANCE_ID
  }
  return group.members.has(memberId) ? ErrorCode.NONE : ErrorCode.UNKNOWN_MEMBER_ID
}
