import type { TopicPartition } from '../model/ids.ts'
import { DeleteGroups } from '../protocol/apis/delete-groups.ts'
import { DescribeGroups, type DescribeGroupsResponse, LAG_TRENDS } from '../protocol/apis/describe-groups.ts'
import { LeaveGroup } from '../protocol/apis/leave-group.ts'
import { ListGroups, type ListGroupsResponse } from '../protocol/apis/list-groups.ts'
import { OffsetDelete } from '../protocol/apis/offset-delete.ts'
import { decodeMessage } from '../protocol/message-codec.ts'
import { ConsumerProtocolAssignment } from '../protocol/messages/consumer-protocol.ts'
import { MalformedError } from '../base/bytes.ts'
import { type Client, check } from './client.ts'
import { BrokerError } from '../rpc/errors.ts'
import { GroupCoordinatorLink } from './group-coordinator-link.ts'
import { type CommittedOffset, commitOffsets, fetchOffsets, type OffsetToCommit, retryWith } from './offset-commits.ts'
import { byTopic, PartitionMap } from './topic-partitions.ts'
import { ErrorCode } from '../protocol/errors.ts'

export interface ListedGroup {
  readonly groupId: string
  readonly protocolType: string
  /** `Stable`, `Empty`, …; empty when the server does not say. */
  readonly state: string
  /** `Classic`, `Consumer`, …; empty when the server does not say. */
  readonly type: string
  /** Where that was asked for, and the broker knows it. */
  readonly risk: GroupRisk | null
}

/** What retention is about to delete that a group has not read, or has deleted. */
export interface GroupRisk {
  /** In which there are such records. */
  readonly partitions: number
  readonly records: number
  /** Until the first of them goes; null: none is about to. */
  readonly leftMs: number | null
  readonly lostRecords: number
}

export interface MemberDescription {
  readonly memberId: string
  readonly groupInstanceId: string | null
  readonly clientId: string
  readonly clientHost: string
  /** Null when it is not in the format of consumers. */
  readonly assignment: readonly TopicPartition[] | null
}

export interface GroupDescription {
  readonly groupId: string
  /** `Dead` when there is no such group. */
  readonly state: string
  readonly protocolType: string
  /** The assignor that the group chose. */
  readonly protocol: string
  readonly members: readonly MemberDescription[]
  /** Where that was asked for, and the broker knows it: for each offset that the group has. */
  readonly lag: readonly BrokerLag[] | null
  /** Offsets that were deleted before the group had read them, as far as its coordinator knows. */
  readonly lost: readonly LostRecords[]
}

/** Where a group stands, as its coordinator and the leader of the partition know it: see docs/lag.md. */
export interface BrokerLag extends TopicPartition {
  readonly committed: number
  readonly startOffset: number
  readonly endOffset: number
  readonly lag: number
  /** How old the oldest record is that the group has not read; 0: there is none. */
  readonly lagMs: number
  readonly trend: (typeof LAG_TRENDS)[number]
  readonly caughtUpInMs: number | null
  /** How long retention leaves that record; null: for ever, or there is none. */
  readonly leftMs: number | null
  readonly isAtRisk: boolean
}

export interface LostRecords extends TopicPartition {
  readonly from: number
  /** One past the last. */
  readonly to: number
  readonly atMs: number
}

/** Looks after groups and their offsets. Rejects with a `ClientError`. */
export class GroupAdmin {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /** Of all brokers. `onlyAtRisk`: those that retention takes something from; a broker that does not know that lists all. */
  async list({ states = [] as readonly string[], onlyAtRisk = false } = {}): Promise<ListedGroup[]> {
    return this.#client.retry('list of groups', async () => {
      await this.#client.refresh()
      const nodes = [...this.#client.view.brokers.keys()]
      const answers = await Promise.all(
        nodes.map((nodeId) =>
          this.#client.request(nodeId, ListGroups, (version) => ({
            ...(version >= 4 ? { statesFilter: states } : {}),
            ...(version >= 3 ? { onlyAtRisk } : {}),
          })),
        ),
      )
      const groups = new Map<string, ListedGroup>()
      for (const { errorCode, groups: listed } of answers) {
        check(errorCode, 'list of groups')
        for (const { groupId, protocolType, groupState: state, groupType: type, risk } of listed) {
          groups.set(groupId, { groupId, protocolType, state, type, risk: riskOf(risk) })
        }
      }
      return [...groups.values()]
    })
  }

  describe(groupIds: readonly string[], { lag = false } = {}): Promise<GroupDescription[]> {
    return Promise.all(groupIds.map((groupId) => this.#describe(groupId, lag)))
  }

  async #describe(groupId: string, includeLag: boolean): Promise<GroupDescription> {
    const link = new GroupCoordinatorLink(this.#client, groupId)
    return retryWith(this.#client, link, 'DescribeGroups', undefined, async () => {
      const request = (version: number) => ({ groups: [groupId], ...(version >= 5 ? { includeLag } : {}) })
      const response = await link.request(DescribeGroups, request, { lane: 'group' })
      const [group] = response.groups
      if (group === undefined) throw new BrokerError(ErrorCode.UNKNOWN_SERVER_ERROR, `group ${groupId}`)
      if (group.errorCode !== ErrorCode.GROUP_ID_NOT_FOUND)
        check(group.errorCode, `group ${groupId}`, group.errorMessage)
      return descriptionOf(group)
    })
  }

  /** Groups must have no members. */
  async delete(groupIds: readonly string[]): Promise<{ groupId: string; error: BrokerError | null }[]> {
    return Promise.all(
      groupIds.map(async (groupId) => {
        const link = new GroupCoordinatorLink(this.#client, groupId)
        const response = await link.request(DeleteGroups, { groupsNames: [groupId] }, { lane: 'group' })
        const [result] = response.results
        const code = result?.errorCode ?? ErrorCode.UNKNOWN_SERVER_ERROR
        const message = result?.errorMessage ?? null
        return {
          groupId,
          error: code === ErrorCode.NONE ? null : new BrokerError(code, `group ${groupId}`, { message }),
        }
      }),
    )
  }

  /** Null: all that the group has. Partitions without a commit are missing in the answer. */
  offsets(
    groupId: string,
    partitions: readonly TopicPartition[] | null = null,
  ): Promise<PartitionMap<CommittedOffset>> {
    return fetchOffsets(this.#client, new GroupCoordinatorLink(this.#client, groupId), partitions)
  }

  /** Sets offsets; the group must have no members. */
  commitOffsets(groupId: string, offsets: readonly OffsetToCommit[]): Promise<void> {
    return commitOffsets(this.#client, new GroupCoordinatorLink(this.#client, groupId), offsets)
  }

  /** Forgets offsets of topics that no member reads. */
  async deleteOffsets(
    groupId: string,
    partitions: readonly TopicPartition[],
  ): Promise<PartitionMap<BrokerError | null>> {
    const link = new GroupCoordinatorLink(this.#client, groupId)
    const topics = byTopic(partitions).map(([name, items]) => ({
      name,
      partitions: items.map(({ partition }) => ({ partitionIndex: partition })),
    }))
    const response = await link.request(OffsetDelete, { groupId, topics }, { lane: 'group' })
    check(response.errorCode, `offsets of group ${groupId}`)
    const results = new PartitionMap<BrokerError | null>()
    for (const { name, partitions: items } of response.topics) {
      for (const { partitionIndex, errorCode } of items) {
        const what = `offset of ${name}-${partitionIndex}`
        const error = errorCode === ErrorCode.NONE ? null : new BrokerError(errorCode, what)
        results.set({ topic: name, partition: partitionIndex }, error)
      }
    }
    return results
  }

  /** Takes static members out of the group by their names. */
  async removeMembers(groupId: string, groupInstanceIds: readonly string[]): Promise<void> {
    const link = new GroupCoordinatorLink(this.#client, groupId)
    const members = groupInstanceIds.map((groupInstanceId) => ({ memberId: '', groupInstanceId }))
    const response = await link.request(LeaveGroup, { groupId, members }, { lane: 'group', versions: [3, 5] })
    check(response.errorCode, `members of group ${groupId}`)
    for (const { groupInstanceId, errorCode } of response.members) check(errorCode, `member ${groupInstanceId}`)
  }
}

function descriptionOf(group: DescribeGroupsResponse['groups'][number]): GroupDescription {
  return {
    groupId: group.groupId,
    state: group.groupState,
    protocolType: group.protocolType,
    protocol: group.protocolData,
    members: group.members.map(({ memberId, groupInstanceId, clientId, clientHost, memberAssignment }) => ({
      memberId,
      groupInstanceId,
      clientId,
      clientHost,
      assignment: group.protocolType === 'consumer' ? assignmentOf(memberAssignment) : null,
    })),
    lag: group.lag?.flatMap(lagOf) ?? null,
    lost: group.lost.map(({ topic, partition, from, to, atMs }) => ({ topic, partition, from, to, atMs })),
  }
}

type WireLag = NonNullable<DescribeGroupsResponse['groups'][number]['lag']>[number]

/** Nothing where the leader of the partition has not answered. */
function lagOf({ committedOffset: committed, trend, caughtUpInMs, leftMs, ...rest }: WireLag): BrokerLag[] {
  if (rest.startOffset < 0) return []
  const known = { trend: LAG_TRENDS[trend] ?? 'unknown', caughtUpInMs: orNull(caughtUpInMs), leftMs: orNull(leftMs) }
  return [{ ...rest, ...known, committed }]
}

function riskOf({ partitions, records, leftMs, lostRecords }: ListGroupsResponse['groups'][number]['risk']) {
  return partitions < 0 ? null : { partitions, records, leftMs: orNull(leftMs), lostRecords }
}

function orNull(value: number): number | null {
  return value < 0 ? null : value
}

function assignmentOf(bytes: Buffer): TopicPartition[] | null {
  if (bytes.length === 0) return []
  try {
    const { value } = decodeMessage(ConsumerProtocolAssignment, bytes)
    return value.assignedPartitions.flatMap(({ topic, partitions }) =>
      partitions.map((partition) => ({ topic, partition })),
    )
  } catch (error) {
    if (error instanceof MalformedError) return null
    throw error
  }
}
