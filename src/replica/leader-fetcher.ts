import { letGoBlock } from '../base/blocks.ts'
import type { Timer } from '../env/clock.ts'
import type { Env } from '../env/env.ts'
import type { Address } from '../env/net.ts'
import type { PartitionFollower } from '../partition/follower.ts'
import { Fetch, type FetchResponse } from '../protocol/apis/fetch.ts'
import { errorName } from '../protocol/errors.ts'
import { ClientError } from '../rpc/errors.ts'
import type { Peers } from '../rpc/peers.ts'
import { FETCH_VERSIONS, FetchRequests, type FetchLimits } from './fetch-requests.ts'
import { Followed, type FollowedHost } from './followed.ts'
import { FollowedSet } from './followed-set.ts'
import { askOffsets } from './leader-offsets.ts'
import type { Partition } from './partition.ts'
import { isThrottled, type Throttles } from './throttles.ts'

/** A leader that cannot be reached, or answers nonsense, is asked again after this, then less often. */
const RETRY_MS_MIN = 20
const RETRY_MS_MAX = 1000
/** On top of what the leader may let a fetch wait: then it is taken to be gone. */
const ANSWER_MS_MAX = 5000
/**
 * What has come is to be on disk before more is asked for, so that one request tells both; but no longer than this, for a
 * slow disk under one partition must not hold up all others.
 */
const DISK_WAIT_MS_MAX = 3
/** After this a partition that was throttled is looked at again. */
const HELD_BACK_MS = 100
/** A leader that does not know of that leaves out what is not on disk by then. */
const DISK_WAIT_OF_OTHERS_MS_MAX = 50

export interface FetcherOptions {
  readonly nodeId: number
  readonly peers: Peers
  readonly limits: FetchLimits
  brokerEpoch(): number
  addressOf(nodeId: number): Address | null
  /** Whether the broker counts what its followers have fsynced, and heeds wakes. Another counts all that is asked beyond. */
  isOurs(nodeId: number): boolean
  lostCommitted(partition: Partition, from: number): void
  readonly metrics: FetcherMetrics
  readonly throttles: Throttles
}

export interface FetcherMetrics {
  followerFetches: number
  followerWakes: number
  followerBytes: number
  followerFailures: number
}

/**
 * Follows one leader node: one Fetch at a time for all partitions that it leads and this node replicates. It is sent as
 * soon as there is something to ask or to tell. Life cycle: `add` at any time, what has gone
 * drops out by itself; `stop` once.
 */
export class LeaderFetcher implements FollowedHost {
  readonly leaderId: number
  readonly #env: Env
  readonly #options: FetcherOptions
  readonly #requests: FetchRequests
  readonly #followed = new FollowedSet()
  /** What the next request is about. */
  #changed = new Set<Followed>()
  /** Those whose records of the last answers are not on disk. */
  readonly #awaited = new Set<Followed>()
  readonly #paused = new Set<Followed>()
  /** Throttled for now. */
  readonly #held = new Set<Followed>()
  /** `gathering`: for what is to be told with the next request. */
  #state: 'idle' | 'gathering' | 'asking' | 'retrying' = 'idle'
  /** For the disk, or until the next try. */
  #timer: Timer | null = null
  #pauseTimer: Timer | null = null
  #wakeTimer: Timer | null = null
  #heldTimer: Timer | null = null
  /** The request under way has been called back. */
  #isWoken = false
  #isSending = false
  #failures = 0
  #isStopped = false

  constructor(env: Env, leaderId: number, options: FetcherOptions) {
    this.#env = env
    this.leaderId = leaderId
    this.#options = options
    this.#requests = new FetchRequests(options.limits)
  }

  readonly nowMs = (): number => this.#env.clock.monotonicMs()

  get size(): number {
    return this.#followed.size
  }

  get countsDurable(): boolean {
    return this.#options.isOurs(this.leaderId)
  }

  /** `machine` is the partition's, and has just begun. */
  add(partition: Partition, machine: PartitionFollower): void {
    const followed = new Followed(partition, machine, this)
    this.#followed.set(followed)
    this.changed(followed)
  }

  stop(): void {
    this.#isStopped = true
    for (const timer of [this.#timer, this.#pauseTimer, this.#wakeTimer, this.#heldTimer]) timer?.cancel()
  }

  progressed(followed: Followed): void {
    if (!followed.isCurrent) this.#drop(followed)
    else if (!this.#awaited.has(followed) || followed.countedOffset < followed.awaitedOffset) return
    this.changed(followed)
  }

  changed(followed: Followed): void {
    if (this.#isStopped) return
    this.#changed.add(followed)
    this.#await(followed)
    this.#watchPause(followed)
    if (this.#state === 'idle') this.#sendSoon()
    else if (this.#state === 'asking') this.#wakeSoon()
    else if (this.#state === 'gathering' && this.#awaited.size === 0) this.#sendSoon()
  }

  /** What it holds and has not on disk is told as such, and again once it is there. */
  #await(followed: Followed): void {
    const endOffset = followed.partition.log?.endOffset ?? 0
    const isBehind = followed.isCurrent && followed.machine.state === 'fetching' && followed.countedOffset < endOffset
    followed.awaitedOffset = endOffset
    if (isBehind) this.#awaited.add(followed)
    else this.#awaited.delete(followed)
  }

  /** Followed no more, or in another epoch by another object. */
  #drop(followed: Followed): void {
    this.#followed.delete(followed)
    this.#awaited.delete(followed)
    this.#paused.delete(followed)
    this.#held.delete(followed)
  }

  /** Asked about again by itself. */
  isHeldBack(followed: Followed): boolean {
    const { nodeId, throttles } = this.#options
    const { settings, topicPartition } = followed.partition
    const isLimited = isThrottled(settings.throttledFollowers, topicPartition.partition, nodeId)
    if (!isLimited || !followed.isBehind || !throttles.follower.isExceeded) return false
    this.#held.add(followed)
    this.#heldTimer ??= this.#env.timers.after(HELD_BACK_MS, () => this.#askHeld())
    return true
  }

  #askHeld(): void {
    this.#heldTimer = null
    const held = [...this.#held]
    this.#held.clear()
    for (const followed of held) this.changed(followed)
  }

  askOffsets(followed: Followed): void {
    const { nodeId, peers, addressOf } = this.#options
    const address = addressOf(this.leaderId)
    if (address === null) return followed.tellOffsets(null)
    const told = askOffsets(peers, address, { nodeId, followed })
    void told.then((offsets) => {
      if (this.#isStopped) return
      followed.tellOffsets(offsets)
      this.#settle(followed)
    })
  }

  lostCommitted(followed: Followed, from: number): void {
    this.#options.lostCommitted(followed.partition, from)
  }

  damaged({ partition }: Followed, reason: string): void {
    const { leaderId } = this
    this.#env.log.error('What a leader sent was not taken', { partition: partition.name, leaderId, reason })
  }

  dump(): string {
    return `leader ${this.leaderId}: ${this.#state} followed=${this.#followed.size} awaited=${this.#awaited.size} paused=${this.#paused.size}`
  }

  /** After the present event: an image adds many at a time, and one write makes several batches durable. */
  #sendSoon(): void {
    this.#state = 'gathering'
    if (this.#isSending) return
    this.#isSending = true
    void Promise.resolve().then(() => {
      this.#isSending = false
      if (this.#state === 'gathering' && this.#awaited.size === 0) this.#send()
    })
  }

  #sendWhenDurable(): void {
    if (this.#awaited.size === 0) return this.#send()
    this.#state = 'gathering'
    this.#setTimer(this.countsDurable ? DISK_WAIT_MS_MAX : DISK_WAIT_OF_OTHERS_MS_MAX)
  }

  #setTimer(delayMs: number): void {
    this.#timer?.cancel()
    this.#timer = this.#env.timers.after(delayMs, () => this.#send())
  }

  #send(): void {
    this.#timer?.cancel()
    this.#timer = null
    if (this.#isStopped) return
    if (this.#requests.isFull && !this.#isAnyFetching()) {
      this.#state = 'idle'
      return
    }
    const address = this.#options.addressOf(this.leaderId)
    if (address === null) return this.#retry('no address is known')
    this.#state = 'asking'
    this.#ask(address).then(
      (response) => this.#answered(response),
      (error: unknown) => {
        if (!(error instanceof ClientError)) throw error
        this.#retry(error.message)
      },
    )
  }

  #isAnyFetching(): boolean {
    for (const followed of this.#followed) if (followed.mayAsk) return true
    return false
  }

  #ask(address: Address): Promise<FetchResponse> {
    const { peers, nodeId, brokerEpoch, limits, metrics } = this.#options
    metrics.followerFetches += 1
    this.#isWoken = false
    const changed = this.#changed
    this.#changed = new Set()
    const from = { replicaId: nodeId, replicaEpoch: brokerEpoch() }
    const body = this.#requests.next({ changed, all: this.#followed }, from)
    const timeoutMs = limits.maxWaitMs + ANSWER_MS_MAX
    return peers.request(address, 'fetch', Fetch, body, { versions: FETCH_VERSIONS, timeoutMs })
  }

  #answered(response: FetchResponse): void {
    if (this.#isStopped) return
    if (!this.#requests.answered(response)) return this.#retry(`${errorName(response.errorCode)} for the whole fetch`)
    this.#failures = 0
    let block: Buffer | null = null
    for (const { topicId, partitions } of response.responses) {
      for (const answer of partitions) {
        const records = answer.records?.[0]
        if (records !== undefined && records.length > 0) {
          block = records
          this.#options.metrics.followerBytes += records.length
        }
        const followed = this.#followed.get(topicId, answer.partitionIndex)
        if (followed === undefined || !followed.isFetching || followed.askedOffset < 0) continue
        this.#countThrottled(followed, records?.length ?? 0)
        followed.take(answer)
        this.#settle(followed)
      }
    }
    // The logs hold what they keep of it.
    if (block !== null) letGoBlock(block)
    this.#sendWhenDurable()
  }

  #countThrottled({ partition: { settings, topicPartition } }: Followed, bytes: number): void {
    const { nodeId, throttles } = this.#options
    if (isThrottled(settings.throttledFollowers, topicPartition.partition, nodeId)) throttles.follower.used(bytes)
  }

  /** What has become of a partition by an answer. */
  #settle(followed: Followed): void {
    this.#changed.add(followed)
    this.#await(followed)
    this.#watchPause(followed)
  }

  /** One that was refused, by an answer or by its own disk when it was to be cut back, goes on by itself. */
  #watchPause(followed: Followed): void {
    if (!followed.isCurrent || followed.machine.state !== 'paused') return
    this.#paused.add(followed)
    this.#armPause()
  }

  #retry(reason: string): void {
    if (this.#isStopped) return
    this.#options.metrics.followerFailures += 1
    this.#requests.reset()
    // It leads nothing of ours any more: a node that stops gives its leaderships away first, and then its sessions.
    if (this.#followed.size === 0) {
      this.#state = 'idle'
      return
    }
    this.#state = 'retrying'
    const delayMs = Math.min(RETRY_MS_MIN * 2 ** this.#failures, RETRY_MS_MAX)
    if (this.#failures === 0) this.#env.log.info('A leader cannot be followed', { leaderId: this.leaderId, reason })
    this.#failures += 1
    this.#setTimer(delayMs)
  }

  /** One timer for all: the earliest. */
  #armPause(): void {
    if (this.#pauseTimer !== null || this.#paused.size === 0) return
    const resumeMs = Math.min(...Array.from(this.#paused, ({ machine }) => machine.resumeMs))
    this.#pauseTimer = this.#env.timers.after(Math.max(resumeMs - this.nowMs(), 0), () => this.#resume())
  }

  #resume(): void {
    this.#pauseTimer = null
    const nowMs = this.nowMs()
    for (const followed of this.#paused) {
      followed.tick(nowMs)
      if (followed.isCurrent && followed.machine.state === 'paused') continue
      this.#paused.delete(followed)
      this.changed(followed)
    }
    this.#armPause()
  }

  /** A fetch waits at the leader and knows nothing of this: it is called back, once all has been said that is to be said. */
  #wakeSoon(): void {
    if (this.#isWoken || this.#wakeTimer !== null || !this.countsDurable) return
    this.#wakeTimer = this.#env.timers.after(0, () => {
      this.#wakeTimer = null
      if (this.#state === 'asking' && this.#changed.size > 0) this.#wake()
    })
  }

  #wake(): void {
    const { peers, nodeId, brokerEpoch, addressOf, metrics } = this.#options
    const { waiting } = this.#requests
    const address = addressOf(this.leaderId)
    if (waiting === null || address === null) return
    this.#isWoken = true
    metrics.followerWakes += 1
    const replicaState = { replicaId: nodeId, replicaEpoch: brokerEpoch() }
    const nothing = { topics: [], forgottenTopicsData: [], sessionId: 0, sessionEpoch: -1, maxWaitMs: 0, minBytes: 0 }
    const body = { ...nothing, replicaState, wake: waiting }
    const over = () => {}
    peers.request(address, 'wake', Fetch, body, { versions: FETCH_VERSIONS, timeoutMs: ANSWER_MS_MAX }).then(over, over)
  }
}
