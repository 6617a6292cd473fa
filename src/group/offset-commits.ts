import { assert } from '../base/assert.ts'
import { NO_TOPIC_ID, type TopicId } from '../model/ids.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { checkMember } from './answers.ts'
import { type Group, type Groups, putOffset, removeOffset, type StoredOffset } from './groups.ts'
import type { Ticket } from '../model/shard.ts'
import type { Rebalance } from './rebalance.ts'
import { anchorOf } from './standing.ts'
import type { GroupRecord, OffsetValue } from './records.ts'
import type { Caller, GroupCalls } from './requests.ts'
import type { Moment } from '../model/shard.ts'
import type { Draft, ShardContext } from './types.ts'

type CommitRequest = GroupCalls['commit-offsets']['call']
type CommitPartition = CommitRequest['topics'][number]['partitions'][number]
type FetchRequest = GroupCalls['fetch-offsets']['call']
type FetchAnswer = GroupCalls['fetch-offsets']['answer']
type FetchedPartition = FetchAnswer['topics'][number]['partitions'][number]
type DeleteRequest = GroupCalls['delete-offsets']['call']

const NO_OFFSET = -1
const NO_EPOCH = -1
/** From this version OffsetCommit knows GROUP_ID_NOT_FOUND (KIP-848). */
const GROUP_ID_NOT_FOUND_VERSION = 9

/** OffsetCommit, OffsetFetch and OffsetDelete. */
export class OffsetCommits {
  readonly #context: ShardContext
  readonly #groups: Groups
  readonly #rebalance: Rebalance

  constructor(context: ShardContext, groups: Groups, rebalance: Rebalance) {
    this.#context = context
    this.#groups = groups
    this.#rebalance = rebalance
  }

  commit(request: CommitRequest, caller: Caller, ticket: Ticket, moment: Moment, draft: Draft): void {
    const group = this.#find(request.groupId, draft)
    const errorCode = this.#checkCommit(group, request, caller)
    if (errorCode === ErrorCode.NONE && group !== undefined) this.#renewSession(group, request.memberId, moment)
    const refusal = errorCode === ErrorCode.NONE ? moment.refusal : errorCode
    const topics = request.topics.map(({ name, topicId, partitions }) => ({
      name,
      topicId,
      partitions: partitions.map((partition) => ({
        partitionIndex: partition.partitionIndex,
        errorCode: refusal ?? this.#checkPartition(partition),
      })),
    }))
    draft.reply(ticket, { throttleTimeMs: 0, topics })
    if (refusal !== null) return
    const expireTimestampMs = request.retentionTimeMs < 0 ? -1 : moment.wallMs + request.retentionTimeMs
    for (const { name, topicId, partitions } of request.topics) {
      for (const partition of partitions) {
        if (this.#checkPartition(partition) !== ErrorCode.NONE) continue
        draft.records.push({
          type: 'offset',
          groupId: request.groupId,
          topic: name,
          partition: partition.partitionIndex,
          value: {
            offset: partition.committedOffset,
            leaderEpoch: partition.committedLeaderEpoch,
            metadata: partition.committedMetadata ?? '',
            commitTimestampMs: moment.wallMs,
            expireTimestampMs,
            topicId: topicId as TopicId,
            ...lostBefore(group?.offsets.get(name)?.get(partition.partitionIndex), topicId),
          },
        })
      }
    }
  }

  #checkCommit(group: Group | undefined, request: CommitRequest, caller: Caller): number {
    const { generationIdOrMemberEpoch: generation, memberId, groupInstanceId } = request
    if (group === undefined) {
      // Tools and consumers without a group protocol only store offsets: that makes a simple group.
      if (generation < 0) return ErrorCode.NONE
      return caller.apiVersion >= GROUP_ID_NOT_FOUND_VERSION
        ? ErrorCode.GROUP_ID_NOT_FOUND
        : ErrorCode.ILLEGAL_GENERATION
    }
    if (group.isForeign) return ErrorCode.UNKNOWN_MEMBER_ID
    const { classic } = group
    if (generation < 0 && classic.state === 'Empty') return ErrorCode.NONE
    if (generation < 0 && memberId === '' && groupInstanceId === null) return ErrorCode.UNKNOWN_MEMBER_ID
    const errorCode = checkMember(classic, memberId, groupInstanceId)
    if (errorCode !== ErrorCode.NONE) return errorCode
    if (generation !== classic.generation) return ErrorCode.ILLEGAL_GENERATION
    // The member knows the generation but not yet its part in it. It asks again when it does.
    return classic.state === 'CompletingRebalance' ? ErrorCode.REBALANCE_IN_PROGRESS : ErrorCode.NONE
  }

  /** Committing is a sign of life too. */
  #renewSession({ classic }: Group, memberId: string, moment: Moment): void {
    const member = classic.members.get(memberId)
    if (member !== undefined) this.#rebalance.renewSession(member, moment)
  }

  #checkPartition({ committedMetadata }: CommitPartition): number {
    const isTooLarge =
      committedMetadata !== null && committedMetadata.length > this.#context.config.offsetMetadataBytesMax
    return isTooLarge ? ErrorCode.OFFSET_METADATA_TOO_LARGE : ErrorCode.NONE
  }

  fetch(request: FetchRequest, ticket: Ticket, draft: Draft): void {
    const group = this.#find(request.groupId, draft)
    const topics = request.topics === null ? this.#fetchAll(group, request) : this.#fetchSome(group, request)
    draft.reply(ticket, { groupId: request.groupId, topics, errorCode: ErrorCode.NONE })
  }

  #fetchSome(group: Group | undefined, request: FetchRequest): FetchAnswer['topics'] {
    return (request.topics ?? []).map(({ name, topicId, partitionIndexes }) => ({
      name,
      topicId,
      partitions: partitionIndexes.map((partition) => {
        const stored = group?.offsets.get(name)?.get(partition)
        // An offset committed for an earlier topic of the same name says nothing about this one.
        const isOfOther = stored !== undefined && areDifferentTopics(stored.topicId, topicId)
        const isUnstable = request.requireStable && group?.hasPendingOffset(name, partition) === true
        return fetched(partition, isOfOther ? undefined : stored, isUnstable)
      }),
    }))
  }

  #fetchAll(group: Group | undefined, request: FetchRequest): FetchAnswer['topics'] {
    if (group === undefined) return []
    return [...group.offsets].map(([name, partitions]) => ({
      name,
      topicId: partitions.values().next().value?.topicId ?? NO_TOPIC_ID,
      partitions: [...partitions].map(([partition, stored]) =>
        fetched(partition, stored, request.requireStable && group.hasPendingOffset(name, partition)),
      ),
    }))
  }

  delete(request: DeleteRequest, ticket: Ticket, moment: Moment, draft: Draft): void {
    const refuse = (errorCode: number) => draft.reply(ticket, { errorCode, throttleTimeMs: 0, topics: [] })
    if (request.groupId === '') return refuse(ErrorCode.INVALID_GROUP_ID)
    const group = this.#find(request.groupId, draft)
    if (group === undefined) return refuse(ErrorCode.GROUP_ID_NOT_FOUND)
    const { classic } = group
    const hasOtherMembers = classic.state !== 'Empty' && !classic.usesConsumerProtocol
    if (group.isForeign || hasOtherMembers) return refuse(ErrorCode.NON_EMPTY_GROUP)
    if (moment.refusal !== null) return refuse(moment.refusal)
    const topics = request.topics.map(({ name, partitions }) => {
      const errorCode = classic.isSubscribedTo(name) ? ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC : ErrorCode.NONE
      for (const { partitionIndex } of errorCode === ErrorCode.NONE ? partitions : []) {
        const exists = group.offsets.get(name)?.has(partitionIndex) || group.hasPendingOffset(name, partitionIndex)
        if (exists) draft.records.push(offsetTombstone(group.groupId, name, partitionIndex))
      }
      return { name, partitions: partitions.map(({ partitionIndex }) => ({ partitionIndex, errorCode })) }
    })
    draft.reply(ticket, { errorCode: ErrorCode.NONE, throttleTimeMs: 0, topics })
  }

  #find(groupId: string, draft: Draft): Group | undefined {
    const group = this.#groups.get(groupId)
    draft.saw(group?.lastRecordOffset ?? this.#groups.lastRemovalOffset)
    return group
  }
}

function fetched(partitionIndex: number, stored: StoredOffset | undefined, isUnstable: boolean): FetchedPartition {
  const isVisible = stored !== undefined && !isUnstable
  return {
    partitionIndex,
    committedOffset: isVisible ? stored.offset : NO_OFFSET,
    committedLeaderEpoch: isVisible ? stored.leaderEpoch : NO_EPOCH,
    metadata: isVisible ? stored.metadata : '',
    errorCode: isUnstable ? ErrorCode.UNSTABLE_OFFSET_COMMIT : ErrorCode.NONE,
  }
}

export function areDifferentTopics(one: string, other: string): boolean {
  return one !== NO_TOPIC_ID && other !== NO_TOPIC_ID && one !== other
}

/** What the group has lost stays known when it reads on. */
function lostBefore(stored: StoredOffset | undefined, topicId: string): Pick<OffsetValue, 'lost'> {
  if (stored?.lost === undefined || areDifferentTopics(stored.topicId, topicId)) return {}
  return { lost: stored.lost }
}

export function offsetTombstone(groupId: string, topic: string, partition: number): GroupRecord {
  return { type: 'offset', groupId, topic, partition, value: null }
}

/** Applies an offset record. `producerId` is set when it was written within a transaction. */
export function replayOffset(
  group: Group,
  { topic, partition, value }: { topic: string; partition: number; value: OffsetValue | null },
  { offset, producerId }: { offset: number; producerId: number | null },
): void {
  if (value === null) {
    removeOffset(group.offsets, topic, partition)
    for (const [id, offsets] of group.transactions) {
      removeOffset(offsets, topic, partition)
      if (offsets.size === 0) group.transactions.delete(id)
    }
    return
  }
  const stored = { ...value, recordOffset: offset, anchor: anchorOf(group.offsets.get(topic)?.get(partition), value) }
  if (producerId === null) {
    putOffset(group.offsets, topic, partition, stored)
    return
  }
  const offsets = group.transactions.get(producerId) ?? new Map()
  group.transactions.set(producerId, offsets)
  putOffset(offsets, topic, partition, stored)
}

/** A transaction has ended: its offsets become visible, or go. */
export function replayTransactionEnd(group: Group, producerId: number, isCommit: boolean): void {
  const pending = group.transactions.get(producerId)
  assert(pending !== undefined, `no transaction of producer ${producerId} in ${group.groupId}`)
  group.transactions.delete(producerId)
  if (!isCommit) return
  for (const [topic, partitions] of pending) {
    for (const [partition, stored] of partitions) {
      // The order of the commits counts, not that of the marker: a plain commit may have come in between.
      const current = group.offsets.get(topic)?.get(partition)
      if (current === undefined || current.recordOffset < stored.recordOffset) {
        putOffset(group.offsets, topic, partition, stored)
      }
    }
  }
}
