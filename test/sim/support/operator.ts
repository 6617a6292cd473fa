import { NO_TOPIC_ID } from '../../../src/model/ids.ts'
import { ResourceType } from '../../../src/metadata/records.ts'
import { AlterPartitionReassignments } from '../../../src/protocol/apis/alter-partition-reassignments.ts'
import { CreatePartitions } from '../../../src/protocol/apis/create-partitions.ts'
import { CreateTopics } from '../../../src/protocol/apis/create-topics.ts'
import { DeleteRecords } from '../../../src/protocol/apis/delete-records.ts'
import { DeleteTopics } from '../../../src/protocol/apis/delete-topics.ts'
import { ElectLeaders } from '../../../src/protocol/apis/elect-leaders.ts'
import { IncrementalAlterConfigs } from '../../../src/protocol/apis/incremental-alter-configs.ts'
import { InitProducerId } from '../../../src/protocol/apis/init-producer-id.ts'
import type { ClusterClient } from '../../../src/sim/clients/cluster-client.ts'

/** What Kafka's ElectLeaders calls them. */
const ELECTION = { preferred: 0, unclean: 1 } as const
const SET = 0
const TIMEOUT_MS = 5000

/**
 * Asks once for what an operator may ask. Every answer is an error code, 0 when it is done; null when no answer came:
 * it may have been done then, too.
 */
export class Operator {
  readonly #client: ClusterClient

  constructor(client: ClusterClient) {
    this.#client = client
  }

  /** Moves a partition to `replicas`; null gives the move up. */
  reassign(topic: string, partitionIndex: number, replicas: readonly number[] | null): Promise<number | null> {
    return this.#client.tolerate(async () => {
      const topics = [{ name: topic, partitions: [{ partitionIndex, replicas: replicas && [...replicas] }] }]
      const wire = await this.#client.any()
      const answer = await wire.request(AlterPartitionReassignments, { timeoutMs: TIMEOUT_MS, topics })
      return answer.errorCode || (answer.responses[0]?.partitions[0]?.errorCode ?? 0)
    })
  }

  elect(topic: string, partition: number, kind: keyof typeof ELECTION): Promise<number | null> {
    return this.#client.tolerate(async () => {
      const topicPartitions = [{ topic, partitions: [partition] }]
      const body = { electionType: ELECTION[kind], topicPartitions, timeoutMs: TIMEOUT_MS }
      const answer = await (await this.#client.any()).request(ElectLeaders, body, { fromVersion: 1 })
      return answer.errorCode || (answer.replicaElectionResults[0]?.partitionResult[0]?.errorCode ?? 0)
    })
  }

  /** Everything before `offset` goes. */
  deleteRecords(topic: string, partitionIndex: number, offset: number): Promise<number | null> {
    return this.#client.tolerate(async () => {
      const topics = [{ name: topic, partitions: [{ partitionIndex, offset }] }]
      const wire = await this.#client.leaderOf(topic, partitionIndex)
      const answer = await wire.request(DeleteRecords, { topics, timeoutMs: TIMEOUT_MS })
      return answer.topics[0]?.partitions[0]?.errorCode ?? 0
    })
  }

  /** By id, with null for a name, a request that arrives late deletes no later topic of the same name. */
  deleteTopic(name: string | null, topicId = NO_TOPIC_ID): Promise<number | null> {
    return this.#client.tolerate(async () => {
      const body = { topics: [{ name, topicId }], timeoutMs: TIMEOUT_MS }
      const answer = await (await this.#client.any()).request(DeleteTopics, body, { fromVersion: 6 })
      return answer.responses[0]?.errorCode ?? 0
    })
  }

  createTopic(name: string, replicationFactor: number): Promise<number | null> {
    return this.#client.tolerate(async () => {
      const topics = [{ name, numPartitions: 1, replicationFactor, assignments: [], configs: [] }]
      const wire = await this.#client.any()
      const answer = await wire.request(CreateTopics, { topics, timeoutMs: TIMEOUT_MS }, { fromVersion: 5 })
      return answer.topics[0]?.errorCode ?? 0
    })
  }

  createPartitions(name: string, count: number): Promise<number | null> {
    return this.#client.tolerate(async () => {
      const body = { topics: [{ name, count, assignments: null }], timeoutMs: TIMEOUT_MS, validateOnly: false }
      const answer = await (await this.#client.any()).request(CreatePartitions, body)
      return answer.results[0]?.errorCode ?? 0
    })
  }

  newProducer(): Promise<number | null> {
    return this.#client.tolerate(async () => {
      const body = { transactionalId: null, transactionTimeoutMs: 60_000 }
      return (await (await this.#client.any()).request(InitProducerId, body, { fromVersion: 3 })).errorCode
    })
  }

  configure(topic: string, name: string, value: string): Promise<number | null> {
    return this.#client.tolerate(async () => {
      const configs = [{ name, configOperation: SET, value }]
      const resources = [{ resourceType: ResourceType.topic, resourceName: topic, configs }]
      const answer = await (await this.#client.any()).request(IncrementalAlterConfigs, {
        resources,
        validateOnly: false,
      })
      return answer.responses[0]?.errorCode ?? 0
    })
  }
}
