import { isInternalTopic } from '../controller/topic-names.ts'
import { isOutOfSpace } from '../env/disk.ts'
import type { Env } from '../env/env.ts'
import type { MetadataChanges } from '../metadata/changes.ts'
import type { MetadataImage, PartitionImage, TopicImage } from '../metadata/image.ts'
import { ResourceType } from '../metadata/records.ts'
import { takesRecords } from '../model/disk-space.ts'
import { METADATA_TOPIC, partitionName, type TopicPartition } from '../model/ids.ts'
import type { EligibleBroker } from '../partition/types.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { inParallel } from '../storage/parallel.ts'
import { type DirectoryReports, LOST_DIRECTORY } from './directory-reports.ts'
import type { Followers } from './followers.ts'
import type { HighWatermarks } from './high-watermarks.ts'
import type { HostedPartitions } from './hosted.ts'
import { LeaderLog } from './leader-log.ts'
import { Partition, type PartitionEvents } from './partition.ts'
import type { ReplicaOptions } from './options.ts'
import type { Throttles } from './throttles.ts'
import type { ReplicaMetrics } from './types.ts'
import { type TopicSettings, topicSettings } from './topic-settings.ts'

/** Logs opened, closed or deleted at a time. */
export const LOGS_AT_ONCE = 16
/** Of one replica in a process's life: a disk that damages it again and again needs a human. */
const REPAIRS_MAX = 3
/** `replica.lag.time.max.ms` where nobody says. */
export const LAG_TIME_MAX_MS = 30_000

export interface HostingParts {
  readonly options: ReplicaOptions
  readonly hosted: HostedPartitions
  readonly highWatermarks: HighWatermarks
  /** Null where there are no other nodes. */
  readonly followers: Followers | null
  readonly reports: DirectoryReports | null
  readonly throttles: Throttles
  readonly metrics: ReplicaMetrics
  readonly partitionEvents: PartitionEvents
}

/**
 * Brings logs, and the part that each replica here has, to what the metadata image says. `start` once, then `apply` for
 * each later image, one at a time.
 */
export class Hosting {
  readonly #env: Env
  readonly #parts: HostingParts
  readonly #options: ReplicaOptions
  readonly #hosted: HostedPartitions
  /** Placed here, but there was no room to create the log: tried again. */
  readonly #waitingForSpace = new Map<string, { topic: TopicImage; partition: number }>()
  /** Their logs could not be opened, or have failed: a few of thousands, if any. */
  readonly #failed = new Set<Partition>()
  /** How often each was fetched anew in this life of the process. */
  readonly #repairs = new Map<string, number>()
  #settings = new Map<string, TopicSettings>()
  #isStopped = false

  constructor(env: Env, parts: HostingParts) {
    this.#env = env
    this.#parts = parts
    this.#options = parts.options
    this.#hosted = parts.hosted
  }

  get isWaitingForSpace(): boolean {
    return this.#waitingForSpace.size > 0
  }

  /** Opens what lies in the folder and belongs to `image`, sets aside what does not, creates what is missing. */
  async start(image: MetadataImage): Promise<void> {
    this.#hosted.image = image
    this.#throttle(image)
    await this.#parts.highWatermarks.load()
    await this.#clearUnknown(image)
    await inParallel([...this.#placed(image)], LOGS_AT_ONCE, async ({ topic, partition }) => {
      if (!this.#isStopped) await this.#open(topic, partition)
    })
    if (this.#isStopped) return
    for (const partition of this.#hosted) this.#play(partition, image)
  }

  /** No further log is opened. */
  stop(): void {
    this.#isStopped = true
  }

  async apply(changes: MetadataChanges, image: MetadataImage): Promise<void> {
    this.#hosted.image = image
    // Before an ISR takes effect: a larger min.insync.replicas that was set before it must be known then.
    this.#reconfigure(changes, image)
    // Who leads comes first: clients wait for it, and logs that come and go take time.
    for (const partition of this.#affected(changes)) {
      while (partition.settled !== null) await partition.settled
      this.#play(partition, image)
    }
    await this.#stopWaitingForSpace(changes)
    await inParallel([...this.#leaving(changes)], LOGS_AT_ONCE, (partition) => this.#remove(partition))
    const coming = changes.partitions.filter(({ after }) => after.replicas.includes(this.#options.nodeId))
    await inParallel(coming, LOGS_AT_ONCE, async ({ topic, partition }) => {
      if (await this.#open(topic, partition)) this.#playOf(topic, partition)
    })
    await this.repairDamaged()
  }

  /** Sets damaged logs aside whose replicas nobody counts on any more, and begins them anew: the leader has it all. */
  async repairDamaged(): Promise<void> {
    for (const partition of this.#failed) if (partition.removed) this.#failed.delete(partition)
    const damaged = [...this.#failed].filter((partition) => partition.isDamaged && this.#isReplaceable(partition))
    await inParallel(damaged, LOGS_AT_ONCE, (partition) => this.#beginAnew(partition))
  }

  /** The log of a partition here has failed. */
  failed(partition: Partition): void {
    this.#failed.add(partition)
  }

  /**
   * Another node leads, the controller has heard of the damage, and this copy is neither in sync nor eligible. The leader
   * epoch is a later one than any in which the log was fetched for: its leader knows nothing of what this log held, and
   * refuses fetches that were sent for it. Else the new log, still empty, could be taken into the ISR in the old one's place.
   */
  #isReplaceable({ topicPartition, topicId, name, removed, usedEpoch }: Partition): boolean {
    const { nodeId } = this.#options
    const topic = this.#hosted.image.topic(topicPartition.topic)
    const placed = topic?.partitions[topicPartition.partition]
    if (placed === undefined || topic?.topicId !== topicId || removed || this.#isStopped) return false
    const { replicas, directories, leader, leaderEpoch, isr, elr } = placed
    if (leaderEpoch <= usedEpoch) return false
    if (directories[replicas.indexOf(nodeId)] !== LOST_DIRECTORY) return false
    if (leader < 0 || leader === nodeId || isr.includes(nodeId) || elr.includes(nodeId)) return false
    return (this.#repairs.get(name) ?? 0) < REPAIRS_MAX
  }

  async #beginAnew(partition: Partition): Promise<void> {
    const { topicPartition, name } = partition
    this.#repairs.set(name, (this.#repairs.get(name) ?? 0) + 1)
    while (partition.settled !== null) await partition.settled
    try {
      await this.#options.logs.quarantine(topicPartition)
    } catch (error) {
      const { message: reason } = error as Error
      return this.#env.log.error('A damaged log could not be set aside', { partition: name, reason })
    }
    this.#env.log.warn('A damaged log is set aside, and its replica fetched anew from the leader', { partition: name })
    this.#parts.metrics.replicasRepaired += 1
    this.#hosted.remove(partition)
    this.#parts.highWatermarks.forget(topicPartition)
    partition.remove(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    const topic = this.#hosted.image.topic(topicPartition.topic)
    if (topic !== undefined && (await this.#open(topic, topicPartition.partition))) {
      this.#playOf(topic, topicPartition.partition)
    }
  }

  async openWaiting(): Promise<void> {
    for (const [name, { topic, partition }] of [...this.#waitingForSpace]) {
      this.#waitingForSpace.delete(name)
      if (await this.#open(topic, partition)) this.#playOf(topic, partition)
    }
  }

  /** Neither leads nor follows any more; `hasSuccessor`: another node is known to lead. */
  resign(partition: Partition, hasSuccessor = false): void {
    const { leader, follower } = partition
    if (leader === null && follower === null) return
    if (hasSuccessor) partition.handOver()
    else partition.resign()
    if (leader !== null) this.#options.events.onResign(partition.topicPartition, leader.leaderEpoch)
  }

  /**
   * Directories that the image does not place here. One of a topic that was deleted just before a crash is deleted now.
   * Any other is set aside and kept: metadata that is behind, or lost, must not cost data (reliability A5).
   */
  async #clearUnknown(image: MetadataImage): Promise<void> {
    const unknown = (await this.#options.logs.readFound()).filter(({ topicPartition, topicId }) => {
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
      if (this.#isStopped) return
      if (topicId !== null && removed.has(topicId)) await this.#options.logs.deleteLog(topicPartition)
      else await this.#options.logs.quarantine(topicPartition)
    })
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
      await this.#options.logs.deleteLog({ topic: topic.name, partition })
    }
  }

  *#leaving(changes: MetadataChanges): Generator<Partition> {
    for (const { name, topicId } of changes.deletedTopics) {
      for (const partition of this.#hosted.ofTopic(name)) if (partition.topicId === topicId) yield partition
    }
    for (const { topic, partition: index, after } of changes.partitions) {
      const partition = this.#hosted.get(topic.name, index)
      // The partition here may be that of a deleted topic of the same name, which has been told of above.
      if (partition?.topicId !== topic.topicId) continue
      if (!after.replicas.includes(this.#options.nodeId)) yield partition
    }
  }

  /** Whether the partition is new here now. */
  async #open(topic: TopicImage, index: number): Promise<boolean> {
    const topicPartition = { topic: topic.name, partition: index }
    if (this.#hosted.get(topic.name, index) !== undefined) return false
    const { logs } = this.#options
    const name = partitionName(topicPartition)
    try {
      const settings = this.#settingsOf(topic.name, this.#hosted.image)
      const log = logs.get(topicPartition) ?? (await logs.openLog(topicPartition, topic.topicId, settings.log))
      this.#waitingForSpace.delete(name)
      this.#host(topic, topicPartition, { log, highWatermark: this.#parts.highWatermarks.of(topicPartition) })
    } catch (error) {
      if (isOutOfSpace(error)) {
        this.#waitingForSpace.set(name, { topic, partition: index })
        return false
      }
      this.#host(topic, topicPartition, { error: error as Error })
    }
    return true
  }

  #host(
    { topicId }: TopicImage,
    topicPartition: TopicPartition,
    opened: ConstructorParameters<typeof Partition>[1],
  ): void {
    const settings = this.#settingsOf(topicPartition.topic, this.#hosted.image)
    const partition = new Partition({ topicPartition, topicId }, opened, settings, this.#parts.partitionEvents)
    this.#hosted.add(partition)
    if (!('error' in opened)) return
    this.#failed.add(partition)
    this.#parts.reports?.changed(partition)
    const { topic, partition: index } = topicPartition
    this.#env.log.error('A log could not be opened', { topic, partition: index, reason: opened.error.message })
    this.#options.events.onOffline(topicPartition, opened.error)
  }

  async #remove(partition: Partition): Promise<void> {
    const { topicPartition, leader } = partition
    this.#hosted.remove(partition)
    this.#waitingForSpace.delete(partition.name)
    this.#parts.highWatermarks.forget(topicPartition)
    // What was moved away is not refused: who appended here and waits does not know what became of it (reliability H22).
    const isMoved = this.#hosted.image.topicById(partition.topicId) !== undefined
    partition.remove(isMoved ? ErrorCode.NOT_LEADER_OR_FOLLOWER : ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if (leader !== null) this.#options.events.onResign(topicPartition, leader.leaderEpoch)
    while (partition.settled !== null) await partition.settled
    // A log that could not be opened is kept for a look at it.
    if (partition.log === null) await this.#options.logs.quarantine(topicPartition)
    else await this.#options.logs.deleteLog(topicPartition)
  }

  /** The replicas here whose part may be another one now. */
  *#affected(changes: MetadataChanges): Generator<Partition> {
    if (changes.brokers.length > 0) {
      // Who may be in an ISR has changed.
      yield* [...this.#hosted]
      return
    }
    for (const { topic, partition: index } of changes.partitions) {
      const partition = this.#hosted.get(topic.name, index)
      if (partition !== undefined) yield partition
    }
  }

  #playOf(topic: TopicImage, index: number): void {
    const partition = this.#hosted.get(topic.name, index)
    if (partition !== undefined) this.#play(partition, this.#hosted.image)
  }

  /** Leads or follows, as the image says. */
  #play(partition: Partition, image: MetadataImage): void {
    const { nodeId } = this.#options
    const { topic, partition: index } = partition.topicPartition
    const placed = image.topic(topic)?.partitions[index]
    // Deleted, or of a topic of that name that was, or placed elsewhere: it goes.
    if (placed === undefined || image.topic(topic)?.topicId !== partition.topicId) return
    if (!placed.replicas.includes(nodeId)) return
    partition.leaderId = placed.leader
    partition.leaderEpoch = placed.leaderEpoch
    // It was offline in an earlier life of this node.
    const isLost = placed.directories[placed.replicas.indexOf(nodeId)] === LOST_DIRECTORY
    if (isLost && !partition.isOffline) this.#parts.reports?.changed(partition)
    if (placed.leader === nodeId && !this.#isOfEarlierLife(image)) this.#lead(partition, placed, image)
    else this.#follow(partition, placed)
  }

  /** The image is behind our registration: it shows leaderships that this process has never had. */
  #isOfEarlierLife(image: MetadataImage): boolean {
    const { nodeId, cluster } = this.#options
    return cluster !== undefined && image.broker(nodeId)?.brokerEpoch !== cluster.brokerEpoch()
  }

  #lead(partition: Partition, placed: PartitionImage, image: MetadataImage): void {
    if (this.#isPredecessorAlive(partition, image)) {
      if (partition.takesOver(placed.leaderEpoch, () => void this.#playLater(partition))) return
    }
    const led = partition.leader?.leaderEpoch
    if (led !== undefined && led !== placed.leaderEpoch) this.resign(partition)
    const inSync = partition.leader?.isr.length ?? 0
    const went = partition.lead({
      nodeId: this.#options.nodeId,
      leaderEpoch: placed.leaderEpoch,
      registration: placed,
      eligible: eligibleOf(placed, image, isInternalTopic(partition.topicPartition.topic)),
      lagTimeMaxMs: this.#options.lagTimeMaxMs ?? LAG_TIME_MAX_MS,
      nowMs: this.#env.clock.monotonicMs(),
    })
    if (went === 'goes on') this.#countChange(inSync, partition.leader?.isr.length ?? inSync)
    if (went !== 'began') return
    this.#options.events.onLead(partition.topicPartition, new LeaderLog(partition, this.#env.clock))
  }

  #countChange(before: number, after: number): void {
    const { metrics } = this.#parts
    if (after < before) metrics.isrShrinks += 1
    if (after > before) metrics.isrExpands += 1
  }

  #isPredecessorAlive({ follower }: Partition, image: MetadataImage): boolean {
    return follower !== null && image.broker(follower.leaderId)?.fenced === false
  }

  /** After the present event, which is one of the follower that it still is. */
  async #playLater(partition: Partition): Promise<void> {
    do await partition.settled
    while (partition.settled !== null)
    if (partition.follower !== null && !partition.removed) this.#play(partition, this.#hosted.image)
  }

  #follow(partition: Partition, { leader: leaderId, leaderEpoch }: PartitionImage): void {
    const { follower } = partition
    if (follower?.leaderId === leaderId && follower.leaderEpoch === leaderEpoch) return
    const { followers } = this.#parts
    const hasSuccessor = leaderId >= 0 && leaderId !== this.#options.nodeId
    this.resign(partition, hasSuccessor && followers !== null)
    if (hasSuccessor) followers?.follow(partition, { leaderId, leaderEpoch })
  }

  #reconfigure(changes: MetadataChanges, image: MetadataImage): void {
    const all = changes.configs.some(({ type }) => type === ResourceType.broker)
    if (all) {
      this.#settings.clear()
      this.#throttle(image)
    }
    for (const { type, name } of changes.configs) if (type === ResourceType.topic) this.#settings.delete(name)
    for (const { name } of changes.deletedTopics) this.#settings.delete(name)
    const topics = changes.configs.filter(({ type }) => type === ResourceType.topic).map(({ name }) => name)
    const touched = all ? this.#hosted : topics.flatMap((topic) => [...this.#hosted.ofTopic(topic)])
    for (const partition of touched) partition.reconfigure(this.#settingsOf(partition.topicPartition.topic, image))
  }

  #throttle(image: MetadataImage): void {
    const rates = this.#options.throttleRatesOf?.(image)
    if (rates !== undefined) this.#parts.throttles.rates = rates
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
}

/**
 * The replicas that may be in the ISR now: nobody waits for one whose broker is gone, whose log has failed, or whose disk is
 * full while the leader's has room.
 */
function eligibleOf(placed: PartitionImage, image: MetadataImage, isInternal: boolean): EligibleBroker[] {
  const { replicas, directories, leader } = placed
  const eligible: EligibleBroker[] = []
  const hasRoom = (id: number) => takesRecords(image.broker(id)?.outOfSpace ?? 0, isInternal)
  const isLeaderFull = !hasRoom(leader)
  for (const [index, id] of replicas.entries()) {
    const broker = image.broker(id)
    if (broker === undefined || broker.fenced || broker.inControlledShutdown) continue
    if (!isLeaderFull && !hasRoom(id)) continue
    if (directories[index] !== LOST_DIRECTORY) eligible.push({ id, brokerEpoch: broker.brokerEpoch })
  }
  return eligible
}
