import { METADATA_TOPIC } from '../model/ids.ts'
import type { DescribeQuorumRequest, DescribeQuorumResponse } from '../protocol/apis/describe-quorum.ts'
import { ErrorCode, errorMessage } from '../protocol/errors.ts'
import type { Voter } from './control-records.ts'

/** What DescribeQuorum tells of a log with a single voter, which leads it and has all of it. */
export interface QuorumFacts {
  readonly epoch: number
  readonly committedOffset: number
  readonly endOffset: number
  readonly voterSet: { readonly voters: readonly Voter[] }
}

export function describeQuorum(
  facts: QuorumFacts,
  leaderId: number,
  wallMs: number,
  request: DescribeQuorumRequest,
): DescribeQuorumResponse {
  const { epoch, committedOffset, endOffset, voterSet } = facts
  const topics = request.topics.map(({ topicName, partitions }) => ({
    topicName,
    partitions: partitions.map(({ partitionIndex }) => {
      if (topicName !== METADATA_TOPIC || partitionIndex !== 0) return unknown(partitionIndex)
      const currentVoters = voterSet.voters.map(({ voterId, voterDirectoryId }) => ({
        replicaId: voterId,
        replicaDirectoryId: voterDirectoryId,
        logEndOffset: endOffset,
        lastFetchTimestamp: wallMs,
        lastCaughtUpTimestamp: wallMs,
      }))
      return {
        partitionIndex,
        errorCode: ErrorCode.NONE,
        errorMessage: null,
        leaderId,
        leaderEpoch: epoch,
        highWatermark: committedOffset,
        currentVoters,
        observers: [],
      }
    }),
  }))
  const nodes = voterSet.voters.map(({ voterId, endpoints }) => ({ nodeId: voterId, listeners: endpoints }))
  return { errorCode: ErrorCode.NONE, errorMessage: null, topics, nodes }
}

function unknown(partitionIndex: number) {
  return {
    partitionIndex,
    errorCode: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    errorMessage: errorMessage(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    leaderId: -1,
    leaderEpoch: 0,
    highWatermark: -1,
    currentVoters: [],
    observers: [],
  }
}
