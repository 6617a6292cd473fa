import type { BeginQuorumEpochRequest } from '../protocol/apis/begin-quorum-epoch.ts'
import type { EndQuorumEpochRequest } from '../protocol/apis/end-quorum-epoch.ts'
import type { FetchSnapshotRequest } from '../protocol/apis/fetch-snapshot.ts'
import type { FetchRequest } from '../protocol/apis/fetch.ts'
import type { VoteRequest } from '../protocol/apis/vote.ts'
import { METADATA_TOPIC, METADATA_TOPIC_ID, NO_TOPIC_ID } from '../model/ids.ts'
import type { Endpoint, LogPosition, ReplicaKey } from './types.ts'

/** Requests of the quorum: each is about one partition, `__cluster_metadata-0`. */

export function voteRequest(fields: {
  readonly clusterId: string
  readonly epoch: number
  readonly candidate: ReplicaKey
  readonly voter: ReplicaKey
  readonly log: LogPosition
  readonly preVote: boolean
}): VoteRequest {
  const { clusterId, epoch, candidate, voter, log, preVote } = fields
  const partition = {
    partitionIndex: 0,
    replicaEpoch: epoch,
    replicaId: candidate.id,
    replicaDirectoryId: candidate.directoryId,
    voterDirectoryId: voter.directoryId,
    lastOffsetEpoch: log.epoch,
    lastOffset: log.offset,
    preVote,
  }
  return { clusterId, voterId: voter.id, topics: [{ topicName: METADATA_TOPIC, partitions: [partition] }] }
}

export function beginQuorumEpochRequest(fields: {
  readonly clusterId: string
  readonly epoch: number
  readonly leaderId: number
  readonly voter: ReplicaKey
  readonly endpoints: readonly Endpoint[]
}): BeginQuorumEpochRequest {
  const { clusterId, epoch, leaderId, voter, endpoints } = fields
  const partition = { partitionIndex: 0, voterDirectoryId: voter.directoryId, leaderId, leaderEpoch: epoch }
  return {
    clusterId,
    voterId: voter.id,
    topics: [{ topicName: METADATA_TOPIC, partitions: [partition] }],
    leaderEndpoints: endpoints,
  }
}

export function endQuorumEpochRequest(fields: {
  readonly clusterId: string
  readonly epoch: number
  readonly leaderId: number
  readonly successors: readonly ReplicaKey[]
  readonly endpoints: readonly Endpoint[]
}): EndQuorumEpochRequest {
  const { clusterId, epoch, leaderId, successors, endpoints } = fields
  const partition = {
    partitionIndex: 0,
    leaderId,
    leaderEpoch: epoch,
    preferredSuccessors: successors.map(({ id }) => id),
    preferredCandidates: successors.map((key) => ({ candidateId: key.id, candidateDirectoryId: key.directoryId })),
  }
  return {
    clusterId,
    topics: [{ topicName: METADATA_TOPIC, partitions: [partition] }],
    leaderEndpoints: endpoints,
  }
}

export function fetchRequest(fields: {
  readonly clusterId: string
  readonly epoch: number
  readonly self: ReplicaKey
  readonly log: LogPosition
  readonly logStartOffset: number
  readonly highWatermark: number
  readonly maxBytes: number
  readonly maxWaitMs: number
}): FetchRequest {
  const { clusterId, epoch, self, log, logStartOffset, highWatermark, maxBytes, maxWaitMs } = fields
  const partition = {
    partition: 0,
    currentLeaderEpoch: epoch,
    fetchOffset: log.offset,
    lastFetchedEpoch: log.epoch,
    logStartOffset,
    partitionMaxBytes: maxBytes,
    replicaDirectoryId: self.directoryId,
    highWatermark,
    durableOffset: -1,
    writtenOffset: -1,
  }
  return {
    clusterId,
    // The older field, which the versions in use do not have.
    replicaId: -1,
    replicaState: { replicaId: self.id, replicaEpoch: -1 },
    maxWaitMs,
    minBytes: 0,
    maxBytes,
    isolationLevel: 0,
    sessionId: 0,
    sessionEpoch: -1,
    topics: [{ topic: METADATA_TOPIC, topicId: METADATA_TOPIC_ID, partitions: [partition] }],
    forgottenTopicsData: [],
    rackId: '',
    wake: { sessionId: 0, sessionEpoch: 0 },
  }
}

export function fetchSnapshotRequest(fields: {
  readonly clusterId: string
  readonly epoch: number
  readonly self: ReplicaKey
  readonly id: LogPosition
  readonly position: number
  readonly maxBytes: number
}): FetchSnapshotRequest {
  const { clusterId, epoch, self, id, position, maxBytes } = fields
  const partition = {
    partition: 0,
    currentLeaderEpoch: epoch,
    snapshotId: { endOffset: id.offset, epoch: id.epoch },
    position,
    replicaDirectoryId: self.directoryId,
  }
  return { clusterId, replicaId: self.id, maxBytes, topics: [{ name: METADATA_TOPIC, partitions: [partition] }] }
}

interface NamedTopic<P> {
  readonly topicName: string
  readonly partitions: readonly P[]
}

/** The only partition of a request or answer; null when it is not about the metadata log, or about more. */
export function onlyPartition<P extends { readonly partitionIndex: number }>(
  topics: readonly NamedTopic<P>[],
): P | null {
  const [topic, ...others] = topics
  const [partition, ...more] = topic?.partitions ?? []
  if (topic?.topicName !== METADATA_TOPIC || others.length > 0 || more.length > 0) return null
  return partition?.partitionIndex === 0 ? partition : null
}

/** The same for Fetch, whose topics have a name or an id. */
export function onlyFetched<P>(
  topics: readonly { readonly topic: string; readonly topicId: string; readonly partitions: readonly P[] }[],
  indexOf: (partition: P) => number,
): P | null {
  const [topic, ...others] = topics
  const [partition, ...more] = topic?.partitions ?? []
  if (topic === undefined || partition === undefined || others.length > 0 || more.length > 0) return null
  const isOurs =
    topic.topicId === METADATA_TOPIC_ID || (topic.topicId === NO_TOPIC_ID && topic.topic === METADATA_TOPIC)
  return isOurs && indexOf(partition) === 0 ? partition : null
}

/** The same for FetchSnapshot. */
export function onlySnapshot<P>(
  topics: readonly { readonly name: string; readonly partitions: readonly P[] }[],
  indexOf: (partition: P) => number,
): P | null {
  const [topic, ...others] = topics
  const [partition, ...more] = topic?.partitions ?? []
  if (topic?.name !== METADATA_TOPIC || partition === undefined || others.length > 0 || more.length > 0) return null
  return indexOf(partition) === 0 ? partition : null
}
