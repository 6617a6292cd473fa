import { type BrokerContext, brokerNumber } from '../controller/config-view.ts'
import { topicConfigSource } from '../controller/topic-config.ts'
import { OFFSETS_TOPIC } from '../controller/topic-names.ts'
import { GroupCoordinator } from '../coordinator/group-coordinator.ts'
import type { Env } from '../env/env.ts'
import type { MetadataChanges } from '../metadata/changes.ts'
import type { MetadataImage } from '../metadata/image.ts'
import type { TopicId } from '../model/ids.ts'
import type { AnswerBudget } from '../replica/answer-budget.ts'
import type { ClusterOptions } from '../replica/options.ts'
import { ReplicaManager } from '../replica/replica-manager.ts'
import type { LogManager } from '../storage/log-manager.ts'
import { cleanerLimitsOf, scrubLimitsOf, strayLimitsOf } from './cleaner-limits.ts'
import { groupConfigOf } from './group-config.ts'
import { GROUP_OPERATIONS } from './handlers/authorized-operations.ts'
import { GroupLags } from './lag/group-lags.ts'
import { OutlookSender } from './lag/outlook-sender.ts'

export interface BrokerHalfOptions {
  readonly broker: BrokerContext
  readonly folder: string
  readonly logs: LogManager
  readonly cluster: ClusterOptions
  readonly answers: AnswerBudget
  /** The image that clients are shown. */
  image(): MetadataImage
  removedTopics(): Promise<ReadonlySet<TopicId>>
  bug(error: unknown): void
}

/** What a node with the role of a broker holds: its replicas, and the groups whose partitions it leads. */
export class BrokerHalf {
  readonly replicas: ReplicaManager
  readonly groups: GroupCoordinator
  readonly outlooks: OutlookSender
  readonly lags: GroupLags
  readonly #options: BrokerHalfOptions

  /** `image` is the one it will start from. */
  constructor(env: Env, image: MetadataImage, options: BrokerHalfOptions) {
    this.#options = options
    const { broker } = options
    this.groups = new GroupCoordinator({
      env,
      config: groupConfigOf(image, broker),
      topics: {
        idOf: (name) => options.image().topic(name)?.topicId ?? null,
        partitionsOf: (name) => options.image().topic(name)?.partitions.length ?? 0,
        nameOf: (id) => options.image().topicById(id)?.name ?? null,
      },
      partitionCount: () => options.image().topic(OFFSETS_TOPIC)?.partitions.length ?? null,
      groupOperations: GROUP_OPERATIONS,
      mayBeSucceeded: () => options.cluster.mayBeSucceeded?.() === true,
    })
    const { peers } = options.cluster
    const nodes = { nodeId: broker.brokerId, peers, addressOf: (nodeId: number) => options.cluster.addressOf(nodeId) }
    this.outlooks = new OutlookSender(env, { ...nodes, take: (outlooks) => this.groups.takeOutlooks(outlooks) })
    this.lags = new GroupLags(env, { ...nodes, image: () => options.image(), replicas: () => this.replicas })
    this.outlooks.imageChanged(image)
    this.replicas = this.#newReplicas(env, image)
  }

  #newReplicas(env: Env, image: MetadataImage): ReplicaManager {
    const { broker, folder, logs, cluster, answers, removedTopics } = this.#options
    const number = (key: string) => brokerNumber(image, broker, key)
    return new ReplicaManager(env, {
      nodeId: broker.brokerId,
      logs,
      folder,
      cluster,
      configOf: (topic, at) => topicConfigSource(at, broker, topic),
      answers,
      removedTopics,
      lagTimeMaxMs: number('replica.lag.time.max.ms'),
      fetchLimits: {
        partitionMaxBytes: number('replica.fetch.max.bytes'),
        maxBytes: number('replica.fetch.response.max.bytes'),
        maxWaitMs: number('replica.fetch.wait.max.ms'),
        minBytes: number('replica.fetch.min.bytes'),
      },
      selectsByRack: broker.staticValues.has('replica.selector.class'),
      fetchMaxBytes: number('fetch.max.bytes'),
      fetchSessionsMax: number('max.incremental.fetch.session.cache.slots'),
      producerIdExpirationOf: (at) => brokerNumber(at, broker, 'producer.id.expiration.ms'),
      retentionIntervalMs: number('log.retention.check.interval.ms'),
      throttleRatesOf: (at) => ({
        leader: brokerNumber(at, broker, 'leader.replication.throttled.rate'),
        follower: brokerNumber(at, broker, 'follower.replication.throttled.rate'),
      }),
      cleanerLimitsOf: (at) => cleanerLimitsOf(at, broker),
      scrubLimitsOf: (at) => scrubLimitsOf(at, broker),
      strayLimitsOf: (at) => strayLimitsOf(at, broker),
      highWatermarkIntervalMs: number('replica.high.watermark.checkpoint.interval.ms'),
      events: {
        onLead: ({ topic, partition }, log) => {
          if (topic === OFFSETS_TOPIC) this.groups.onLead(partition, log)
        },
        onResign: (topicPartition) => {
          const { topic, partition } = topicPartition
          if (topic === OFFSETS_TOPIC) this.groups.onResign(partition)
          else this.outlooks.remove(topicPartition)
        },
        onOutlook: (partition, outlook) => this.outlooks.put(partition, outlook),
        onOffline: ({ topic, partition }, error) => {
          env.log.error('a partition is offline', { topic, partition, reason: error.message })
        },
      },
    })
  }

  /** Does what a new image asks, before clients see it. */
  async applyImage(changes: MetadataChanges, image: MetadataImage): Promise<void> {
    await this.replicas.applyImage(changes, image)
    this.outlooks.imageChanged(image)
    if (changes.deletedTopics.length === 0) return
    const deleted = new Map(changes.deletedTopics.map(({ name, topicId }): [string, TopicId] => [name, topicId]))
    this.groups.forgetTopics(deleted).catch((error: unknown) => this.#options.bug(error))
  }

  applyConfigs(image: MetadataImage): void {
    this.groups.config = groupConfigOf(image, this.#options.broker)
  }
}
