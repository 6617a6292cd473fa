import type { TopicId } from '../model/ids.ts'
import { NO_TOPIC_ID } from '../model/ids.ts'
import type { JoinGroupResponse } from '../protocol/apis/join-group.ts'
import type { LeaveGroupRequest, LeaveGroupResponse } from '../protocol/apis/leave-group.ts'
import type { OffsetCommitRequest, OffsetCommitResponse } from '../protocol/apis/offset-commit.ts'
import type { OffsetDeleteRequest, OffsetDeleteResponse } from '../protocol/apis/offset-delete.ts'
import type { OffsetFetchRequest, OffsetFetchResponse } from '../protocol/apis/offset-fetch.ts'
import { ErrorCode } from '../protocol/errors.ts'

/*
 * Where versions of the group APIs differ in more than their fields: between what the shard speaks (the newest form) and
 * what is on the wire.
 */

/** What the node knows of topics. */
export interface TopicLookup {
  idOf(name: string): TopicId | null
  nameOf(id: TopicId): string | null
  /** 0 where there is no such topic. */
  partitionsOf(name: string): number
}

/** Topics are named by id instead of by name (KIP-848). */
const TOPIC_IDS_VERSION = 10
/** LeaveGroup for several members (KIP-345). */
const LEAVE_BATCH_VERSION = 3
/** OffsetFetch for several groups (KIP-709). */
export const FETCH_BATCH_VERSION = 8
/** OffsetFetch has a place for an error of the whole group. */
const FETCH_GROUP_ERROR_VERSION = 2
/** The protocol's name may be null. */
const NULL_PROTOCOL_VERSION = 7

export function joinAnswerFor(version: number, response: JoinGroupResponse): JoinGroupResponse {
  if (version >= NULL_PROTOCOL_VERSION || response.protocolName !== null) return response
  return { ...response, protocolName: '' }
}

export function leavingMembers(version: number, request: LeaveGroupRequest): LeaveGroupRequest {
  if (version >= LEAVE_BATCH_VERSION) return request
  return { ...request, members: [{ memberId: request.memberId, groupInstanceId: null, reason: null }] }
}

export function leaveAnswerFor(version: number, response: LeaveGroupResponse): LeaveGroupResponse {
  if (version >= LEAVE_BATCH_VERSION) return response
  return { ...response, errorCode: response.errorCode || (response.members[0]?.errorCode ?? 0), members: [] }
}

type CommitTopic = OffsetCommitRequest['topics'][number]

/** Each topic with its name and id, or the error of one that does not exist; likewise its partitions. */
export function resolveCommit(
  version: number,
  topics: readonly CommitTopic[],
  lookup: TopicLookup,
): { known: CommitTopic[]; unknown: OffsetCommitResponse['topics'][number][] } {
  const known: CommitTopic[] = []
  const unknown: OffsetCommitResponse['topics'][number][] = []
  for (const topic of topics) {
    const byId = version >= TOPIC_IDS_VERSION
    const name = byId ? lookup.nameOf(topic.topicId as TopicId) : topic.name
    const topicId = byId ? topic.topicId : lookup.idOf(topic.name)
    if (name !== null && topicId !== null) {
      const count = lookup.partitionsOf(name)
      const isThere = ({ partitionIndex }: { readonly partitionIndex: number }) =>
        partitionIndex >= 0 && partitionIndex < count
      const there = topic.partitions.filter(isThere)
      if (there.length > 0) known.push({ ...topic, name, topicId, partitions: there })
      if (there.length === topic.partitions.length) continue
      const others = topic.partitions.filter((partition) => !isThere(partition))
      unknown.push({ name, topicId, partitions: withError(others, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) })
      continue
    }
    const errorCode = byId ? ErrorCode.UNKNOWN_TOPIC_ID : ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    unknown.push({ ...topic, partitions: withError(topic.partitions, errorCode) })
  }
  return { known, unknown }
}

type DeleteTopic = OffsetDeleteRequest['topics'][number]

/** Topics and partitions that exist, and the error of those that do not, as Kafka has it. */
export function resolveDelete(
  topics: readonly DeleteTopic[],
  lookup: TopicLookup,
): { known: DeleteTopic[]; unknown: OffsetDeleteResponse['topics'][number][] } {
  const known: DeleteTopic[] = []
  const unknown: OffsetDeleteResponse['topics'][number][] = []
  for (const topic of topics) {
    const count = lookup.partitionsOf(topic.name)
    const isThere = ({ partitionIndex }: { readonly partitionIndex: number }) =>
      partitionIndex >= 0 && partitionIndex < count
    const there = topic.partitions.filter(isThere)
    const others = topic.partitions.filter((partition) => !isThere(partition))
    if (there.length > 0) known.push({ ...topic, partitions: there })
    if (others.length > 0) {
      unknown.push({ ...topic, partitions: withError(others, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) })
    }
  }
  return { known, unknown }
}

interface AnsweredTopic {
  readonly name: string
  readonly topicId?: string
  readonly partitions: readonly { readonly partitionIndex: number; readonly errorCode: number }[]
}

/** Answers of two places, with one entry for each topic. */
export function joinTopics<T extends AnsweredTopic>(one: readonly T[], other: readonly T[]): T[] {
  const joined = [...one]
  for (const topic of other) {
    const at = joined.findIndex(({ name, topicId }) => name === topic.name && topicId === topic.topicId)
    const same = joined[at]
    if (same === undefined) joined.push(topic)
    else joined[at] = { ...same, partitions: [...same.partitions, ...topic.partitions] }
  }
  return joined
}

export function withError(
  partitions: readonly { readonly partitionIndex: number }[],
  errorCode: number,
): { partitionIndex: number; errorCode: number }[] {
  return partitions.map(({ partitionIndex }) => ({ partitionIndex, errorCode }))
}

export type FetchGroup = OffsetFetchRequest['groups'][number]
export type FetchedGroup = OffsetFetchResponse['groups'][number]
type FetchedTopic = FetchedGroup['topics'][number]

/** The groups of the request, also of the versions that name one. */
export function fetchGroups(version: number, request: OffsetFetchRequest): readonly FetchGroup[] {
  if (version >= FETCH_BATCH_VERSION) return request.groups
  const topics = request.topics?.map((topic) => ({ ...topic, topicId: NO_TOPIC_ID })) ?? null
  return [{ groupId: request.groupId, memberId: null, memberEpoch: -1, topics }]
}

export function resolveFetch(
  version: number,
  group: FetchGroup,
  lookup: TopicLookup,
): { known: FetchGroup; unknown: FetchedTopic[] } {
  if (group.topics === null) return { known: group, unknown: [] }
  const known: NonNullable<FetchGroup['topics']>[number][] = []
  const unknown: FetchedTopic[] = []
  for (const topic of group.topics) {
    const byId = version >= TOPIC_IDS_VERSION
    const name = byId ? lookup.nameOf(topic.topicId as TopicId) : topic.name
    if (name === null) unknown.push(unknownTopic(topic, ErrorCode.UNKNOWN_TOPIC_ID))
    else known.push({ ...topic, name, topicId: byId ? topic.topicId : (lookup.idOf(name) ?? NO_TOPIC_ID) })
  }
  return { known: { ...group, topics: known }, unknown }
}

function unknownTopic(topic: NonNullable<FetchGroup['topics']>[number], errorCode: number): FetchedTopic {
  const partitions = topic.partitionIndexes.map((partitionIndex) => ({
    partitionIndex,
    committedOffset: -1,
    committedLeaderEpoch: -1,
    metadata: '',
    errorCode,
  }))
  return { name: topic.name, topicId: topic.topicId, partitions }
}

/** A group that could not be asked. Where the version has no place for its error, every partition carries it. */
export function fetchRefusal(version: number, group: FetchGroup, errorCode: number): FetchedGroup {
  const { groupId } = group
  if (version >= FETCH_GROUP_ERROR_VERSION) return { groupId, topics: [], errorCode }
  return { groupId, topics: (group.topics ?? []).map((topic) => unknownTopic(topic, errorCode)), errorCode: 0 }
}

/** Of all offsets of a group, those whose topic is still the one they were committed for, with its id. */
export function currentTopics(topics: readonly FetchedTopic[], version: number, lookup: TopicLookup): FetchedTopic[] {
  const current: FetchedTopic[] = []
  for (const topic of topics) {
    const topicId = lookup.idOf(topic.name)
    const isOther = topicId !== null && topic.topicId !== NO_TOPIC_ID && topic.topicId !== topicId
    // A topic that is gone can still be named, but it has no id to be found by.
    if (isOther || (topicId === null && version >= TOPIC_IDS_VERSION)) continue
    current.push({ ...topic, topicId: topicId ?? NO_TOPIC_ID })
  }
  return current
}

export function fetchAnswerFor(version: number, groups: readonly FetchedGroup[]): OffsetFetchResponse {
  if (version >= FETCH_BATCH_VERSION) return { throttleTimeMs: 0, topics: [], errorCode: 0, groups }
  const [group] = groups
  return { throttleTimeMs: 0, topics: group?.topics ?? [], errorCode: group?.errorCode ?? 0, groups: [] }
}
