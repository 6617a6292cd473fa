import { OffsetCommit } from '../../protocol/apis/offset-commit.ts'
import { OffsetFetch } from '../../protocol/apis/offset-fetch.ts'
import { ErrorCode } from '../../protocol/errors.ts'
import type { Commit, History } from '../history/history.ts'
import type { ClusterClient } from './cluster-client.ts'
import { unexpected } from './fetching.ts'

/** Who asks a coordinator for what. */
export interface Membership {
  readonly group: string
  /** The member's name in the history, and the id it has from the coordinator. */
  readonly name: string
  readonly memberId: string
  readonly generation: number
  readonly topic: string
}

/** Now and then a client gives up while its request is still on its way. */
const COMMIT_TIMEOUTS_MS = [50, 500, 30_000]

/**
 * Sends one OffsetCommit and records it. Returns an error code where one partition had one, else 0; `no answer` where it
 * may still take effect, `not sent` where it cannot.
 */
export async function commitOffsets(
  client: ClusterClient,
  history: History,
  { group, name: member, memberId, generation, topic }: Membership,
  offsets: ReadonlyMap<number, number>,
): Promise<number | 'no answer' | 'not sent'> {
  const { topicId } = await client.topic(topic)
  const commits = new Map<number, Commit>()
  for (const [partition, offset] of offsets) {
    commits.set(partition, history.commit({ group, member, generation, partition: `${topic}-${partition}`, offset }))
  }
  const partitions = [...offsets].map(([partitionIndex, committedOffset]) => {
    return { partitionIndex, committedOffset, committedMetadata: null }
  })
  const body = {
    groupId: group,
    generationIdOrMemberEpoch: generation,
    memberId,
    topics: [{ name: topic, topicId, partitions }],
  }
  let sent = false
  const answer = await client.tolerate(async () => {
    const wire = await client.coordinatorOf(group)
    if (wire === null) return null
    sent = true
    return wire.request(OffsetCommit, body, { timeoutMs: client.random.pick(COMMIT_TIMEOUTS_MS) })
  })
  if (answer === null) {
    for (const commit of commits.values()) history.committed(commit, sent ? 'unknown' : 'refused')
    return sent ? 'no answer' : 'not sent'
  }
  let worst = 0
  for (const { partitionIndex, errorCode } of answer.topics[0]?.partitions ?? []) {
    const commit = commits.get(partitionIndex)
    if (commit === undefined) throw new Error(`an answer for partition ${partitionIndex}, which was not committed`)
    history.committed(commit, outcomeOf(errorCode))
    if (errorCode !== 0) worst = errorCode
  }
  return worst
}

/** Refused for certain, or perhaps appended before the error. */
function outcomeOf(errorCode: number): Exclude<Commit['outcome'], 'pending'> {
  if (errorCode === 0) return 'acked'
  const definite: number[] = [
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
  ]
  return definite.includes(errorCode) ? 'refused' : 'unknown'
}

/**
 * The group's offsets, recorded; null where there is none. Returns the group's error code where it has one, `again` where
 * the question has to be repeated.
 */
export async function fetchOffsets(
  client: ClusterClient,
  history: History,
  { group, topic }: Pick<Membership, 'group' | 'topic'>,
  partitions: readonly number[],
): Promise<Map<number, number | null> | number | 'again'> {
  const { topicId } = await client.topic(topic)
  const invoked = history.moment()
  const answer = await client.tolerate(async () => {
    const wire = await client.coordinatorOf(group)
    if (wire === null) return null
    const groups = [{ groupId: group, topics: [{ name: topic, topicId, partitionIndexes: partitions }] }]
    return wire.request(OffsetFetch, { groups, requireStable: true }, { fromVersion: 8 })
  })
  if (answer === null) return 'again'
  const found = answer.groups[0]
  if (found === undefined) throw new Error('OffsetFetch without the group')
  if (found.errorCode !== 0) return found.errorCode
  const offsets = new Map<number, number | null>()
  for (const { partitionIndex, committedOffset, errorCode } of found.topics[0]?.partitions ?? []) {
    if (errorCode === ErrorCode.UNSTABLE_OFFSET_COMMIT) return 'again'
    if (errorCode !== 0) throw unexpected('OffsetFetch', errorCode)
    const offset = committedOffset < 0 ? null : committedOffset
    offsets.set(partitionIndex, offset)
    const partition = `${topic}-${partitionIndex}`
    history.offsetAnswers.push({ group, partition, offset, invoked, completed: history.moment() })
  }
  return offsets
}
