import type { Address } from '../env/net.ts'
import { NO_TOPIC_ID, type TopicId } from '../model/ids.ts'
import type { MetadataResponse } from '../protocol/apis/metadata.ts'
import { ErrorCode } from '../protocol/errors.ts'

export interface BrokerInfo extends Address {
  readonly nodeId: number
  readonly rack: string | null
}

export interface PartitionInfo {
  readonly partition: number
  /** -1: none at the moment. */
  readonly leader: number
  /** -1: the server does not say. */
  readonly leaderEpoch: number
  readonly replicas: readonly number[]
  readonly isr: readonly number[]
  readonly offlineReplicas: readonly number[]
  readonly errorCode: number
}

export interface TopicInfo {
  readonly name: string
  /** `NO_TOPIC_ID` when the server does not say. */
  readonly topicId: TopicId
  readonly isInternal: boolean
  readonly errorCode: number
  /** By number, without holes. */
  readonly partitions: readonly PartitionInfo[]
}

/** What the client has heard of the cluster. Old news is kept until better comes. */
export class ClusterView {
  clusterId: string | null = null
  controllerId = -1
  readonly brokers = new Map<number, BrokerInfo>()
  readonly topics = new Map<string, TopicInfo>()
  readonly #names = new Map<TopicId, string>()

  /** Takes over an answer. Topics that it does not name stay as they are. */
  update(response: MetadataResponse): void {
    this.clusterId = response.clusterId
    this.controllerId = response.controllerId
    if (response.brokers.length > 0) {
      this.brokers.clear()
      for (const broker of response.brokers) this.brokers.set(broker.nodeId, broker)
    }
    for (const topic of response.topics) if (topic.name !== null) this.#updateTopic(topicOf(topic, topic.name))
  }

  #updateTopic(topic: TopicInfo): void {
    const before = this.topics.get(topic.name)
    if (topic.errorCode !== ErrorCode.NONE) {
      this.topics.delete(topic.name)
      if (before !== undefined) this.#names.delete(before.topicId)
      return
    }
    this.topics.set(topic.name, before?.topicId === topic.topicId ? newest(before, topic) : topic)
    if (before !== undefined) this.#names.delete(before.topicId)
    if (topic.topicId !== NO_TOPIC_ID) this.#names.set(topic.topicId, topic.name)
  }

  nameOf(topicId: TopicId): string | null {
    return this.#names.get(topicId) ?? null
  }

  partition(topic: string, partition: number): PartitionInfo | undefined {
    return this.topics.get(topic)?.partitions[partition]
  }

  /** A refusal told who leads now (KIP-951). */
  setLeader(topic: string, partition: number, leader: number, leaderEpoch: number): void {
    const info = this.topics.get(topic)
    const before = info?.partitions[partition]
    if (info === undefined || before === undefined || leaderEpoch <= before.leaderEpoch) return
    const partitions = info.partitions.with(partition, { ...before, leader, leaderEpoch })
    this.topics.set(topic, { ...info, partitions })
  }
}

/** A broker that lags behind must not send us back to a leader of an earlier epoch. */
function newest(before: TopicInfo, after: TopicInfo): TopicInfo {
  const partitions = after.partitions.map((partition) => {
    const known = before.partitions[partition.partition]
    return known !== undefined && known.leaderEpoch > partition.leaderEpoch ? known : partition
  })
  return { ...after, partitions }
}

function topicOf(topic: MetadataResponse['topics'][number], name: string): TopicInfo {
  const partitions = topic.partitions.map((partition) => ({
    partition: partition.partitionIndex,
    leader: partition.leaderId,
    leaderEpoch: partition.leaderEpoch,
    replicas: partition.replicaNodes,
    isr: partition.isrNodes,
    offlineReplicas: partition.offlineReplicas,
    errorCode: partition.errorCode,
  }))
  partitions.sort((one, other) => one.partition - other.partition)
  return {
    name,
    topicId: topic.topicId as TopicId,
    isInternal: topic.isInternal,
    errorCode: topic.errorCode,
    partitions,
  }
}
