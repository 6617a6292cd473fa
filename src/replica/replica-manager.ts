import { DURABILITY_FEATURE } from '../controller/feature-names.ts'
import type { TopicConfigSource } from '../controller/topic-config.ts'
import { isInternalTopic } from '../controller/topic-names.ts'
import type { Timer } from '../env/clock.ts'
import { isOutOfSpace } from '../env/disk.ts'
import type { Env } from '../env/env.ts'
import type { ReplicatedLog } from '../env/replicated-log.ts'
import type { Address } from '../env/net.ts'
import type { MetadataChanges } from '../metadata/changes.ts'
import type { MetadataImage, PartitionImage, TopicImage } from '../metadata/image.ts'
import { ResourceType } from '../metadata/records.ts'
import { METADATA_TOPIC, partitionName, type TopicId, type TopicPartition } from '../model/ids.ts'
import type { EligibleBroker } from '../partition/types.ts'
import type { DeleteRecordsRequest } from '../protocol/apis/delete-records.ts'
import type { DescribeLogDirsRequest } from '../protocol/apis/describe-log-dirs.ts'
import type { DescribeProducersRequest } from '../protocol/apis/describe-producers.ts'
import type { FetchRequest } from '../protocol/apis/fetch.ts'
import type { ListOffsetsRequest } from '../protocol/apis/list-offsets.ts'
import type { OffsetForLeaderEpochRequest } from '../protocol/apis/offset-for-leader-epoch.ts'
import type { ProduceRequest } from '../protocol/apis/produce.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { Peers } from '../rpc/peers.ts'
import type { CleanerLimits } from '../storage/cleaner/cleaner.ts'
import type { LogManager } from '../storage/log-manager.ts'
import { inParallel } from '../storage/parallel.ts'
import { AnswerBudget } from './answer-budget.ts'
import { Deadlines } from './deadlines.ts'
import { type DeleteRecordsAnswer, deleteRecords } from './delete-records.ts'
import {
  type DescribeLogDirsAnswer,
  type DescribeProducersAnswer,
  describeLogDirs,
  describeProducers,
  type OffsetForLeaderEpochAnswer,
  offsetForLeaderEpoch,
} from './describe.ts'
import { type FetchAnswer, FetchService } from './fetch.ts'
import type { FetchLimits } from './fetch-requests.ts'
import { FetchSessions } from './fetch-sessions.ts'
import { Followers } from './followers.ts'
import { HighWatermarks } from './high-watermarks.ts'
import { HostedPartitions } from './hosted.ts'
import { type ControllerWay, IsrProposals } from './isr-proposals.ts'
import type { FetcherOptions } from './leader-fetcher.ts'
import { LeaderLog } from './leader-log.ts'
import { type ListOffsetsAnswer, listOffsets } from './list-offsets.ts'
import { newMetrics, refreshGauges } from './metrics.ts'
import { Partition, type PartitionEvents } from './partition.ts'
import { type ProduceAnswer, ProduceService } from './produce.ts'
import { followerOf, ReplicaFetchService } from './replica-fetch.ts'
import { ReplicaSessions } from './replica-sessions.ts'
import { type TopicSettings, topicSettings } from './topic-settings.ts'
import type { ReplicaMetrics, RequestContext } from './types.ts'

/** What the rest of the node hears of the partitions here. Calls are made from within `start`, `applyImage` or a disk's answer. */
export interface ReplicaEvents {
  /** This node leads the partition, in the epoch of `log`: coordinators load from it. */
  onLead(topicPartition: TopicPartition, log: ReplicatedLog): void
  /** And does so no more in `leaderEpoch`. */
  onResign(topicPartition: TopicPartition, leaderEpoch: number): void
  /** The log of a replica could not be opened, or has failed: the controller must hear of it. */
  onOffline(topicPartition: TopicPartition, error: Error): void
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
  /** `fetch.max.bytes` */
  readonly fetchMaxBytes?: number
  /** `producer.id.expiration.ms` under an image; it may change. */
  producerIdExpirationOf?(image: MetadataImage): number
  /** `log.cleaner.*` under an image; they may change. Null: logs are not compacted. */
  cleanerLimitsOf?(image: MetadataImage): CleanerLimits | null
  /** `log.retention.check.interval.ms` */
  readonly retentionIntervalMs?: number
  /** `replica.high.watermark.checkpoint.interval.ms` */
  readonly highWatermarkIntervalMs?: number
}

/** Where no server shares its budget. */
const ANSWER_BYTES_MAX = 128 * 1024 ** 2
/** Logs opened, closed or deleted at a time. */
const LOGS_AT_ONCE = 16
/** Whatever the settings say, work that repeats leaves this much time between. */
const INTERVAL_MS_MIN = 10
/** Kafka's defaults. */
const FETCH_LIMITS: FetchLimits = {
  partitionMaxBytes: 1024 ** 2,
  maxBytes: 10 * 1024 ** 2,
  maxWaitMs: 500,
  minBytes: 1,
}
/** A stop waits no longer than this for what was appended and not acknowledged. */
const STOP_FLUSH_MS_MAX = 500

/**
 * The partitions of this node: follows the metadata image with logs and leaders, and answers the requests that read and
 * write records. Life cycle: `start` once, `applyImage` for each later image, one at a time, `stop` once.
 */
export class ReplicaManager {
  readonly metrics: ReplicaMetrics = newMetrics()
  readonly hosted = new HostedPartitions()
  readonly #env: Env
  readonly #options: ReplicaOptions
  readonly #logs: LogManager
  readonly #deadlines: Deadlines
  readonly #sessions: FetchSessions
  readonly #produce: ProduceService
  readonly #fetch: FetchService
  readonly #highWatermarks: HighWatermarks
  readonly #partitionEvents: PartitionEvents
  readonly #replicaSessions: ReplicaSessions
  readonly #replicaFetch: ReplicaFetchService
  readonly #followers: Followers | null
  readonly #proposals: IsrProposals | null
  readonly #timers = new Set<Timer>()
  /** Placed here, but there was no room to create the log: tried again. */
  readonly #waitingForSpace = new Map<string, { topic: TopicImage; partition: number }>()
  #settings = new Map<string, TopicSettings>()
  #turn: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(env: Env, options: ReplicaOptions) {
    this.#env = env
    this.#options = options
    this.#logs = options.logs
    this.#deadlines = new Deadlines(env.clock, env.timers)
    const newSessionId = () => env.randomBytes(4).readUInt32BE() & 0x7fffffff || 1
    this.#sessions = new FetchSessions(newSessionId)
    this.#replicaSessions = new ReplicaSessions(newSessionId)
    const parts = { clock: env.clock, hosted: this.hosted, deadlines: this.#deadlines, metrics: this.metrics }
    this.#produce = new ProduceService(parts)
    const maxBytes = options.fetchMaxBytes ?? 57_671_680
    const answers = options.answers ?? new AnswerBudget(ANSWER_BYTES_MAX)
    const selectsByRack = options.selectsByRack ?? false
    const fetchParts = { ...parts, sessions: this.#sessions, answers, maxBytes, selectsByRack }
    this.#fetch = new FetchService(fetchParts)
    this.#replicaFetch = new ReplicaFetchService({ ...fetchParts, replicaSessions: this.#replicaSessions })
    this.#highWatermarks = new HighWatermarks(env, options.folder, this.hosted)
    const { cluster } = options
    this.#followers = cluster === undefined ? null : new Followers(env, this.#fetcherOptions(cluster))
    this.#proposals = cluster === undefined ? null : new IsrProposals(env, { nodeId: options.nodeId, ...cluster })
    this.#partitionEvents = {
      nowMs: () => env.clock.monotonicMs(),
      proposeIsr: (partition, effect) => this.#proposals?.propose(partition, effect),
      failed: (partition, error) => options.events.onOffline(partition.topicPartition, error),
    }
  }

  #fetcherOptions(cluster: ClusterOptions): FetcherOptions {
    const { nodeId, events } = this.#options
    return {
      nodeId,
      peers: cluster.peers,
      limits: this.#options.fetchLimits ?? FETCH_LIMITS,
      brokerEpoch: () => cluster.brokerEpoch(),
      addressOf: (leaderId) => cluster.addressOf(leaderId),
      isOurs: (leaderId) => {
        const features = this.hosted.image.broker(leaderId)?.features ?? []
        return features.some(({ name }) => name === DURABILITY_FEATURE)
      },
      lostCommitted: ({ topicPartition, leaderEpoch, name }, from) => {
        this.#env.log.error('Committed records are given up: the leader does not have them', {
          partition: name,
          from,
          leaderEpoch,
        })
        events.onCommittedLoss?.(topicPartition, { from, leaderEpoch })
      },
      metrics: this.metrics,
    }
  }

  /** Opens what lies in the folder and belongs to `image`, sets aside what does not, creates what is missing. */
  async start(image: MetadataImage): Promise<void> {
    this.hosted.image = image
    await this.#highWatermarks.load()
    await this.#clearUnknown(image)
    await inParallel([...this.#placed(image)], LOGS_AT_ONCE, async ({ topic, partition }) => {
      if (!this.#stopped) await this.#open(topic, partition)
    })
    if (this.#stopped) return
    for (const partition of this.hosted) this.#follow(partition, image)
    this.#every(this.#options.highWatermarkIntervalMs ?? 5000, () => this.#onShortTick())
    this.#every((this.#options.lagTimeMaxMs ?? 30_000) / 2, () => this.#onLagTick())
    this.#every(this.#options.retentionIntervalMs ?? 300_000, () => this.#onRetentionTick())
    this.#logs.startCleaner({ highWatermarkOf: this.#highWatermarkOf, limits: () => this.#cleanerLimits() })
  }

  /**
   * Directories that the image does not place here. One of a topic that was deleted just before a crash is deleted now.
   * Any other is set aside and kept: metadata that is behind, or lost, must not cost data (reliability A5).
   */
  async #clearUnknown(image: MetadataImage): Promise<void> {
    const unknown = (await this.#logs.readFound()).filter(({ topicPartition, topicId }) => {
      // The quorum's own, which no image places.
      if (topicPartition.topic === METADATA_TOPIC) return false
      const topic = image.topic(topicPartition.topic)
      const placed = topic?.partitions[topicPartition.partition]?.replicas.includes(this.#options.nodeId)
      // One that does not say whose it is, is judged when it is opened.
      return !placed || (topicId !== null && topic?.topicId !== topicId)
    })
    if (unknown.length === 0) return
    const removed = (await this.#options.removedTopics?.()) ?? new Set()
    await inParallel(unknown, LOGS_AT_ONCE, async ({ topicPartition, topicId }) => {
      if (this.#stopped) return
      if (topicId !== null && removed.has(topicId)) await this.#logs.deleteLog(topicPartition)
      else await this.#logs.quarantine(topicPartition)
    })
  }

  /** Brings logs and leaders to `image`, which is the one after the last. */
  applyImage(changes: MetadataChanges, image: MetadataImage): Promise<void> {
    return this.#inTurn(() => this.#applyImage(changes, image))
  }

  async #applyImage(changes: MetadataChanges, image: MetadataImage): Promise<void> {
    this.hosted.image = image
    await this.#stopWaitingForSpace(changes)
    await inParallel([...this.#leaving(changes)], LOGS_AT_ONCE, (partition) => this.#remove(partition))
    this.#reconfigure(changes, image)
    const coming = changes.partitions.filter(({ after }) => after.replicas.includes(this.#options.nodeId))
    await inParallel(coming, LOGS_AT_ONCE, ({ topic, partition }) => this.#open(topic, partition))
    const eligible =
      changes.brokers.length > 0
        ? null
        : new Set(coming.map(({ topic, partition }) => partitionName({ topic: topic.name, partition })))
    for (const partition of this.hosted) {
      if (eligible !== null && !eligible.has(partition.name)) continue
      await settled(partition)
      this.#follow(partition, image)
    }
  }

  /** The node is to stop while `start` is under way: no further log is opened, and nothing is led. `stop` comes next. */
  interrupt(): void {
    this.#stopped = true
  }

  /** Lets what was appended reach the disk and answers those who wait for it; then leads nothing any more. */
  async stop(): Promise<void> {
    this.#stopped = true
    for (const timer of this.#timers) timer.cancel()
    const busy = [...this.hosted].filter(({ waiting, isOffline }) => waiting > 0 && !isOffline)
    if (busy.length > 0) await this.#flush(busy)
    await this.#highWatermarks.write()
    this.#followers?.stop()
    this.#proposals?.stop()
    for (const partition of this.hosted) this.#resign(partition)
    this.#replicaSessions.close()
    this.#deadlines.close()
  }

  /** Waits for a bounded time: on a full disk a flush may never end. */
  #flush(partitions: readonly Partition[]): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#env.timers.after(STOP_FLUSH_MS_MAX, resolve)
      const flushed = inParallel(partitions, LOGS_AT_ONCE, async ({ log }) => log?.flush().catch(() => undefined))
      void flushed.then(() => {
        timer.cancel()
        resolve()
      })
    })
  }

  produce(request: ProduceRequest, context: RequestContext): ProduceAnswer | Promise<ProduceAnswer> {
    return this.#produce.produce(request, context)
  }

  fetch(request: FetchRequest, context: RequestContext): FetchAnswer | Promise<FetchAnswer> {
    const isConsumer = followerOf(request, context).replicaId < 0
    return isConsumer ? this.#fetch.fetch(request, context) : this.#replicaFetch.fetch(request, context)
  }

  listOffsets(request: ListOffsetsRequest, context: RequestContext): Promise<ListOffsetsAnswer> {
    return listOffsets(this.hosted, request, context)
  }

  offsetForLeaderEpoch(request: OffsetForLeaderEpochRequest, context: RequestContext): OffsetForLeaderEpochAnswer {
    return offsetForLeaderEpoch(this.hosted, request, context)
  }

  deleteRecords(request: DeleteRecordsRequest, context: RequestContext): Promise<DeleteRecordsAnswer> {
    return deleteRecords({ hosted: this.hosted, deadlines: this.#deadlines }, request, context)
  }

  describeProducers(request: DescribeProducersRequest, context: RequestContext): DescribeProducersAnswer {
    return describeProducers(this.hosted, request, context)
  }

  describeLogDirs(request: DescribeLogDirsRequest): Promise<DescribeLogDirsAnswer> {
    return describeLogDirs({ env: this.#env, folder: this.#options.folder, hosted: this.hosted }, request)
  }

  /** Counts over all partitions; for the moment before the metrics are read. */
  refreshGauges(): void {
    refreshGauges(this.metrics, this.hosted, this.#sessions)
  }

  dump(): string {
    return Array.from(this.hosted, (partition) => partition.dump()).join('\n')
  }

  *#placed(image: MetadataImage): Generator<{ topic: TopicImage; partition: number }> {
    for (const topic of image.topicsByName.values()) {
      for (const [partition, { replicas }] of topic.partitions.entries()) {
        if (replicas.includes(this.#options.nodeId)) yield { topic, partition }
      }
    }
  }

  /** A log that could not be created for want of room may have left its directory. */
  async #stopWaitingForSpace({ deletedTopics }: MetadataChanges): Promise<void> {
    for (const [name, { topic, partition }] of this.#waitingForSpace) {
      if (!deletedTopics.some(({ topicId }) => topicId === topic.topicId)) continue
      this.#waitingForSpace.delete(name)
      await this.#logs.deleteLog({ topic: topic.name, partition })
    }
  }

  *#leaving(changes: MetadataChanges): Generator<Partition> {
    for (const { name, topicId } of changes.deletedTopics) {
      for (const partition of this.hosted.ofTopic(name)) if (partition.topicId === topicId) yield partition
    }
    for (const { topic, partition: index, after } of changes.partitions) {
      const partition = this.hosted.get(topic.name, index)
      if (partition !== undefined && !after.replicas.includes(this.#options.nodeId)) yield partition
    }
  }

  async #open(topic: TopicImage, index: number): Promise<void> {
    const topicPartition = { topic: topic.name, partition: index }
    if (this.hosted.get(topic.name, index) !== undefined) return
    try {
      const settings = this.#settingsOf(topic.name, this.hosted.image)
      const log =
        this.#logs.get(topicPartition) ?? (await this.#logs.openLog(topicPartition, topic.topicId, settings.log))
      this.#host(topic, topicPartition, { log, highWatermark: this.#highWatermarks.of(topicPartition) })
    } catch (error) {
      if (isOutOfSpace(error)) this.#waitingForSpace.set(partitionName(topicPartition), { topic, partition: index })
      else this.#host(topic, topicPartition, { error: error as Error })
    }
  }

  #host(
    { topicId }: TopicImage,
    topicPartition: TopicPartition,
    opened: ConstructorParameters<typeof Partition>[1],
  ): void {
    const settings = this.#settingsOf(topicPartition.topic, this.hosted.image)
    this.hosted.add(new Partition({ topicPartition, topicId }, opened, settings, this.#partitionEvents))
    if (!('error' in opened)) return
    const { topic, partition } = topicPartition
    this.#env.log.error('A log could not be opened', { topic, partition, reason: opened.error.message })
    this.#options.events.onOffline(topicPartition, opened.error)
  }

  async #remove(partition: Partition): Promise<void> {
    const { topicPartition, leader } = partition
    this.hosted.remove(partition)
    this.#waitingForSpace.delete(partition.name)
    this.#highWatermarks.forget(topicPartition)
    partition.remove(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if (leader !== null) this.#options.events.onResign(topicPartition, leader.leaderEpoch)
    // A log that could not be opened is kept for a look at it.
    if (partition.log === null) await this.#logs.quarantine(topicPartition)
    else await this.#logs.deleteLog(topicPartition)
  }

  /** Leads or follows, as the image says. */
  #follow(partition: Partition, image: MetadataImage): void {
    const { topic, partition: index } = partition.topicPartition
    const placed = image.partition(topic, index)
    if (placed === undefined) return
    partition.leaderId = placed.leader
    partition.leaderEpoch = placed.leaderEpoch
    if (placed.leader !== this.#options.nodeId || this.#isOfEarlierLife(image)) {
      return this.#followOther(partition, placed)
    }
    const led = partition.leader?.leaderEpoch
    if (led !== undefined && led !== placed.leaderEpoch) this.#resign(partition)
    const went = partition.lead({
      nodeId: this.#options.nodeId,
      leaderEpoch: placed.leaderEpoch,
      registration: placed,
      eligible: eligibleOf(placed, image),
      lagTimeMaxMs: this.#options.lagTimeMaxMs ?? 30_000,
      nowMs: this.#env.clock.monotonicMs(),
    })
    if (went !== 'began') return
    this.#options.events.onLead(partition.topicPartition, new LeaderLog(partition, this.#env.clock))
  }

  /** The image is behind our registration: it shows leaderships that this process has never had. */
  #isOfEarlierLife(image: MetadataImage): boolean {
    const { nodeId, cluster } = this.#options
    return cluster !== undefined && image.broker(nodeId)?.brokerEpoch !== cluster.brokerEpoch()
  }

  #followOther(partition: Partition, { leader: leaderId, leaderEpoch }: PartitionImage): void {
    const { follower } = partition
    if (follower?.leaderId === leaderId && follower.leaderEpoch === leaderEpoch) return
    this.#resign(partition)
    if (leaderId >= 0 && leaderId !== this.#options.nodeId)
      this.#followers?.follow(partition, { leaderId, leaderEpoch })
  }

  #resign(partition: Partition): void {
    const { leader, follower } = partition
    if (leader === null && follower === null) return
    partition.resign()
    if (leader === null) return
    this.#options.events.onResign(partition.topicPartition, leader.leaderEpoch)
  }

  #reconfigure(changes: MetadataChanges, image: MetadataImage): void {
    const all = changes.configs.some(({ type }) => type === ResourceType.broker)
    if (all) this.#settings.clear()
    for (const { type, name } of changes.configs) if (type === ResourceType.topic) this.#settings.delete(name)
    for (const { name } of changes.deletedTopics) this.#settings.delete(name)
    const topics = changes.configs.filter(({ type }) => type === ResourceType.topic).map(({ name }) => name)
    const touched = all ? this.hosted : topics.flatMap((topic) => [...this.hosted.ofTopic(topic)])
    for (const partition of touched) partition.reconfigure(this.#settingsOf(partition.topicPartition.topic, image))
  }

  /** One object for all partitions of a topic. */
  #settingsOf(topic: string, image: MetadataImage): TopicSettings {
    let settings = this.#settings.get(topic)
    if (settings === undefined) {
      const producerIdExpirationMs = this.#options.producerIdExpirationOf?.(image) ?? 86_400_000
      const isInternal = isInternalTopic(topic)
      settings = topicSettings(this.#options.configOf(topic, image), { producerIdExpirationMs, isInternal })
      this.#settings.set(topic, settings)
    }
    return settings
  }

  async #onShortTick(): Promise<void> {
    await this.#highWatermarks.write()
    // Room is wanted now: on a full disk nobody waits for the interval.
    if (!this.#logs.isWritable) await this.#onRetentionTick()
    if (this.#waitingForSpace.size > 0) await this.#inTurn(() => this.#openWaiting())
  }

  async #openWaiting(): Promise<void> {
    for (const [name, { topic, partition }] of [...this.#waitingForSpace]) {
      this.#waitingForSpace.delete(name)
      await this.#open(topic, partition)
      const opened = this.hosted.get(topic.name, partition)
      if (opened !== undefined) this.#follow(opened, this.hosted.image)
    }
  }

  async #onLagTick(): Promise<void> {
    const nowMs = this.#env.clock.monotonicMs()
    for (const partition of this.hosted) partition.tick(nowMs)
  }

  async #onRetentionTick(): Promise<void> {
    await this.#logs.applyRetention(this.#highWatermarkOf)
  }

  #cleanerLimits(): CleanerLimits | null {
    const { cleanerLimitsOf } = this.#options
    return cleanerLimitsOf === undefined ? {} : cleanerLimitsOf(this.hosted.image)
  }

  /** Of a partition that is not hosted nothing counts as committed. */
  readonly #highWatermarkOf = ({ topic, partition }: TopicPartition): number =>
    this.hosted.get(topic, partition)?.highWatermark ?? 0

  /** One after the other: two that open and delete logs would meet in one directory. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work)
    // A failure is its caller's, and must not keep the next one from its turn.
    this.#turn = done.catch(() => undefined)
    return done
  }

  /** `work` again and again, `intervalMs` after it was done last. A rejection is a bug, and ends the process. */
  #every(intervalMs: number, work: () => Promise<void>): void {
    const timer = this.#env.timers.after(Math.max(intervalMs, INTERVAL_MS_MIN), () => {
      this.#timers.delete(timer)
      void work().then(() => {
        if (!this.#stopped) this.#every(intervalMs, work)
      })
    })
    this.#timers.add(timer)
  }
}

/** Its part may change: no truncation is under way. */
async function settled(partition: Partition): Promise<void> {
  while (partition.settled !== null) await partition.settled
}

/** The replicas that may be in the ISR now. */
function eligibleOf({ replicas }: PartitionImage, image: MetadataImage): EligibleBroker[] {
  const eligible: EligibleBroker[] = []
  for (const id of replicas) {
    const broker = image.broker(id)
    if (broker !== undefined && !broker.fenced && !broker.inControlledShutdown) {
      eligible.push({ id, brokerEpoch: broker.brokerEpoch })
    }
  }
  return eligible
}
