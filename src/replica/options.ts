import type { TopicConfigSource } from '../controller/topic-config.ts'
import type { Address } from '../env/net.ts'
import type { ReplicatedLog } from '../env/replicated-log.ts'
import type { MetadataImage } from '../metadata/image.ts'
import type { TopicId, TopicPartition } from '../model/ids.ts'
import type { Peers } from '../rpc/peers.ts'
import type { CleanerLimits } from '../storage/cleaner/cleaner.ts'
import type { LogManager } from '../storage/log-manager.ts'
import type { LogOutlook } from '../storage/log-outlook.ts'
import type { ScrubLimits } from '../storage/scrubber.ts'
import type { StrayLimits } from '../storage/stray-directories.ts'
import type { AnswerBudget } from './answer-budget.ts'
import type { FetchLimits } from './fetch-requests.ts'
import type { ControllerWay } from './isr-proposals.ts'
import type { ThrottleRates } from './throttles.ts'

export interface LedPartition extends TopicPartition {
  readonly topicId: TopicId
  readonly leaderEpoch: number
}

/** What the rest of the node hears of the partitions here. Calls are made from within `start`, `applyImage` or a disk's answer. */
export interface ReplicaEvents {
  /** This node leads the partition, in the epoch of `log`: coordinators load from it. */
  onLead(topicPartition: TopicPartition, log: ReplicatedLog): void
  /** And does so no more in `leaderEpoch`. */
  onResign(topicPartition: TopicPartition, leaderEpoch: number): void
  /** The log of a replica could not be opened, or has failed: the controller must hear of it. */
  onOffline(topicPartition: TopicPartition, error: Error): void
  /** Of a partition that is led here: a round of retention is over, or (then without steps) its log begins later. */
  onOutlook?(partition: LedPartition, outlook: Partial<LogOutlook>): void
  /**
   * This node's follower gives up records from offset `from` on that had been committed, as the leader does not have them:
   * only an unclean election allows that (reliability I6).
   */
  onCommittedLoss?(topicPartition: TopicPartition, loss: { readonly from: number; readonly leaderEpoch: number }): void
}

/** How the replicas of several nodes reach each other and the controller. */
export interface ClusterOptions {
  readonly peers: Peers
  readonly controller: ControllerWay
  /** Where other brokers reach the broker; null when it is not known (yet). */
  addressOf(nodeId: number): Address | null
  /** Of this incarnation. */
  brokerEpoch(): number
  /** The controller may have given what this node leads to others: it has not been heard for a session. Left out: never. */
  mayBeSucceeded?(): boolean
}

export interface ReplicaOptions {
  readonly nodeId: number
  readonly logs: LogManager
  /** The data folder. */
  readonly folder: string
  readonly events: ReplicaEvents
  /** Left out: there are no other nodes. */
  readonly cluster?: ClusterOptions
  /** `replica.fetch.*` */
  readonly fetchLimits?: FetchLimits
  /** `replica.selector.class` is Kafka's RackAwareReplicaSelector (KIP-392). */
  readonly selectsByRack?: boolean
  /** A topic's resolved configuration under an image. */
  configOf(topic: string, image: MetadataImage): TopicConfigSource
  /** The topics that certainly were deleted, for the directories that an image does not know. Asked at most once, in `start`. */
  removedTopics?(): Promise<ReadonlySet<TopicId>>
  /** `replica.lag.time.max.ms` */
  readonly lagTimeMaxMs?: number
  /** Shared with whoever sends the answers. */
  readonly answers?: AnswerBudget
  /** `max.incremental.fetch.session.cache.slots` */
  readonly fetchSessionsMax?: number
  /** `fetch.max.bytes` */
  readonly fetchMaxBytes?: number
  /** `producer.id.expiration.ms` under an image; it may change. */
  producerIdExpirationOf?(image: MetadataImage): number
  /** `log.cleaner.*` under an image; they may change. Null: logs are not compacted. */
  cleanerLimitsOf?(image: MetadataImage): CleanerLimits | null
  /** `log.scrub.*` under an image; they may change. Null: logs are not looked through. */
  scrubLimitsOf?(image: MetadataImage): ScrubLimits | null
  /** `log.stray.retention.*` under an image; they may change. Left out: what was set aside is kept. */
  strayLimitsOf?(image: MetadataImage): StrayLimits
  /** `leader.replication.throttled.rate` and the follower's, bytes a second, under an image; they may change. */
  throttleRatesOf?(image: MetadataImage): ThrottleRates
  /** `log.retention.check.interval.ms` */
  readonly retentionIntervalMs?: number
  /** `replica.high.watermark.checkpoint.interval.ms` */
  readonly highWatermarkIntervalMs?: number
}
