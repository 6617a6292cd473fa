import { METADATA_TOPIC } from '../model/ids.ts'
import type { DescribeQuorumRequest, DescribeQuorumResponse } from '../protocol/apis/describe-quorum.ts'
import { ErrorCode, errorMessage } from '../protocol/errors.ts'
import type { Progress } from '../raft/leader-state.ts'
import type { RaftFacts } from '../raft/raft.ts'
import type { ReplicaKey } from '../raft/types.ts'

export interface QuorumFacts {
  readonly raft: RaftFacts
  readonly self: ReplicaKey
  readonly endOffset: number
  /** Now, by both clocks. */
  readonly wallMs: number
  readonly monotonicMs: number
}

type Partition = DescribeQuorumResponse['topics'][number]['partitions'][number]
type Replica = Partition['currentVoters'][number]

/** Only the leader knows how far the others are: anyone else says so, and whoever asked goes there. */
export function describeQuorum(facts: QuorumFacts, request: DescribeQuorumRequest): DescribeQuorumResponse {
  // Kafka answers to this one question only, and refuses everything where more is asked.
  const isOurs = asksForMetadata(request)
  const topics = request.topics.map(({ topicName, partitions }) => ({
    topicName,
    partitions: partitions.map(({ partitionIndex }) => {
      if (!isOurs) return refused(partitionIndex, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
      if (facts.raft.role !== 'leader') return refused(partitionIndex, ErrorCode.NOT_LEADER_OR_FOLLOWER)
      return described(facts)
    }),
  }))
  const nodes = facts.raft.voters.voters.map(({ voterId, endpoints }) => ({ nodeId: voterId, listeners: endpoints }))
  return { errorCode: ErrorCode.NONE, errorMessage: null, topics, nodes: isOurs ? nodes : [] }
}

function asksForMetadata({ topics }: DescribeQuorumRequest): boolean {
  const [topic] = topics
  if (topics.length !== 1 || topic?.partitions.length !== 1) return false
  return topic.topicName === METADATA_TOPIC && topic.partitions[0]?.partitionIndex === 0
}

function described(facts: QuorumFacts): Partition {
  const { raft, self, endOffset, wallMs } = facts
  const leader: Replica = {
    replicaId: self.id,
    replicaDirectoryId: self.directoryId,
    logEndOffset: endOffset,
    lastFetchTimestamp: wallMs,
    lastCaughtUpTimestamp: wallMs,
  }
  const voters = raft.voterProgress.map((progress) => replicaOf(progress, facts))
  return {
    partitionIndex: 0,
    errorCode: ErrorCode.NONE,
    errorMessage: null,
    leaderId: self.id,
    leaderEpoch: raft.epoch,
    highWatermark: raft.highWatermark,
    currentVoters: raft.voters.has(self) ? [leader, ...voters] : voters,
    observers: raft.observerProgress.map((progress) => replicaOf(progress, facts)),
  }
}

function replicaOf({ key, endOffset, lastFetchMs, lastCaughtUpMs }: Progress, { wallMs, monotonicMs }: QuorumFacts) {
  const wallOf = (ms: number) => (Number.isFinite(ms) ? Math.round(wallMs - (monotonicMs - ms)) : -1)
  return {
    replicaId: key.id,
    replicaDirectoryId: key.directoryId,
    logEndOffset: endOffset,
    lastFetchTimestamp: wallOf(lastFetchMs),
    lastCaughtUpTimestamp: wallOf(lastCaughtUpMs),
  }
}

function refused(partitionIndex: number, errorCode: number): Partition {
  return {
    partitionIndex,
    errorCode,
    errorMessage: errorMessage(errorCode),
    leaderId: 0,
    leaderEpoch: 0,
    highWatermark: -1,
    currentVoters: [],
    observers: [],
  }
}
