import { Random } from '../base/random.ts'
import type { Env } from '../env/env.ts'
import type { ReplicatedLog } from '../env/replicated-log.ts'
import { joinRefusal, syncRefusal } from '../group/answers.ts'
import { decodeRecord, encodeRecord } from '../group/record-codec.ts'
import { OutlookBook, type PartitionOutlook } from '../group/outlook-book.ts'
import type { Caller, GroupCall, GroupCalls, GroupRequest, GroupResponse } from '../group/requests.ts'
import { GroupShard } from '../group/shard.ts'
import type { GroupRecord } from '../group/records.ts'
import type { GroupStanding, SurveyedGroup } from '../group/standing.ts'
import type { GroupConfig } from '../group/types.ts'
import type { TopicId } from '../model/ids.ts'
import type { DeleteGroupsRequest, DeleteGroupsResponse } from '../protocol/apis/delete-groups.ts'
import type { DescribeGroups, DescribeGroupsRequest } from '../protocol/apis/describe-groups.ts'
import type { HeartbeatRequest, HeartbeatResponse } from '../protocol/apis/heartbeat.ts'
import type { JoinGroupRequest, JoinGroupResponse } from '../protocol/apis/join-group.ts'
import type { LeaveGroupRequest, LeaveGroupResponse } from '../protocol/apis/leave-group.ts'
import type { ListGroups, ListGroupsRequest } from '../protocol/apis/list-groups.ts'
import type { OffsetCommitRequest, OffsetCommitResponse } from '../protocol/apis/offset-commit.ts'
import type { OffsetDeleteRequest, OffsetDeleteResponse } from '../protocol/apis/offset-delete.ts'
import type { OffsetFetchRequest, OffsetFetchResponse } from '../protocol/apis/offset-fetch.ts'
import type { SyncGroupRequest, SyncGroupResponse } from '../protocol/apis/sync-group.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { ResponseInput } from '../protocol/schema.ts'
import { CoordinatorError } from './errors.ts'
import {
  currentTopics,
  FETCH_BATCH_VERSION,
  type FetchedGroup,
  type FetchGroup,
  fetchAnswerFor,
  fetchGroups,
  fetchRefusal,
  joinAnswerFor,
  joinTopics,
  leaveAnswerFor,
  leavingMembers,
  resolveCommit,
  resolveDelete,
  resolveFetch,
  type TopicLookup,
  withError,
} from './group-answers.ts'
import { partitionForKey } from './partition-for.ts'
import { CoordinatorRuntime, DEFAULT_RUNTIME_LIMITS, type RuntimeLimits } from './runtime.ts'

export interface GroupCoordinatorParts {
  readonly env: Env
  readonly config: GroupConfig
  readonly topics: TopicLookup
  /** Partitions of `__consumer_offsets`; null while the topic is not there. */
  partitionCount(): number | null
  /** What everybody may do with a group, as bits, for DescribeGroups when it is asked for. */
  readonly groupOperations: number
  readonly limits?: RuntimeLimits
  /**
   * Others may coordinate by now what this node believes to, as far as the controller tells: it has not been heard for a session.
   * Left out: never.
   */
  mayBeSucceeded?(): boolean
}

const NOBODY: Caller = { apiVersion: 0, clientId: '', clientHost: '' }

/**
 * The group coordinator of a node: answers the group APIs for the partitions of `__consumer_offsets` that it leads.
 * Every method takes the decoded request and returns the response; refusals are in it, and nothing is thrown.
 */
export class GroupCoordinator {
  readonly #parts: GroupCoordinatorParts
  readonly #runtime: CoordinatorRuntime<GroupRecord, GroupRequest, GroupResponse>
  /** Older than the shards: one that is loaded finds in it what was told before. */
  readonly #outlooks: OutlookBook
  #config: GroupConfig

  constructor(parts: GroupCoordinatorParts) {
    this.#parts = parts
    this.#config = parts.config
    const { topics } = parts
    this.#outlooks = new OutlookBook(
      ({ topic, topicId, partition }) => topics.idOf(topic) === topicId && partition < topics.partitionsOf(topic),
    )
    const kind = {
      name: 'groups',
      newShard: () => new GroupShard(this.#config, new Random(parts.env.randomBytes(4).readUInt32BE()), this.#outlooks),
      encode: encodeRecord,
      decode: decodeRecord,
    }
    this.#runtime = new CoordinatorRuntime(parts.env, kind, parts.limits ?? DEFAULT_RUNTIME_LIMITS)
  }

  onLead(partition: number, log: ReplicatedLog): void {
    this.#runtime.onLead(partition, log)
  }

  onResign(partition: number): void {
    this.#runtime.onResign(partition)
  }

  close(): void {
    this.#runtime.close()
  }

  set config(config: GroupConfig) {
    this.#config = config
    for (const shard of this.#runtime.activeShards()) (shard as GroupShard).config = config
  }

  /** Figures for the metrics of the node. */
  get groupCount(): number {
    let count = 0
    for (const shard of this.#runtime.activeShards()) count += (shard as GroupShard).groupCount
    return count
  }

  /** Of all groups here. */
  *survey(): Generator<SurveyedGroup> {
    for (const shard of this.#runtime.activeShards()) yield* (shard as GroupShard).survey()
  }

  /** Where groups stand, for figures: what is not committed yet shows too, so nothing is waited for. */
  standingsNow(groupIds: readonly string[]): GroupStanding[] {
    return [...this.#runtime.activeShards()].flatMap((shard) => (shard as GroupShard).standings(groupIds))
  }

  /** The partition of `__consumer_offsets` that keeps the group; null while there is no such topic. */
  partitionFor(groupId: string): number | null {
    const count = this.#parts.partitionCount()
    return count === null || count === 0 ? null : partitionForKey(groupId, count)
  }

  async joinGroup(request: JoinGroupRequest, caller: Caller): Promise<JoinGroupResponse> {
    const answer = await this.#ask('join', request.groupId, request, caller)
    const response = answer instanceof CoordinatorError ? joinRefusal(answer.code, request.memberId) : answer
    return joinAnswerFor(caller.apiVersion, response)
  }

  async syncGroup(request: SyncGroupRequest, caller: Caller): Promise<SyncGroupResponse> {
    const answer = await this.#ask('sync', request.groupId, request, caller)
    return answer instanceof CoordinatorError ? syncRefusal(answer.code) : answer
  }

  async heartbeat(request: HeartbeatRequest, caller: Caller): Promise<HeartbeatResponse> {
    const answer = await this.#ask('heartbeat', request.groupId, request, caller)
    if (!(answer instanceof CoordinatorError)) return answer
    // A member must not give up because its coordinator has just moved: nobody expires while it loads.
    const isLoading = answer.code === ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return { throttleTimeMs: 0, errorCode: isLoading ? ErrorCode.NONE : answer.code }
  }

  async leaveGroup(request: LeaveGroupRequest, caller: Caller): Promise<LeaveGroupResponse> {
    const answer = await this.#ask('leave', request.groupId, leavingMembers(caller.apiVersion, request), caller)
    const response =
      answer instanceof CoordinatorError ? { throttleTimeMs: 0, errorCode: answer.code, members: [] } : answer
    return leaveAnswerFor(caller.apiVersion, response)
  }

  async commitOffsets(request: OffsetCommitRequest, caller: Caller): Promise<OffsetCommitResponse> {
    const { known, unknown } = resolveCommit(caller.apiVersion, request.topics, this.#parts.topics)
    if (known.length === 0) return { throttleTimeMs: 0, topics: unknown }
    const answer = await this.#ask('commit-offsets', request.groupId, { ...request, topics: known }, caller)
    const topics =
      answer instanceof CoordinatorError
        ? known.map((topic) => ({ ...topic, partitions: withError(topic.partitions, answer.code) }))
        : answer.topics
    return { throttleTimeMs: 0, topics: joinTopics(topics, unknown) }
  }

  async fetchOffsets(request: OffsetFetchRequest, caller: Caller): Promise<OffsetFetchResponse> {
    const groups = fetchGroups(caller.apiVersion, request)
    const fetched = groups.map((group) => this.#fetchGroup(group, request.requireStable, caller))
    return fetchAnswerFor(caller.apiVersion, await Promise.all(fetched))
  }

  async #fetchGroup(group: FetchGroup, requireStable: boolean, caller: Caller): Promise<FetchedGroup> {
    const { apiVersion } = caller
    const { known, unknown } = resolveFetch(apiVersion, group, this.#parts.topics)
    const answer = await this.#ask('fetch-offsets', group.groupId, { ...known, requireStable }, caller)
    if (answer instanceof CoordinatorError) return fetchRefusal(apiVersion, group, answer.code)
    if (!(await this.#isCoordinator(group.groupId))) return fetchRefusal(apiVersion, group, ErrorCode.NOT_COORDINATOR)
    if (group.topics === null)
      return { ...answer, topics: currentTopics(answer.topics, apiVersion, this.#parts.topics) }
    return apiVersion >= FETCH_BATCH_VERSION ? { ...answer, topics: [...answer.topics, ...unknown] } : answer
  }

  /**
   * Nothing is written to answer, so nothing else shows that a later coordinator has taken commits (reliability H13). While the
   * controller is heard and followed, none can have; else those are asked who could be it.
   */
  async #isCoordinator(groupId: string): Promise<boolean> {
    if (this.#parts.mayBeSucceeded?.() !== true) return true
    const partition = this.partitionFor(groupId)
    return partition !== null && (await this.#runtime.isStillLed(partition))
  }

  async deleteOffsets(request: OffsetDeleteRequest, caller: Caller): Promise<OffsetDeleteResponse> {
    const { known, unknown } = resolveDelete(request.topics, this.#parts.topics)
    const answer = await this.#ask('delete-offsets', request.groupId, { ...request, topics: known }, caller)
    if (answer instanceof CoordinatorError) return { errorCode: answer.code, throttleTimeMs: 0, topics: [] }
    if (answer.errorCode !== ErrorCode.NONE) return answer
    return { ...answer, topics: joinTopics(answer.topics, unknown) }
  }

  /** The groups that this node coordinates. */
  async listGroups(request: ListGroupsRequest, caller: Caller): Promise<ResponseInput<typeof ListGroups>> {
    const asked = this.#runtime.partitions.map((partition) => this.#askPartition('list', partition, request, caller))
    const groups: GroupCalls['list']['answer'][number][] = []
    for (const answer of await Promise.all(asked)) {
      if (!(answer instanceof CoordinatorError)) for (const group of answer) groups.push(group)
      // The partition has just moved away: its new coordinator lists its groups.
      else if (answer.code !== ErrorCode.NOT_COORDINATOR)
        return { throttleTimeMs: 0, errorCode: answer.code, groups: [] }
    }
    return { throttleTimeMs: 0, errorCode: ErrorCode.NONE, groups }
  }

  async describeGroups(request: DescribeGroupsRequest, caller: Caller): Promise<ResponseInput<typeof DescribeGroups>> {
    const groups = await this.#askEach('describe', request.groups, caller, (groupId, errorCode) => ({
      errorCode,
      errorMessage: null,
      groupId,
      groupState: '',
      protocolType: '',
      protocolData: '',
      members: [],
      authorizedOperations: -0x80000000,
    }))
    if (!request.includeAuthorizedOperations) return { throttleTimeMs: 0, groups }
    const authorizedOperations = this.#parts.groupOperations
    return {
      throttleTimeMs: 0,
      groups: groups.map((group) => (group.errorCode === ErrorCode.NONE ? { ...group, authorizedOperations } : group)),
    }
  }

  async deleteGroups(request: DeleteGroupsRequest, caller: Caller): Promise<DeleteGroupsResponse> {
    const results = await this.#askEach(
      'delete-groups',
      [...new Set(request.groupsNames)],
      caller,
      (groupId, errorCode) => ({
        groupId,
        errorCode,
        errorMessage: null,
      }),
    )
    return { throttleTimeMs: 0, results }
  }

  /** Topics were deleted: their offsets are of no use any more. What cannot be written now, expiry will find. */
  async forgetTopics(topics: ReadonlyMap<string, TopicId>): Promise<void> {
    for (const [name, topicId] of topics) this.#outlooks.forget(name, topicId)
    const { partitions } = this.#runtime
    await Promise.all(partitions.map((partition) => this.#askPartition('forget-topics', partition, topics, NOBODY)))
  }

  /** What leaders say of what retention is about to delete, and has deleted. A shard that is not loaded yet finds it when it is. */
  async takeOutlooks(outlooks: readonly PartitionOutlook[]): Promise<void> {
    const changes = this.#outlooks.update(outlooks)
    if (changes.length === 0) return
    const { partitions } = this.#runtime
    await Promise.all(partitions.map((partition) => this.#askPartition('outlooks', partition, changes, NOBODY)))
  }

  /** Where groups stand that are coordinated here: those named, or all. */
  async standings(asked: GroupCalls['standings']['call']): Promise<GroupStanding[]> {
    const { groupIds } = asked
    const partitions = groupIds === null ? this.#runtime.partitions : groupIds.map((id) => this.partitionFor(id) ?? -1)
    const answers = await Promise.all(
      [...new Set(partitions)].map((partition) => this.#askPartition('standings', partition, asked, NOBODY)),
    )
    return answers.flatMap((answer) => (answer instanceof CoordinatorError ? [] : answer.standings))
  }

  async #ask<K extends GroupCall>(
    type: K,
    groupId: string,
    body: GroupCalls[K]['call'],
    caller: Caller,
  ): Promise<GroupCalls[K]['answer'] | CoordinatorError> {
    const partition = this.partitionFor(groupId)
    if (partition === null) return new CoordinatorError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return this.#askPartition(type, partition, body, caller)
  }

  async #askPartition<K extends GroupCall>(
    type: K,
    partition: number,
    body: GroupCalls[K]['call'],
    caller: Caller,
  ): Promise<GroupCalls[K]['answer'] | CoordinatorError> {
    try {
      // The pairs of a type and its body, and of a type and its answer, are what GroupCalls says.
      return (await this.#runtime.submit(partition, { type, caller, body } as GroupRequest)) as GroupCalls[K]['answer']
    } catch (error) {
      if (error instanceof CoordinatorError) return error
      throw error
    }
  }

  /** Asks every shard for its share of the groups. */
  async #askEach<K extends 'describe' | 'delete-groups'>(
    type: K,
    groupIds: readonly string[],
    caller: Caller,
    refusal: (groupId: string, errorCode: number) => GroupCalls[K]['answer'][number],
  ): Promise<GroupCalls[K]['answer'][number][]> {
    const byPartition = new Map<number | null, string[]>()
    for (const groupId of groupIds) {
      const partition = this.partitionFor(groupId)
      byPartition.set(partition, [...(byPartition.get(partition) ?? []), groupId])
    }
    const answers = await Promise.all(
      [...byPartition].map(async ([partition, ids]): Promise<readonly GroupCalls[K]['answer'][number][]> => {
        if (partition === null) return ids.map((id) => refusal(id, ErrorCode.COORDINATOR_NOT_AVAILABLE))
        const answer = await this.#askPartition(type, partition, ids as GroupCalls[K]['call'], caller)
        return answer instanceof CoordinatorError ? ids.map((id) => refusal(id, answer.code)) : answer
      }),
    )
    return answers.flat()
  }

  /** The state of everything, for people. */
  dump(): string {
    return this.#runtime.dump()
  }
}
