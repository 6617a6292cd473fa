import { assert } from '../base/assert.ts'
import { type BrokerContext, brokerNumber } from '../controller/config-view.ts'
import type { Notice } from '../controller/decision.ts'
import { METADATA_VERSION } from '../controller/features.ts'
import { type ControllerApi, ControllerShard } from '../controller/shard.ts'
import type { Timer } from '../env/clock.ts'
import type { Env } from '../env/env.ts'
import { LogUnavailableError } from '../env/replicated-log.ts'
import type { MetadataChanges } from '../metadata/changes.ts'
import { MetadataImage } from '../metadata/image.ts'
import type { MetadataRecord } from '../metadata/records.ts'
import { recordsOf } from '../metadata/snapshot.ts'
import type { TopicId } from '../model/ids.ts'
import type { DescribeQuorumRequest, DescribeQuorumResponse } from '../protocol/apis/describe-quorum.ts'
import type { RequestOf, ResponseOf } from '../protocol/schema.ts'
import { describeQuorum } from './describe-quorum.ts'
import { type ImageListener, Published } from './published.ts'
import type { QuorumLog } from './quorum-log.ts'

export interface ControllerOptions {
  readonly clusterId: string
  readonly broker: BrokerContext
  /** Hears of every image after the one that `image` is when `start` resolves, in order; several may come as one. */
  readonly onImage: ImageListener
  /** The log can say no more what is committed, or `onImage` failed: the node must stop. */
  readonly onFailure: (error: Error) => void
}

/** Records that are in the log but not yet committed, or an answer that rests on such records. */
interface Pending {
  readonly lastOffset: number
  readonly image: MetadataImage
  readonly changes: MetadataChanges | null
  readonly bytes: number
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/** How often silent brokers are looked for, as a part of the session timeout. */
const CHECKS_PER_SESSION = 8

/**
 * The active controller on its log. A request is decided on at once, by the image of all that was appended before; its
 * records go to the log in one set; the answer leaves when they are committed. So requests need not wait for each
 * other's disk writes, and what one was promised is true for the next. Should a commit fail, this controller fails for
 * good, and what it decided on top is never told to anyone.
 */
export class MetadataController {
  readonly #env: Env
  readonly #options: ControllerOptions
  readonly #log: QuorumLog
  readonly #published: Published
  #shard: ControllerShard | null = null
  #pending: Pending[] = []
  #committed: MetadataImage = MetadataImage.empty
  #bytesSinceSnapshot: number
  #snapshotAtMs = 0
  #timer: Timer | null = null
  #failure: LogUnavailableError | null = null

  constructor(env: Env, log: QuorumLog, options: ControllerOptions) {
    this.#env = env
    this.#log = log
    this.#options = options
    this.#published = new Published(options.onImage, (error) => this.#fail(error))
    this.#bytesSinceSnapshot = log.bytesSinceSnapshot
  }

  /** Leads the log, of which `image` was loaded. Requests are taken when it resolves. */
  async start(image: MetadataImage): Promise<void> {
    await this.#log.lead()
    this.#log.listener = {
      committed: (offset) => this.#onCommitted(offset),
      failed: (error) => this.#fail(error),
    }
    const { clusterId, broker } = this.#options
    const nowMs = this.#env.clock.monotonicMs()
    this.#shard = new ControllerShard({ clusterId, broker, newId: () => this.#newId() }, image, nowMs)
    this.#committed = image
    this.#published.begin(image)
    this.#snapshotAtMs = nowMs
    if (!image.features.has('metadata.version')) await this.#commit(this.#log.bootstrapRecords)
    await this.#published.settled()
    this.#scheduleChecks()
  }

  /** The newest committed image. */
  get image(): MetadataImage {
    return this.#committed
  }

  get epoch(): number {
    return this.#log.epoch
  }

  /** Level of the feature `kraft.version`, which the image does not have: it is in the quorum's own records. */
  get kraftVersion(): number {
    return this.#log.voterSet.kraftVersion
  }

  /** Resolves when `onImage` has taken all that is committed now. */
  whenPublished(): Promise<void> {
    return this.#published.settled()
  }

  /** This node, unless it failed. */
  activeController(): number | null {
    return this.#failure === null ? this.#options.broker.brokerId : null
  }

  /**
   * Decides on a request and answers when what it changes is committed. Rejects with `LogUnavailableError` when the log
   * takes no records (`out-of-space`) or will never say whether they were committed (`storage`, `resigned`).
   */
  async handle<A extends ControllerApi>(
    api: A,
    request: RequestOf<A>,
    version: number = api.versions[1],
  ): Promise<ResponseOf<A>> {
    const shard = this.#shardOrFail()
    const nowMs = this.#env.clock.monotonicMs()
    const decision = shard.handle(api, request, { version, nowMs, nextOffset: this.#log.endOffset })
    this.#note(decision.notices ?? [])
    // Without records of its own the answer may still rest on some that are not committed yet.
    await (decision.records.length > 0 ? this.#commit(decision.records) : this.#whenCommitted())
    return decision.response
  }

  /** The topics that were deleted, as far back as the log goes. */
  removedTopics(): Promise<ReadonlySet<TopicId>> {
    return this.#log.removedTopics()
  }

  describeQuorum(request: DescribeQuorumRequest): DescribeQuorumResponse {
    return describeQuorum(this.#log, this.#options.broker.brokerId, this.#env.clock.wallMs(), request)
  }

  #shardOrFail(): ControllerShard {
    if (this.#failure !== null) throw this.#failure
    assert(this.#shard !== null, 'a request for a controller that has not started')
    return this.#shard
  }

  /** Resolves when the records are committed. */
  #commit(records: readonly MetadataRecord[]): Promise<void> {
    const shard = this.#shardOrFail()
    const { lastOffset, epoch, timestampMs, bytes } = this.#log.append(records, metadataVersionOf(shard.image))
    const changes = shard.apply(records, { offset: lastOffset, epoch, timestampMs })
    return new Promise((resolve, reject) => {
      this.#pending.push({ lastOffset, image: shard.image, changes, bytes, resolve, reject })
    })
  }

  /** Resolves when everything appended so far is committed. */
  #whenCommitted(): Promise<void> {
    const last = this.#pending.at(-1)
    if (last === undefined) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.#pending.push({ ...last, changes: null, bytes: 0, resolve, reject })
    })
  }

  #onCommitted(committedOffset: number): void {
    const count = this.#pending.findIndex(({ lastOffset }) => lastOffset >= committedOffset)
    const done = this.#pending.splice(0, count < 0 ? this.#pending.length : count)
    const last = done.at(-1)
    if (last === undefined) return
    this.#committed = last.image
    for (const { changes, bytes, resolve } of done) {
      if (changes !== null) this.#published.publish(changes)
      this.#bytesSinceSnapshot += bytes
      resolve()
    }
    const limit = brokerNumber(last.image, this.#options.broker, 'metadata.log.max.record.bytes.between.snapshots')
    if (this.#bytesSinceSnapshot >= limit) this.#snapshotInBackground()
  }

  /** Writes a snapshot of the committed image; resolves when it is durable and what it makes unnecessary is gone. */
  async takeSnapshot(): Promise<void> {
    const image = this.#committed
    this.#bytesSinceSnapshot = 0
    this.#snapshotAtMs = this.#env.clock.monotonicMs()
    // What the node has not done yet (removing a deleted topic's files, say) must still be told by the log after a crash.
    await this.#published.settled()
    await this.#log.takeSnapshot(image.position, recordsOf(image), metadataVersionOf(image))
  }

  #snapshotInBackground(): void {
    this.takeSnapshot().catch((error: Error) => {
      // Without a new snapshot nothing is lost: the log keeps everything, and the next one is tried after as many bytes.
      this.#env.log.error('A metadata snapshot could not be written', { reason: error.message })
    })
  }

  #newId(): string {
    for (;;) {
      const id = this.#env.randomBytes(16).toString('base64url')
      // Kafka's own tools cannot take one that looks like a flag.
      if (!id.startsWith('-') && !isReserved(id)) return id
    }
  }

  #scheduleChecks(): void {
    const timeoutMs = brokerNumber(this.#committed, this.#options.broker, 'broker.session.timeout.ms')
    this.#timer = this.#env.timers.after(Math.max(1, timeoutMs / CHECKS_PER_SESSION), () => {
      if (this.#failure !== null) return
      this.#doWhatIsDue()
      this.#snapshotWhenDue()
      this.#scheduleChecks()
    })
  }

  #doWhatIsDue(): void {
    const nowMs = this.#env.clock.monotonicMs()
    // In rounds: what is due next depends on what the one before has changed.
    while (this.#log.refusal === null) {
      const { records, notices } = this.#shardOrFail().tick(nowMs)
      if (records.length === 0) return
      this.#note(notices)
      // Whether it is ever committed is the log's business, whose failure is reported by itself.
      this.#commit(records).catch(() => {})
    }
  }

  #note(notices: readonly Notice[]): void {
    for (const { level, message, details } of notices) this.#env.log[level](message, details)
  }

  #snapshotWhenDue(): void {
    const { broker } = this.#options
    const intervalMs = brokerNumber(this.#committed, broker, 'metadata.log.max.snapshot.interval.ms')
    if (intervalMs === 0 || this.#bytesSinceSnapshot === 0) return
    if (this.#env.clock.monotonicMs() - this.#snapshotAtMs >= intervalMs) this.#snapshotInBackground()
  }

  #fail(error: Error): void {
    if (this.#failure !== null) return
    this.#end(new LogUnavailableError('storage', `the metadata of this node failed: ${error.message}`))
    this.#options.onFailure(error)
  }

  #end(failure: LogUnavailableError): void {
    this.#failure ??= failure
    this.#timer?.cancel()
    for (const { reject } of this.#pending.splice(0)) reject(failure)
  }

  /** Takes no more requests. What was appended may still become durable, but nobody is told. */
  async stop(): Promise<void> {
    this.#end(new LogUnavailableError('resigned', 'this controller has stopped'))
    await this.#log.stop()
  }
}

function metadataVersionOf(image: MetadataImage): number {
  return image.features.get('metadata.version') ?? METADATA_VERSION
}

/** The first hundred ids are Kafka's. */
function isReserved(id: string): boolean {
  return id.startsWith('AAAAAAAAAAAAAAAAAAAAA') || id.startsWith('AAAAAAAAAAAAAAAAAAAAB')
}
