import type { TopicPartition } from '../model/ids.ts'
import { METADATA_TOPIC } from '../model/ids.ts'
import { AlterPartitionReassignments } from '../protocol/apis/alter-partition-reassignments.ts'
import { DescribeQuorum, type DescribeQuorumResponse } from '../protocol/apis/describe-quorum.ts'
import {
  DescribeTopicPartitions,
  type DescribeTopicPartitionsResponse,
} from '../protocol/apis/describe-topic-partitions.ts'
import { ElectLeaders } from '../protocol/apis/elect-leaders.ts'
import { ListPartitionReassignments } from '../protocol/apis/list-partition-reassignments.ts'
import { RemoveRaftVoter } from '../protocol/apis/remove-raft-voter.ts'
import { UnregisterBroker } from '../protocol/apis/unregister-broker.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { AnyApi, RequestInput, ResponseOf } from '../protocol/schema.ts'
import { BrokerError } from '../rpc/errors.ts'
import { type Client, check, type Target } from './client.ts'
import { byTopic, PartitionMap } from './topic-partitions.ts'

type QuorumPartition = DescribeQuorumResponse['topics'][number]['partitions'][number]

export interface QuorumReplica {
  readonly nodeId: number
  readonly directoryId: string
  /** -1 when the leader does not know. */
  readonly endOffset: number
  /** Wall clock; -1: not known. */
  readonly lastFetchMs: number
  readonly lastCaughtUpMs: number
}

export interface QuorumDescription {
  readonly leaderId: number
  readonly leaderEpoch: number
  readonly highWatermark: number
  readonly voters: readonly (QuorumReplica & { readonly address: string | null })[]
  readonly observers: readonly QuorumReplica[]
}

/** A replica that is not in sync; only a Millrace leader tells. */
export interface LaggardDescription {
  readonly nodeId: number
  readonly sinceMs: number
  /** -1: never under its present leader. */
  readonly behindMs: number
  readonly behindRecords: number
  readonly isSilent: boolean
}

export interface PartitionState extends TopicPartition {
  readonly leader: number
  readonly leaderEpoch: number
  readonly replicas: readonly number[]
  readonly isr: readonly number[]
  readonly eligible: readonly number[]
  readonly lastEligible: readonly number[]
  readonly offline: readonly number[]
  readonly laggards: readonly LaggardDescription[]
}

export interface Reassignment extends TopicPartition {
  readonly replicas: readonly number[]
  readonly adding: readonly number[]
  readonly removing: readonly number[]
}

/** One partition's part of a call; null: done. */
export type PartitionResults = PartitionMap<BrokerError | null>

const DECISION_TIMEOUT_MS = 30_000
/** Of one answer; the server may give fewer. */
const PARTITIONS_PER_PAGE = 2000

/** Looks after the cluster itself: quorum, placement, leaders. Everything rejects with a `ClientError`. */
export class ClusterAdmin {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  async describeQuorum(): Promise<QuorumDescription> {
    return this.#client.retry('the quorum', async () => {
      const topics = [{ topicName: METADATA_TOPIC, partitions: [{ partitionIndex: 0 }] }]
      const response = await this.#client.request('any', DescribeQuorum, { topics })
      check(response.errorCode, 'the quorum', response.errorMessage)
      const partition = response.topics[0]?.partitions[0]
      if (partition === undefined) throw new BrokerError(ErrorCode.UNKNOWN_SERVER_ERROR, 'the quorum')
      check(partition.errorCode, 'the quorum', partition.errorMessage)
      return describedQuorum(partition, response.nodes)
    })
  }

  /** Of all topics when none is named. With `target` as that broker knows it: a leader tells more of its own partitions. */
  async partitions(topics: readonly string[] = [], target: Target = 'any'): Promise<PartitionState[]> {
    return this.#client.retry('the partitions', async () => {
      const found: PartitionState[] = []
      let cursor: DescribeTopicPartitionsResponse['nextCursor'] = null
      do {
        const response: DescribeTopicPartitionsResponse = await this.#client.request(target, DescribeTopicPartitions, {
          topics: topics.map((name) => ({ name })),
          responsePartitionLimit: PARTITIONS_PER_PAGE,
          cursor,
        })
        for (const topic of response.topics) {
          if (topics.length > 0) check(topic.errorCode, `topic ${topic.name}`)
          found.push(...topic.partitions.map((partition) => stateOf(topic.name ?? '', partition)))
        }
        cursor = response.nextCursor
      } while (cursor !== null)
      return found
    })
  }

  /** Under way now. */
  async reassignments(): Promise<Reassignment[]> {
    return this.#client.retry('the reassignments', async () => {
      const request = { timeoutMs: DECISION_TIMEOUT_MS, topics: null }
      const response = await this.#client.request('any', ListPartitionReassignments, request)
      check(response.errorCode, 'the reassignments', response.errorMessage)
      return response.topics.flatMap(({ name, partitions }) =>
        partitions.map(({ partitionIndex, replicas, addingReplicas, removingReplicas }) => {
          return {
            topic: name,
            partition: partitionIndex,
            replicas,
            adding: addingReplicas,
            removing: removingReplicas,
          }
        }),
      )
    })
  }

  /** Moves partitions to these replicas; null gives up a move that is under way. */
  async reassign(
    wanted: readonly (TopicPartition & { readonly replicas: readonly number[] | null })[],
  ): Promise<PartitionResults> {
    const topics = byTopic(wanted).map(([name, items]) => ({
      name,
      partitions: items.map(({ partition, replicas }) => ({ partitionIndex: partition, replicas })),
    }))
    const response = await this.#change(AlterPartitionReassignments, { timeoutMs: DECISION_TIMEOUT_MS, topics })
    check(response.errorCode, 'the reassignment', response.errorMessage)
    const results: PartitionResults = new PartitionMap()
    for (const { name: topic, partitions } of response.responses) {
      for (const { partitionIndex: partition, errorCode, errorMessage } of partitions) {
        results.set({ topic, partition }, errorOf(errorCode, `${topic}-${partition}`, errorMessage))
      }
    }
    return results
  }

  /** Null partitions: all. A partition that needed none has the error ELECTION_NOT_NEEDED, or is not in the answer. */
  async electLeaders(
    partitions: readonly TopicPartition[] | null,
    { unclean = false }: { readonly unclean?: boolean } = {},
  ): Promise<PartitionResults> {
    const topicPartitions =
      partitions?.length === 0
        ? []
        : partitions === null
          ? null
          : byTopic(partitions).map(([topic, items]) => ({
              topic,
              partitions: items.map(({ partition }) => partition),
            }))
    const body = { electionType: unclean ? 1 : 0, topicPartitions, timeoutMs: DECISION_TIMEOUT_MS }
    const response = await this.#change(ElectLeaders, body)
    check(response.errorCode, 'the election')
    const results: PartitionResults = new PartitionMap()
    for (const { topic, partitionResult } of response.replicaElectionResults) {
      for (const { partitionId: partition, errorCode, errorMessage } of partitionResult) {
        results.set({ topic, partition }, errorOf(errorCode, `${topic}-${partition}`, errorMessage))
      }
    }
    return results
  }

  async removeVoter({ nodeId, directoryId }: Pick<QuorumReplica, 'nodeId' | 'directoryId'>): Promise<void> {
    const body = { clusterId: null, voterId: nodeId, voterDirectoryId: directoryId }
    const { errorCode, errorMessage } = await this.#change(RemoveRaftVoter, body)
    check(errorCode, `removal of voter ${nodeId}`, errorMessage)
  }

  /** Takes out a broker that has stopped for good. */
  async unregisterBroker(brokerId: number): Promise<void> {
    const { errorCode, errorMessage } = await this.#change(UnregisterBroker, { brokerId })
    check(errorCode, `removal of node ${brokerId}`, errorMessage)
  }

  /** Connecting is tried again; the request is not. */
  async #change<A extends AnyApi>(api: A, body: RequestInput<A>): Promise<ResponseOf<A>> {
    const connection = await this.#client.retry(api.name, () => this.#client.connection('any'))
    return connection.request(api, body, { timeoutMs: DECISION_TIMEOUT_MS + this.#client.options.requestTimeoutMs })
  }
}

function describedQuorum(partition: QuorumPartition, nodes: DescribeQuorumResponse['nodes']): QuorumDescription {
  const { leaderId, leaderEpoch, highWatermark, currentVoters, observers } = partition
  const addressOf = (id: number) => {
    const listener = nodes.find(({ nodeId }) => nodeId === id)?.listeners[0]
    return listener === undefined ? null : `${listener.host}:${listener.port}`
  }
  const voters = currentVoters.map((voter) => ({ ...replicaOf(voter), address: addressOf(voter.replicaId) }))
  return { leaderId, leaderEpoch, highWatermark, voters, observers: observers.map(replicaOf) }
}

function replicaOf(replica: QuorumPartition['currentVoters'][number]): QuorumReplica {
  return {
    nodeId: replica.replicaId,
    directoryId: replica.replicaDirectoryId,
    endOffset: replica.logEndOffset,
    lastFetchMs: replica.lastFetchTimestamp,
    lastCaughtUpMs: replica.lastCaughtUpTimestamp,
  }
}

function stateOf(
  topic: string,
  partition: DescribeTopicPartitionsResponse['topics'][number]['partitions'][number],
): PartitionState {
  return {
    topic,
    partition: partition.partitionIndex,
    leader: partition.leaderId,
    leaderEpoch: partition.leaderEpoch,
    replicas: partition.replicaNodes,
    isr: partition.isrNodes,
    eligible: partition.eligibleLeaderReplicas ?? [],
    lastEligible: partition.lastKnownElr ?? [],
    offline: partition.offlineReplicas,
    laggards: partition.laggards,
  }
}

function errorOf(errorCode: number, what: string, message: string | null): BrokerError | null {
  return errorCode === ErrorCode.NONE ? null : new BrokerError(errorCode, what, { message })
}
