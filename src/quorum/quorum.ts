import { type BrokerContext, brokerNumber } from '../controller/config-view.ts'
import { unservedFeatures } from '../controller/features.ts'
import type { ControllerApi } from '../controller/shard.ts'
import type { Timer } from '../env/clock.ts'
import type { Env } from '../env/env.ts'
import { LogUnavailableError } from '../env/replicated-log.ts'
import type { Address } from '../env/net.ts'
import type { MetadataChanges } from '../metadata/changes.ts'
import type { MetadataImage } from '../metadata/image.ts'
import type { TopicId } from '../model/ids.ts'
import type { DescribeQuorumRequest, DescribeQuorumResponse } from '../protocol/apis/describe-quorum.ts'
import type { RequestOf, ResponseOf } from '../protocol/schema.ts'
import type { RaftFacts } from '../raft/raft.ts'
import type { InboundRequest, OutboundResponse, RaftOptions } from '../raft/types.ts'
import type { Peers } from '../rpc/peers.ts'
import { ActiveController, type LedLog } from './active-controller.ts'
import { AutoJoin } from './auto-join.ts'
import { CommittedImage } from './committed-image.ts'
import { describeQuorum } from './describe-quorum.ts'
import { NotControllerError } from './errors.ts'
import type { MetadataLog } from './metadata-log.ts'
import type { LoadedMetadata } from './metadata-load.ts'
import { type ImageListener, Published } from './published.ts'
import { type Leading, RaftDriver } from './raft-driver.ts'
import { removedTopics } from './removed-topics.ts'
import { SnapshotTaker } from './snapshot-taker.ts'
import { MetadataUnreadableError } from './snapshots.ts'

export interface QuorumOptions {
  readonly log: MetadataLog
  readonly folder: string
  readonly loaded: LoadedMetadata
  readonly peers: Peers
  readonly broker: BrokerContext
  readonly raft: Omit<RaftOptions, 'log' | 'durableOffset' | 'nowMs'>
  /** Hears of every image after the one there is when the quorum is opened, in order; several may come as one. */
  readonly onImage: ImageListener
  /** The metadata can be trusted no more, or `onImage` failed: the node must stop. */
  readonly onFailure: (error: Error) => void
  /** A controller that follows asks to become a voter. */
  readonly autoJoin: boolean
  /** When it may, and in the place of another disk; null: at once, in nobody's place. */
  readonly joinAfter: Promise<unknown> | null
  /** No snapshot is written before; null: at once. */
  readonly snapshotsAfter: Promise<unknown> | null
  /** Another node leads, or none that is known. */
  readonly onLeader: (leaderId: number | null) => void
  /** This node has become the active controller and takes requests. */
  readonly onActive: () => void
}

/** How often it is looked whether a snapshot is due by time. */
const SNAPSHOT_CHECK_MS = 1000

/**
 * This node's part in the quorum: the metadata log as voter or observer, the image of what is committed, and, while this
 * node leads, the active controller.
 *
 * Life cycle: `start`, then everything else, `stop` before the logs are closed. After a failure nothing is answered any more.
 */
export class Quorum {
  readonly nodeId: number
  readonly #env: Env
  readonly #options: QuorumOptions
  readonly #driver: RaftDriver
  readonly #committed: CommittedImage
  readonly #published: Published
  readonly #snapshots: SnapshotTaker
  readonly #autoJoin: AutoJoin | null
  #active: ActiveController | null = null
  #leaderId: number | null = null
  #isSettling = false
  #mustSettle = false
  #caughtUp = Promise.withResolvers<void>()
  #snapshotAtMs: number
  #timer: Timer | null = null
  /** What went wrong, and what those who wait are told. */
  #cause: Error | null = null
  #failure: Error | null = null
  #hasStarted = false
  #isStopped = false

  constructor(env: Env, options: QuorumOptions) {
    const { log, folder, loaded, peers, raft, onImage } = options
    this.#env = env
    this.#options = options
    this.nodeId = raft.self.id
    this.#snapshotAtMs = env.clock.monotonicMs()
    this.#published = new Published(onImage, (error) => this.#fail(error))
    this.#committed = new CommittedImage(log.partitionLog, loaded, {
      applied: (changes) => this.#onApplied(changes),
      readOn: () => {
        if (!this.#driver.isBusy) this.#settle()
      },
      failed: (error) => this.#fail(error),
    })
    this.#published.begin(this.#committed.image)
    this.#driver = new RaftDriver(env, {
      log,
      folder,
      peers,
      raft,
      listener: {
        settled: () => this.#settle(),
        truncated: () => this.#committed.forgetPreloaded(),
        snapshotInstalled: (snapshot) => this.#committed.reset(snapshot),
        failed: (error) => this.#fail(error),
      },
    })
    this.#snapshots = new SnapshotTaker(env, log, () => this.#driver.snapshotCreated())
    this.#autoJoin = this.#newAutoJoin()
    this.#caughtUp.promise.then(
      () => this.#options.joinAfter?.then(() => this.#autoJoin?.start()) ?? this.#autoJoin?.start(),
      () => {},
    )
  }

  #newAutoJoin(): AutoJoin | null {
    const { autoJoin, joinAfter, peers, raft } = this.#options
    if (!autoJoin || !raft.canVote) return null
    const { clusterId, self, endpoints } = raft
    const { raft: quorum } = this.#driver
    const leaderAddress = () => this.leaderAddress()
    const mayReplace = joinAfter !== null
    return new AutoJoin(this.#env, { peers, clusterId, self, endpoints, mayReplace, quorum, leaderAddress })
  }

  /**
   * Takes part. Where this node alone is the quorum it resolves when it is active, and has shown its image. Rejects with
   * what went wrong meanwhile.
   */
  async start(): Promise<void> {
    this.#driver.start()
    this.#scheduleSnapshots()
    try {
      if (this.#isAlone) await this.#becomeActive()
    } catch (error) {
      throw this.#cause ?? error
    }
    if (this.#cause !== null) throw this.#cause
    this.#hasStarted = true
  }

  get #isAlone(): boolean {
    const { voters } = this.#driver.raft
    return voters.size === 1 && voters.has(this.#options.raft.self)
  }

  async #becomeActive(): Promise<void> {
    const active = await this.#activeController()
    await active.whenReady()
    await this.#published.settled()
  }

  /** The newest committed image. */
  get image(): MetadataImage {
    return this.#committed.image
  }

  get epoch(): number {
    return this.#driver.raft.epoch
  }

  /** Level of the feature `kraft.version`, which the image does not have: it is in the quorum's own records. */
  get kraftVersion(): number {
    return this.#driver.raft.kraftVersion
  }

  /** Role, leader, voters, and on the leader how far the others are. */
  get facts(): RaftFacts {
    return this.#driver.raft.facts
  }

  /** One line. */
  get dump(): string {
    return this.#driver.raft.dump()
  }

  /** This node decides on metadata. */
  get isActive(): boolean {
    return this.#failure === null && this.#active?.epoch === this.#driver.raft.epoch
  }

  /** For how long no leader of the quorum has been heard; 0 on the leader, which gives up by itself without a majority. */
  get leaderSilentMs(): number {
    if (this.isActive) return 0
    return this.#env.clock.monotonicMs() - this.#driver.raft.leaderHeardMs
  }

  /**
   * Others may have decided what this node has not learnt, although it is heard and hears: its disk takes no metadata, or has
   * not taken all that it knows to be committed, or no leader of the quorum has told it anything for a while.
   */
  get mayBeBehind(): boolean {
    if (this.isActive) return false
    const { leaderHighWatermark, isFull } = this.#driver
    const isLate = leaderHighWatermark !== null && this.#committed.nextOffset < leaderHighWatermark
    return isFull || isLate || this.leaderSilentMs >= this.#options.raft.fetchTimeoutMs
  }

  /** Who does, as far as this node knows; null after a failure of its own. */
  activeController(): number | null {
    return this.#failure === null ? this.#driver.raft.leaderId : null
  }

  /** Where the active controller is reached by other nodes. */
  leaderAddress(): Address | null {
    const { leaderEndpoints } = this.#driver.raft
    const endpoint = leaderEndpoints.find(({ name }) => name === this.#options.raft.listener)
    return endpoint === undefined ? null : { host: endpoint.host, port: endpoint.port }
  }

  /** Resolves when the image has all that was committed when this node first heard a leader. Rejects when it fails or stops first. */
  caughtUp(): Promise<void> {
    return this.#caughtUp.promise
  }

  /** Resolves when `onImage` has taken all that is committed now. */
  whenPublished(): Promise<void> {
    return this.#published.settled()
  }

  /**
   * Decides on a request, when this node is the active controller, and answers when what it changes is committed. Rejects
   * with `NotControllerError`, also when leadership is lost before: the outcome is unknown then; with `LogUnavailableError`
   * when the log takes no records (`out-of-space`) or failed (`storage`).
   */
  async handle<A extends ControllerApi>(
    api: A,
    request: RequestOf<A>,
    version: number = api.versions[1],
  ): Promise<ResponseOf<A>> {
    const active = this.#activeNow() ?? (await this.#activeController())
    return active.handle(api, request, version)
  }

  #activeNow(): ActiveController | null {
    return this.#driver.isBusy ? null : this.#active
  }

  /** Waits while an election of this node is being finished. */
  async #activeController(): Promise<ActiveController> {
    for (;;) {
      if (this.#failure !== null) throw this.#failure
      const active = this.#activeNow()
      if (active !== null) return active
      if (!this.#driver.isBusy && this.#driver.leading === null)
        throw new NotControllerError(this.#driver.raft.leaderId)
      await this.#driver.nextSettled()
    }
  }

  /**
   * The process of a broker that registered with this epoch is known to be dead. Where this node is the active controller
   * its leaderships move at once; anywhere else nothing is done.
   */
  brokerLost(brokerId: number, brokerEpoch: number): void {
    this.#activeNow()?.brokerLost(brokerId, brokerEpoch)
  }

  /** The answer to a request about the quorum itself, of a peer or an operator. Rejects with `NoAnswerError`. */
  answer(request: InboundRequest, version: number, listener: string): Promise<OutboundResponse> {
    return this.#driver.ask(request, version, listener)
  }

  describeQuorum(request: DescribeQuorumRequest): DescribeQuorumResponse {
    const { raft, log } = this.#options
    const { clock } = this.#env
    const now = { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() }
    return describeQuorum({ raft: this.facts, self: raft.self, endOffset: log.endOffset, ...now }, request)
  }

  /** The topics that were deleted, as far back as the log goes. */
  removedTopics(): Promise<ReadonlySet<TopicId>> {
    return removedTopics(this.#options.log.partitionLog, this.#committed.nextOffset)
  }

  /** Writes a snapshot of the committed image; resolves when it is durable and what it makes unnecessary is gone. */
  async takeSnapshot(): Promise<void> {
    const { image, voters } = this.#committed
    this.#committed.snapshotTaken()
    this.#snapshotAtMs = this.#env.clock.monotonicMs()
    // What the node has not done yet (removing a deleted topic's files, say) must still be told by the log after a crash.
    await this.#options.snapshotsAfter
    await this.#published.settled()
    if (this.#isStopped) return
    await this.#snapshots.take({ image, voters })
  }

  #snapshotInBackground(): void {
    this.takeSnapshot().catch((error: Error) => {
      // Without a new snapshot nothing is lost: the log keeps everything, and the next one is tried after as many bytes.
      this.#env.log.error('A metadata snapshot could not be written', { reason: error.message })
    })
  }

  #scheduleSnapshots(): void {
    this.#timer = this.#env.timers.after(SNAPSHOT_CHECK_MS, () => {
      if (this.#isStopped) return
      const intervalMs = brokerNumber(this.image, this.#options.broker, 'metadata.log.max.snapshot.interval.ms')
      const isDue = intervalMs > 0 && this.#env.clock.monotonicMs() - this.#snapshotAtMs >= intervalMs
      if (isDue && this.#committed.bytesSinceSnapshot > 0) this.#snapshotInBackground()
      this.#scheduleSnapshots()
    })
  }

  #snapshotWhenLarge(): void {
    const { bytesSinceSnapshot } = this.#committed
    if (bytesSinceSnapshot === 0 || !this.#snapshots.isIdle) return
    const limit = brokerNumber(this.image, this.#options.broker, 'metadata.log.max.record.bytes.between.snapshots')
    if (bytesSinceSnapshot >= limit) this.#snapshotInBackground()
  }

  /** Something happened in the quorum: first who leads, then what is committed, then what follows from both. */
  #settle(): void {
    this.#mustSettle = true
    if (this.#isSettling || this.#isStopped) return
    this.#isSettling = true
    while (this.#mustSettle && !this.#isStopped) {
      this.#mustSettle = false
      const { leading } = this.#driver
      if (this.#active !== null && this.#active.epoch !== leading?.epoch) this.#deactivate()
      this.#committed.advance(this.#driver.committedOffset)
      this.#active?.committed(this.#committed.nextOffset)
      if (leading !== null && this.#active === null) this.#activate(leading)
    }
    this.#isSettling = false
    this.#noticeLeader()
    this.#noticeLevel()
    this.#snapshotWhenLarge()
  }

  /** This node was elected, and may act once its epoch's first record is applied: all before it is then, too. */
  #activate({ epoch, startOffset }: Leading): void {
    if (this.#committed.nextOffset <= startOffset || this.#failure !== null) return
    const { broker, raft } = this.#options
    const { image, isInTransaction } = this.#committed
    const { clusterId } = raft
    const log = this.#ledLog(epoch)
    this.#active = new ActiveController(this.#env, { epoch, clusterId, broker, log, image, isInTransaction })
    this.#env.log.info('This node is the active controller', { epoch, offset: image.position.offset })
    this.#active.begin()
    this.#options.onActive()
  }

  #ledLog(epoch: number): LedLog {
    const { log } = this.#options
    const driver = this.#driver
    return {
      get endOffset() {
        return log.endOffset
      },
      get isLed() {
        return !driver.isBusy && driver.leading?.epoch === epoch
      },
      get refusal() {
        return log.refusal
      },
      append: (records, metadataVersion, onAppended) => driver.appendSet(records, metadataVersion, onAppended),
      adoptLater: (set, changes) => this.#committed.adoptLater(set, changes),
    }
  }

  #deactivate(reason: Error = this.#notLeading()): void {
    this.#active?.end(reason)
    this.#active = null
    this.#committed.forgetAdoptable()
  }

  #notLeading(): NotControllerError {
    return new NotControllerError(this.#driver.raft.leaderId, 'this node leads the quorum no more')
  }

  #noticeLeader(): void {
    const { leaderId } = this.#driver.raft
    if (leaderId === this.#leaderId) return
    this.#leaderId = leaderId
    this.#options.onLeader(leaderId)
  }

  #noticeLevel(): void {
    const { leaderHighWatermark } = this.#driver
    const isLevel = leaderHighWatermark !== null && this.#committed.nextOffset >= leaderHighWatermark
    if (isLevel || this.#active !== null) this.#caughtUp.resolve()
  }

  #onApplied(changes: MetadataChanges): void {
    const unserved = changes.featuresChanged ? unservedFeatures(changes.after.features) : []
    if (unserved.length > 0) {
      const names = unserved.join(', ')
      this.#fail(
        new MetadataUnreadableError(
          `The cluster uses features that this version does not serve: ${names}. kafka-features.sh downgrade can lower them.`,
        ),
      )
      return
    }
    if (this.#failure === null) this.#published.publish(changes)
  }

  #fail(error: Error): void {
    if (this.#failure !== null || this.#isStopped) return
    this.#cause = error
    this.#failure = new LogUnavailableError('storage', `the metadata of this node failed: ${error.message}`)
    this.#end(this.#failure)
    // Before that it is for whoever starts this node to say.
    if (this.#hasStarted) this.#options.onFailure(error)
  }

  #end(reason: Error): void {
    this.#timer?.cancel()
    this.#autoJoin?.stop()
    this.#deactivate(reason)
    this.#caughtUp.reject(reason)
  }

  /** Takes no more requests, and hands over. What was appended may still become durable, but nobody is told. */
  async stop(): Promise<void> {
    const reason = new NotControllerError(null, 'this node is stopping')
    this.#failure ??= reason
    this.#end(reason)
    await this.#driver.stop()
    this.#isStopped = true
    await this.#snapshots.settled()
    await this.#options.log.snapshots.abandon()
  }
}
