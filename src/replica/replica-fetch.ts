import { letGoBlocks } from '../base/blocks.ts'
import type { FetchRequest } from '../protocol/apis/fetch.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { INT64_MAX } from '../protocol/limits.ts'
import type { Expiring } from './deadlines.ts'
import { type FetchAnswer, type FetchParts, partitionAnswer } from './fetch.ts'
import type { PartitionRead, ReadRequest } from './fetch-read.ts'
import { LeaderHints } from './leader-hints.ts'
import type { LeadershipChecks } from './leadership-checks.ts'
import { Partition } from './partition.ts'
import { findLed, glance, readToEnd } from './replica-read.ts'
import type { ReplicaTarget, SessionWaiter } from './replica-session.ts'
import type { ReplicaPlan, ReplicaSessions } from './replica-sessions.ts'
import { isThrottled, type RateLimit, type Throttles } from './throttles.ts'
import type { RequestContext } from './types.ts'

/** The first version that says which incarnation of the follower asks (KIP-903). */
const REPLICA_STATE_VERSION = 15
/**
 * Of what has to be read from disk, for followers that are far behind: those that are level, and wait in the same answer,
 * shall not wait long.
 */
const DISK_BYTES_PER_FETCH_MAX = 4 * 1024 * 1024

export interface ReplicaFetchParts extends FetchParts {
  readonly replicaSessions: ReplicaSessions
  readonly checks: LeadershipChecks
  readonly throttles: Throttles
}

/** Fetch of followers, versions 4 to 18: what they hold is told to the leaders here, and they are given what comes after. */
export class ReplicaFetchService {
  readonly #parts: ReplicaFetchParts

  constructor(parts: ReplicaFetchParts) {
    this.#parts = parts
  }

  fetch(request: FetchRequest, context: RequestContext): FetchAnswer | Promise<FetchAnswer> {
    const { replicaSessions, hosted, clock, checks } = this.#parts
    const follower = followerOf(request, context)
    const { replicaId, replicaEpoch } = follower
    if (context.mayReplicate === false) return refusal(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    // Sent by an earlier life of that broker, and come late: it says what is not true any more.
    const known = hosted.image.broker(replicaId)?.brokerEpoch
    if (replicaEpoch >= 0 && known !== undefined && replicaEpoch < known) return refusal(ErrorCode.STALE_BROKER_EPOCH)
    if (request.wake.sessionId !== 0) {
      replicaSessions.wake(replicaId, request.wake)
      return { errorCode: 0, sessionId: 0, responses: [] }
    }
    const plan = replicaSessions.plan(request, { replicaId, nowMs: clock.monotonicMs() })
    if (plan.kind === 'refused') return refusal(plan.errorCode)
    const named = plan.isFull ? [...plan.session] : plan.session.update(request)
    if (!plan.isFull) checks.heard(plan.session)
    return new PendingReplicaFetch(this.#parts, plan, { request, context, follower }).run(named)
  }
}

interface Follower {
  readonly replicaId: number
  /** -1: it does not say. */
  readonly replicaEpoch: number
}

/** Who asks; replica id -1 for a consumer. */
export function followerOf({ replicaId, replicaState }: FetchRequest, { version }: RequestContext): Follower {
  return version >= REPLICA_STATE_VERSION ? replicaState : { replicaId, replicaEpoch: -1 }
}

function refusal(errorCode: number): FetchAnswer {
  return { errorCode, sessionId: 0, responses: [] }
}

interface Told {
  readonly target: ReplicaTarget
  readonly read: PartitionRead
}

/** All that one attempt found. */
interface Reading {
  readonly told: Told[]
  bytes: number
  diskBytes: number
  /** The follower must hear of it now. */
  isUrgent: boolean
}

/** One fetch of a follower, from its arrival to its answer. */
class PendingReplicaFetch implements SessionWaiter, Expiring {
  deadlineSlot = 0
  readonly #parts: ReplicaFetchParts
  readonly #plan: Extract<ReplicaPlan, { kind: 'fetch' }>
  readonly #context: RequestContext
  readonly #follower: Follower
  readonly #request: ReadRequest & { readonly replicaId: number }
  readonly #maxBytes: number
  readonly #minBytes: number
  readonly #maxWaitMs: number
  #state: 'reading' | 'parked' | 'done' = 'reading'
  #isWaitedOut: boolean
  #isStale = false
  #isLooking = false
  #resolve: ((answer: FetchAnswer) => void) | null = null
  #reject: ((error: unknown) => void) | null = null

  constructor(
    parts: ReplicaFetchParts,
    plan: Extract<ReplicaPlan, { kind: 'fetch' }>,
    asked: { request: FetchRequest; context: RequestContext; follower: Follower },
  ) {
    const { request, context, follower } = asked
    this.#parts = parts
    this.#plan = plan
    this.#context = context
    this.#follower = follower
    const { replicaId } = follower
    const nothing = { readCommitted: false, mayReadFollower: false, rack: '' }
    this.#request = { context, replicaId, ...nothing, bytesLeft: 0, isFirst: true }
    this.#maxBytes = Math.min(request.maxBytes, parts.maxBytes)
    this.#minBytes = Math.min(request.minBytes, this.#maxBytes)
    this.#maxWaitMs = request.maxWaitMs
    this.#isWaitedOut = request.maxWaitMs <= 0 || plan.isWoken || parts.checks.isAwaited(replicaId)
  }

  run(named: readonly ReplicaTarget[]): FetchAnswer | Promise<FetchAnswer> {
    const { session } = this.#plan
    for (const target of named) {
      this.#hear(target)
      session.news.add(target)
    }
    const reading = this.#read()
    if (!(reading instanceof Promise) && this.#suffices(reading)) return this.#answer(reading)
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      this.#context.abandoned = () => this.#end()
      session.waiter = this
      if (reading instanceof Promise) this.#after(reading)
      else this.#settle(reading)
    })
  }

  /** Several appends of one request, or of requests that came together, go into one answer. */
  newsCame(): void {
    if (this.#state !== 'parked') this.#isStale = true
    else if (!this.#isLooking) {
      this.#isLooking = true
      void Promise.resolve().then(() => {
        this.#isLooking = false
        this.#look()
      })
    }
  }

  wake(): void {
    this.#isWaitedOut = true
    this.#isStale = true
    this.#look()
  }

  expired(): void {
    this.#parts.metrics.fetchTimeouts += 1
    this.wake()
  }

  supersede(): void {
    if (this.#state === 'done') return
    this.#end()
    this.#resolve?.(refusal(ErrorCode.INVALID_FETCH_SESSION_EPOCH))
  }

  /** What the follower holds by its own word counts, if its history is ours. */
  #hear(target: ReplicaTarget): void {
    const partition = findLed(this.#parts.hosted, target, this.#request)
    if (!(partition instanceof Partition)) return
    target.watch(partition)
    const { errorCode, diverges } = glance(partition, target)
    if (errorCode !== 0 || diverges) return
    partition.fetched({
      replica: this.#follower.replicaId,
      brokerEpoch: this.#follower.replicaEpoch,
      startOffset: target.startOffset,
      endOffset: target.fetchOffset,
      writtenOffset: target.writtenOffset,
      durableOffset: target.durableOffset,
      nowMs: this.#parts.clock.monotonicMs(),
    })
  }

  #look(): void {
    if (this.#state !== 'parked') return
    this.#state = 'reading'
    this.#parts.metrics.fetchesParked -= 1
    const reading = this.#read()
    if (reading instanceof Promise) this.#after(reading)
    else this.#settle(reading)
  }

  #after(reading: Promise<Reading>): void {
    reading.then(
      (done) => this.#settle(done),
      (error) => {
        this.#end()
        this.#reject?.(error)
      },
    )
  }

  #settle(reading: Reading): void {
    if (this.#state === 'done') return drop(reading)
    if (this.#suffices(reading)) {
      this.#end()
      this.#resolve?.(this.#answer(reading))
      return
    }
    drop(reading)
    this.#park()
    if (this.#isStale) this.newsCame()
  }

  #suffices({ isUrgent, bytes }: Reading): boolean {
    return this.#isWaitedOut || isUrgent || (bytes > 0 && bytes >= this.#minBytes)
  }

  #park(): void {
    this.#state = 'parked'
    this.#parts.metrics.fetchesParked += 1
    if (this.deadlineSlot === 0) this.#parts.deadlines.add(this, this.#maxWaitMs)
  }

  #end(): void {
    const { session } = this.#plan
    if (this.#state === 'parked') this.#parts.metrics.fetchesParked -= 1
    this.#state = 'done'
    if (this.deadlineSlot !== 0) this.#parts.deadlines.remove(this)
    if (session.waiter === this) session.waiter = null
    this.#context.abandoned = null
  }

  #read(): Reading | Promise<Reading> {
    this.#isStale = false
    const { session, isFull } = this.#plan
    const reading: Reading = { told: [], bytes: 0, diskBytes: 0, isUrgent: false }
    return this.#readFrom(isFull ? [...session] : [...session.news], 0, reading)
  }

  #readFrom(targets: readonly ReplicaTarget[], from: number, reading: Reading): Reading | Promise<Reading> {
    for (let index = from; index < targets.length; index++) {
      const target = targets[index] as ReplicaTarget
      const { request } = this.#budget(reading)
      // The others keep their news, and come first next time.
      if (request.bytesLeft <= 0 && !request.isFirst && !this.#plan.isFull) break
      const partition = findLed(this.#parts.hosted, target, request)
      const read = partition instanceof Partition ? this.#readOne(partition, target) : partition
      if (read instanceof Promise) {
        return read.then((done) => {
          reading.diskBytes += done.bytes
          this.#take(reading, target, done)
          return this.#readFrom(targets, index + 1, reading)
        })
      }
      this.#take(reading, target, read)
    }
    return reading
  }

  #readOne(partition: Partition, target: ReplicaTarget): PartitionRead | Promise<PartitionRead> {
    const limit = this.#limitOf(partition)
    if (limit === null) return readToEnd(partition, target, this.#request)
    if (limit.isExceeded && !partition.leader?.isr.includes(this.#request.replicaId)) {
      return { ...glance(partition, target), isHeldBack: true }
    }
    const used = (read: PartitionRead) => {
      limit.used(read.bytes)
      return read
    }
    const read = readToEnd(partition, target, this.#request)
    return read instanceof Promise ? read.then(used) : used(read)
  }

  /** What this follower may get of the partition a second; null: all there is. */
  #limitOf({ settings, topicPartition }: Partition): RateLimit | null {
    const { replicaId } = this.#request
    const isLimited = isThrottled(settings.throttledLeaders, topicPartition.partition, replicaId)
    return isLimited ? this.#parts.throttles.leader : null
  }

  #budget({ bytes, diskBytes }: Reading): { request: ReadRequest & { readonly replicaId: number } } {
    this.#request.bytesLeft = Math.min(this.#maxBytes - bytes, DISK_BYTES_PER_FETCH_MAX - diskBytes)
    this.#request.isFirst = bytes === 0
    return { request: this.#request }
  }

  #take(reading: Reading, target: ReplicaTarget, read: PartitionRead): void {
    const isHighWatermarkNews = target.highWatermark !== INT64_MAX && read.highWatermark > target.highWatermark
    // DeleteRecords is answered when the followers have done the same.
    const isStartNews = read.logStartOffset > target.startOffset && read.logStartOffset !== target.toldLogStartOffset
    const isUrgent = read.errorCode !== 0 || read.diverges || isHighWatermarkNews || isStartNews
    const isNews = isUrgent || read.bytes > 0 || read.highWatermark !== target.toldHighWatermark
    if (isUrgent) reading.isUrgent = true
    reading.bytes += read.bytes
    if (isNews || this.#plan.isFull) reading.told.push({ target, read })
    else if (!read.isHeldBack) this.#plan.session.news.delete(target)
  }

  #answer({ told, bytes }: Reading): FetchAnswer {
    const { session } = this.#plan
    const hints = new LeaderHints(this.#parts.hosted, this.#context)
    const byTopic = new Map<string, FetchAnswer['responses'][number]['partitions'][number][]>()
    const responses: FetchAnswer['responses'][number][] = []
    for (const { target, read } of told) {
      remember(target, read)
      if (!read.isHeldBack) session.news.delete(target)
      const key = `${target.topic}/${target.topicId}`
      let partitions = byTopic.get(key)
      if (partitions === undefined) {
        partitions = []
        byTopic.set(key, partitions)
        responses.push({ topic: target.topic, topicId: target.topicId, partitions })
      }
      partitions.push(partitionAnswer(target, read, { hints, version: this.#context.version }))
    }
    this.#context.lent = told.flatMap(({ read }) => read.records)
    this.#context.heldBytes = bytes
    this.#parts.answers.hold(bytes)
    this.#parts.metrics.replicaFetchBytes += bytes
    this.#parts.checks.answered(session)
    if (session.id === 0) session.close()
    return { errorCode: 0, sessionId: session.id, responses, nodeEndpoints: [] }
  }
}

function remember(target: ReplicaTarget, { errorCode, highWatermark, logStartOffset }: PartitionRead): void {
  target.toldHighWatermark = errorCode === 0 ? highWatermark : -1
  target.toldLogStartOffset = logStartOffset
  if (target.highWatermark !== INT64_MAX) target.highWatermark = Math.max(target.highWatermark, highWatermark)
}

/** Nobody is going to get this. */
function drop({ told }: Reading): void {
  for (const { read } of told) letGoBlocks(read.records)
}
