import { DURABILITY_FEATURE } from '../controller/feature-names.ts'
import type { Timer } from '../env/clock.ts'
import type { Env } from '../env/env.ts'
import type { MetadataChanges } from '../metadata/changes.ts'
import type { MetadataImage } from '../metadata/image.ts'
import type { TopicPartition } from '../model/ids.ts'
import type { DeleteRecordsRequest } from '../protocol/apis/delete-records.ts'
import type { DescribeLogDirsRequest } from '../protocol/apis/describe-log-dirs.ts'
import type { DescribeProducersRequest } from '../protocol/apis/describe-producers.ts'
import type { FetchRequest } from '../protocol/apis/fetch.ts'
import { ListOffsets, type ListOffsetsRequest } from '../protocol/apis/list-offsets.ts'
import type { OffsetForLeaderEpochRequest } from '../protocol/apis/offset-for-leader-epoch.ts'
import type { ProduceRequest } from '../protocol/apis/produce.ts'
import type { CleanerLimits } from '../storage/cleaner/cleaner.ts'
import type { LogManager } from '../storage/log-manager.ts'
import { inParallel } from '../storage/parallel.ts'
import type { StrayLimits } from '../storage/stray-directories.ts'
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
import { DirectoryReports } from './directory-reports.ts'
import { type FetchAnswer, FetchService } from './fetch.ts'
import type { FetchLimits } from './fetch-requests.ts'
import { FetchSessions } from './fetch-sessions.ts'
import { Followers } from './followers.ts'
import { HighWatermarks } from './high-watermarks.ts'
import { HostedPartitions } from './hosted.ts'
import { Hosting, LAG_TIME_MAX_MS, LOGS_AT_ONCE } from './hosting.ts'
import { IsrProposals } from './isr-proposals.ts'
import { type Laggard, laggardsOf } from './laggards.ts'
import { LeadershipChecks } from './leadership-checks.ts'
import type { FetcherOptions } from './leader-fetcher.ts'
import { type ListOffsetsAnswer, listOffsets } from './list-offsets.ts'
import { newMetrics, refreshGauges } from './metrics.ts'
import type { ClusterOptions, ReplicaOptions } from './options.ts'
import type { Partition, PartitionEvents } from './partition.ts'
import { type ProduceAnswer, ProduceService } from './produce.ts'
import { followerOf, ReplicaFetchService } from './replica-fetch.ts'
import { ReplicaSessions } from './replica-sessions.ts'
import { Throttles } from './throttles.ts'
import type { ReplicaMetrics, RequestContext } from './types.ts'

/** Where no server shares its budget. */
const ANSWER_BYTES_MAX = 128 * 1024 ** 2
/** Whatever the settings say, work that repeats leaves this much time between. */
const INTERVAL_MS_MIN = 10
/** Kafka's defaults. */
const FETCH_LIMITS: FetchLimits = {
  partitionMaxBytes: 1024 ** 2,
  maxBytes: 10 * 1024 ** 2,
  maxWaitMs: 500,
  minBytes: 1,
}
/** Where nobody says for how long. */
const KEEP_STRAYS: StrayLimits = { retentionMs: -1, bytesMax: -1 }
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
  readonly #hosting: Hosting
  readonly #replicaSessions: ReplicaSessions
  readonly #replicaFetch: ReplicaFetchService
  readonly #followers: Followers | null
  readonly #proposals: IsrProposals | null
  readonly #reports: DirectoryReports | null
  readonly #throttles: Throttles
  readonly #timers = new Set<Timer>()
  #turn: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(env: Env, options: ReplicaOptions) {
    this.#env = env
    this.#options = options
    this.#logs = options.logs
    this.#deadlines = new Deadlines(env.clock, env.timers)
    const newSessionId = () => env.randomBytes(4).readUInt32BE() & 0x7fffffff || 1
    this.#sessions = new FetchSessions(newSessionId, options.fetchSessionsMax)
    this.#replicaSessions = new ReplicaSessions(newSessionId)
    this.hosted.mayBeSucceeded = () => options.cluster?.mayBeSucceeded?.() === true
    const parts = { clock: env.clock, hosted: this.hosted, deadlines: this.#deadlines, metrics: this.metrics }
    this.#produce = new ProduceService(parts)
    const maxBytes = options.fetchMaxBytes ?? 57_671_680
    const answers = options.answers ?? new AnswerBudget(ANSWER_BYTES_MAX)
    const selectsByRack = options.selectsByRack ?? false
    const fetchParts = { ...parts, sessions: this.#sessions, answers, maxBytes, selectsByRack }
    this.#fetch = new FetchService(fetchParts)
    const throttles = new Throttles(env.clock)
    this.#throttles = throttles
    const replicaSessions = this.#replicaSessions
    const checks = new LeadershipChecks(replicaSessions, this.#deadlines)
    this.#replicaFetch = new ReplicaFetchService({ ...fetchParts, replicaSessions, checks, throttles })
    this.#highWatermarks = new HighWatermarks(env, options.folder, this.hosted)
    const { cluster } = options
    this.#followers = cluster === undefined ? null : new Followers(env, this.#fetcherOptions(cluster))
    const { nodeId } = options
    const { directoryId } = options.logs.metaProperties
    this.#proposals = cluster === undefined ? null : new IsrProposals(env, { nodeId, ...cluster })
    this.#reports = cluster === undefined ? null : new DirectoryReports(env, { nodeId, directoryId, ...cluster })
    const partitionEvents: PartitionEvents = {
      nowMs: () => env.clock.monotonicMs(),
      deadlines: this.#deadlines,
      isStillLed: (partition) => checks.check(partition),
      proposeIsr: (partition, effect) => this.#proposals?.propose(partition, effect),
      outlook: ({ topicPartition, topicId, leaderEpoch }, outlook) =>
        options.events.onOutlook?.({ ...topicPartition, topicId, leaderEpoch }, outlook),
      failed: (partition, error) => {
        this.#reports?.changed(partition)
        this.#hosting.failed(partition)
        options.events.onOffline(partition.topicPartition, error)
      },
    }
    const { hosted } = this
    const [highWatermarks, followers] = [this.#highWatermarks, this.#followers]
    this.#hosting = new Hosting(env, {
      options,
      hosted,
      highWatermarks,
      followers,
      reports: this.#reports,
      throttles,
      metrics: this.metrics,
      partitionEvents,
    })
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
      throttles: this.#throttles,
    }
  }

  /** Opens what lies in the folder and belongs to `image`, sets aside what does not, creates what is missing. */
  async start(image: MetadataImage): Promise<void> {
    await this.#hosting.start(image)
    if (this.#stopped) return
    this.#every(this.#options.highWatermarkIntervalMs ?? 5000, () => this.#onShortTick())
    this.#every((this.#options.lagTimeMaxMs ?? LAG_TIME_MAX_MS) / 2, () => this.#onLagTick())
    this.#every(this.#retentionIntervalMs, () => this.applyRetention())
    const { scrubLimitsOf } = this.#options
    if (scrubLimitsOf !== undefined) this.#logs.startScrubber(() => scrubLimitsOf(this.hosted.image))
    this.#logs.startCleaner({ highWatermarkOf: this.#highWatermarkOf, limits: () => this.#cleanerLimits() })
  }

  /** Brings logs and leaders to `image`, which is the one after the last. */
  applyImage(changes: MetadataChanges, image: MetadataImage): Promise<void> {
    return this.#inTurn(() => this.#hosting.apply(changes, image))
  }

  /** The node is to stop while `start` is under way: no further log is opened, and nothing is led. `stop` comes next. */
  interrupt(): void {
    this.#stopped = true
    this.#hosting.stop()
  }

  /** Lets what was appended reach the disk and answers those who wait for it; then leads nothing any more. */
  async stop(): Promise<void> {
    this.#stopped = true
    for (const timer of this.#timers) timer.cancel()
    const busy = [...this.hosted].filter(({ audience, isOffline }) => audience.waiting > 0 && !isOffline)
    if (busy.length > 0) await this.#flush(busy)
    await this.#highWatermarks.write()
    this.#followers?.stop()
    this.#proposals?.stop()
    this.#reports?.stop()
    for (const partition of this.hosted) this.#hosting.resign(partition)
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

  listOffsets(
    request: ListOffsetsRequest,
    context: Pick<RequestContext, 'version' | 'mayAccess'>,
  ): Promise<ListOffsetsAnswer> {
    const retentionTime = () => this.#logs.retentionTime
    return listOffsets({ hosted: this.hosted, retentionTime }, request, context)
  }

  /** For this node itself. */
  listOffsetsHere(request: ListOffsetsRequest): Promise<ListOffsetsAnswer> {
    return this.listOffsets(request, { version: ListOffsets.versions[1], mayAccess: () => true })
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

  /** The replicas of a partition that this node leads which are not in sync; empty for any other partition. */
  laggards(topic: string, partition: number): Laggard[] {
    const led = this.hosted.get(topic, partition)
    return led === undefined ? [] : laggardsOf(led, this.#env.clock)
  }

  async describeLogDirs(request: DescribeLogDirsRequest): Promise<DescribeLogDirsAnswer> {
    const strays = await this.#logs.strays(this.#strayLimits)
    return describeLogDirs({ env: this.#env, folder: this.#options.folder, hosted: this.hosted, strays }, request)
  }

  /** Counts over all partitions; for the moment before the metrics are read. */
  refreshGauges(): void {
    refreshGauges(this.metrics, this.hosted, this.#sessions)
  }

  dump(): string {
    return Array.from(this.hosted, (partition) => partition.dump()).join('\n')
  }

  async #onShortTick(): Promise<void> {
    await this.#highWatermarks.write()
    // Room is wanted now: on a full disk nobody waits for the interval.
    if (!this.#logs.isWritable) await this.applyRetention()
    // One that was damaged in an earlier life, and known to be, is told of by no image.
    await this.#inTurn(() => this.#hosting.repairDamaged())
    if (this.#hosting.isWaitingForSpace) await this.#inTurn(() => this.#hosting.openWaiting())
  }

  async #onLagTick(): Promise<void> {
    const nowMs = this.#env.clock.monotonicMs()
    for (const partition of this.hosted) partition.tick(nowMs)
  }

  get #retentionIntervalMs(): number {
    return this.#options.retentionIntervalMs ?? 300_000
  }

  /** Deletes what retention lets go of, and looks ahead at what it will. */
  async applyRetention(): Promise<void> {
    await this.#logs.applyRetention(this.#highWatermarkOf, this.#retentionIntervalMs)
    await this.#logs.removeStrays(this.#strayLimits)
  }

  get #strayLimits(): StrayLimits {
    return this.#options.strayLimitsOf?.(this.hosted.image) ?? KEEP_STRAYS
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
