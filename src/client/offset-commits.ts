import type { TopicId, TopicPartition } from '../model/ids.ts'
import { NO_TOPIC_ID } from '../model/ids.ts'
import { OffsetCommit } from '../protocol/apis/offset-commit.ts'
import { OffsetFetch } from '../protocol/apis/offset-fetch.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { Client } from './client.ts'
import { RebalancedError } from './errors.ts'
import { BrokerError, ClientError } from '../rpc/errors.ts'
import type { GroupCoordinatorLink } from './group-coordinator-link.ts'
import { byTopic, PartitionMap } from './topic-partitions.ts'

export interface CommittedOffset {
  readonly offset: number
  /** Of the record before; -1 when it was not told. */
  readonly leaderEpoch: number
  readonly metadata: string
}

export interface OffsetToCommit extends TopicPartition {
  /** Of the next record to read. */
  readonly offset: number
  readonly leaderEpoch?: number
  readonly metadata?: string
}

/** As whom offsets are committed; without a member for a consumer that assigns itself, or a tool. */
export interface Committer {
  readonly memberId: string
  readonly generation: number
  readonly groupInstanceId: string | null
}

export const NOBODY: Committer = { memberId: '', generation: -1, groupInstanceId: null }

/** Topics are named by id from this version of both APIs on; here names will do. */
const BY_NAME_VERSION = 9
/** OffsetFetch for several groups. */
const GROUPS_VERSION = 8
const STABLE_VERSION = 7

/** Commits offsets of a group, trying again while its coordinator moves. Rejects with a `ClientError`. */
export async function commitOffsets(
  client: Client,
  link: GroupCoordinatorLink,
  offsets: readonly OffsetToCommit[],
  { committer = NOBODY, timeoutMs }: { committer?: Committer; timeoutMs?: number | undefined } = {},
): Promise<void> {
  if (offsets.length === 0) return
  const topics = byTopic(offsets).map(([name, partitions]) => ({
    name,
    partitions: partitions.map(({ partition, offset, leaderEpoch = -1, metadata = '' }) => ({
      partitionIndex: partition,
      committedOffset: offset,
      committedLeaderEpoch: leaderEpoch,
      committedMetadata: metadata,
    })),
  }))
  await retryWith(client, link, 'OffsetCommit', timeoutMs, async () => {
    const response = await link.request(
      OffsetCommit,
      (version) => ({
        groupId: link.groupId,
        generationIdOrMemberEpoch: committer.generation,
        memberId: committer.memberId,
        ...(version >= 7 ? { groupInstanceId: committer.groupInstanceId } : {}),
        topics,
      }),
      { lane: 'group', versions: [OffsetCommit.versions[0], BY_NAME_VERSION] },
    )
    for (const { name, partitions } of response.topics) {
      for (const { partitionIndex, errorCode } of partitions) checkCommit(errorCode, `${name}-${partitionIndex}`, link)
    }
  })
}

const REBALANCED: readonly number[] = [
  ErrorCode.ILLEGAL_GENERATION,
  ErrorCode.UNKNOWN_MEMBER_ID,
  ErrorCode.REBALANCE_IN_PROGRESS,
  ErrorCode.FENCED_INSTANCE_ID,
]

function checkCommit(errorCode: number, partition: string, { groupId }: GroupCoordinatorLink): void {
  if (errorCode === ErrorCode.NONE) return
  const error = new BrokerError(errorCode, `commit of ${partition} for group ${groupId}`)
  if (REBALANCED.includes(errorCode)) throw new RebalancedError(error.message, { cause: error })
  throw error
}

/** What a group has committed; partitions without a commit are missing. Null `partitions`: all. */
export async function fetchOffsets(
  client: Client,
  link: GroupCoordinatorLink,
  partitions: readonly TopicPartition[] | null,
  { requireStable = false, timeoutMs }: { requireStable?: boolean; timeoutMs?: number | undefined } = {},
): Promise<PartitionMap<CommittedOffset>> {
  const topics =
    partitions &&
    byTopic(partitions).map(([name, items]) => ({ name, partitionIndexes: items.map(({ partition }) => partition) }))
  const committed = new PartitionMap<CommittedOffset>()
  await retryWith(client, link, 'OffsetFetch', timeoutMs, async () => {
    const response = await link.request(
      OffsetFetch,
      (version) => ({
        ...(version >= GROUPS_VERSION
          ? { groups: [{ groupId: link.groupId, topics: topics && topics.map(withoutId) }] }
          : { groupId: link.groupId, topics }),
        ...(version >= STABLE_VERSION ? { requireStable } : {}),
      }),
      { lane: 'group', versions: [OffsetFetch.versions[0], BY_NAME_VERSION] },
    )
    const group = response.groups[0] ?? response
    if (group.errorCode !== ErrorCode.NONE) throw new BrokerError(group.errorCode, `offsets of group ${link.groupId}`)
    for (const { name, partitions: found } of group.topics) {
      for (const { partitionIndex, errorCode, committedOffset, committedLeaderEpoch, metadata } of found) {
        if (errorCode !== ErrorCode.NONE) throw new BrokerError(errorCode, `offset of ${name}-${partitionIndex}`)
        if (committedOffset < 0) continue
        const value = { offset: committedOffset, leaderEpoch: committedLeaderEpoch, metadata: metadata ?? '' }
        committed.set({ topic: name, partition: partitionIndex }, value)
      }
    }
  })
  return committed
}

function withoutId(topic: { name: string; partitionIndexes: number[] }) {
  return { ...topic, topicId: NO_TOPIC_ID as TopicId }
}

/** Tries again while the coordinator moves or loads. */
export function retryWith<T>(
  client: Client,
  link: GroupCoordinatorLink,
  what: string,
  timeoutMs: number | undefined,
  attempt: () => Promise<T>,
): Promise<T> {
  return client.retry(
    `${what} for group ${link.groupId}`,
    async () => {
      try {
        return await attempt()
      } catch (error) {
        if (error instanceof ClientError) link.forget(error)
        throw error
      }
    },
    timeoutMs,
  )
}
