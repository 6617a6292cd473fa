import { letGoBlocks } from '../base/blocks.ts'
import type { Clock } from '../env/clock.ts'
import type { Fetch, FetchRequest } from '../protocol/apis/fetch.ts'
import type { ResponseInput } from '../protocol/schema.ts'
import type { AnswerBudget, RoomWaiter } from './answer-budget.ts'
import type { Deadlines, Expiring } from './deadlines.ts'
import { findPartition, type PartitionRead, type ReadRequest, readPartition } from './fetch-read.ts'
import type { FetchTarget } from './fetch-session.ts'
import type { FetchPlan, FetchSessions } from './fetch-sessions.ts'
import type { HostedPartitions } from './hosted.ts'
import { LeaderHints } from './leader-hints.ts'
import type { Watcher } from './audience.ts'
import { Partition } from './partition.ts'
import type { ReplicaMetrics, RequestContext } from './types.ts'

export type FetchAnswer = ResponseInput<typeof Fetch>
type TopicAnswer = FetchAnswer['responses'][number]
type PartitionAnswer = TopicAnswer['partitions'][number]

/** The first version that names topics by id (KIP-516). */
const TOPIC_IDS_VERSION = 13
/** The first version whose clients can read from followers (KIP-392). */
const READ_REPLICA_VERSION = 11
/** The first version whose answer says where other nodes are (KIP-951). */
const ENDPOINTS_VERSION = 16
/**
 * Once an answer holds this much that had to be read from disk it is sent as it is: unlike what is served from the
 * in-memory tail, this memory is the answer's own.
 */
const DISK_BYTES_PER_FETCH_MAX = 8 * 1024 * 1024

export interface FetchParts {
  readonly clock: Clock
  readonly hosted: HostedPartitions
  readonly deadlines: Deadlines
  readonly sessions: FetchSessions
  readonly metrics: ReplicaMetrics
  readonly answers: AnswerBudget
  /** `fetch.max.bytes`: no answer is larger, but for a single batch that is. */
  readonly maxBytes: number
  /** `replica.selector.class` sends consumers to replicas in their own rack. */
  readonly selectsByRack: boolean
}

/** Fetch, versions 4 to 18, from consumers: sessions, budgets, long polls. Left out: the tiered store. */
export class FetchService {
  readonly #parts: FetchParts

  constructor(parts: FetchParts) {
    this.#parts = parts
  }

  fetch(request: FetchRequest, context: RequestContext): FetchAnswer | Promise<FetchAnswer> {
    const { sessions, metrics, clock } = this.#parts
    metrics.fetchRequests += 1
    const usesTopicIds = context.version >= TOPIC_IDS_VERSION
    const plan = sessions.plan(request, { usesTopicIds, nowMs: clock.monotonicMs() })
    if (plan.kind === 'refused') return { errorCode: plan.errorCode, sessionId: 0, responses: [] }
    return new PendingFetch(this.#parts, plan, request, context).run()
  }
}

/** All that one attempt found. */
interface Reading {
  readonly reads: PartitionRead[]
  bytes: number
  diskBytes: number
  /** Something the client must hear now: an error, a divergence. */
  urgent: boolean
}

/** One request from its first attempt to its answer. While it is parked it holds its targets and nothing it has read. */
class PendingFetch implements Watcher, Expiring, RoomWaiter {
  deadlineSlot = 0
  readonly #parts: FetchParts
  readonly #plan: Extract<FetchPlan, { kind: 'fetch' }>
  readonly #context: RequestContext
  readonly #request: ReadRequest
  readonly #maxBytes: number
  readonly #minBytes: number
  readonly #maxWaitMs: number
  readonly #watched = new Set<Partition>()
  #state: 'reading' | 'parked' | 'done' = 'reading'
  /** Something moved while an attempt was under way. */
  #stale = false
  #waitedOut = false
  /** Of the answers' budget, for the attempt under way. */
  #reservedBytes = 0
  #resolve: ((answer: FetchAnswer) => void) | null = null
  #reject: ((error: unknown) => void) | null = null

  constructor(
    parts: FetchParts,
    plan: Extract<FetchPlan, { kind: 'fetch' }>,
    request: FetchRequest,
    context: RequestContext,
  ) {
    this.#parts = parts
    this.#plan = plan
    this.#context = context
    const readCommitted = request.isolationLevel === 1
    const mayReadFollower = context.version >= READ_REPLICA_VERSION
    const rack = parts.selectsByRack ? request.rackId : ''
    this.#request = { context, readCommitted, mayReadFollower, rack, bytesLeft: 0, isFirst: true }
    this.#maxBytes = Math.min(request.maxBytes, parts.maxBytes)
    this.#minBytes = Math.min(request.minBytes, this.#maxBytes)
    this.#maxWaitMs = request.maxWaitMs
    this.#waitedOut = request.maxWaitMs <= 0 || plan.targets.length === 0
  }

  run(): FetchAnswer | Promise<FetchAnswer> {
    const reading = this.#read()
    if (!(reading instanceof Promise) && this.#suffices(reading)) return this.#answer(reading)
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      this.#context.abandoned = () => this.#end()
      this.#watch()
      if (reading instanceof Promise) this.#after(reading)
      else this.#settle(reading)
    })
  }

  partitionChanged(): void {
    if (this.#state === 'parked') this.#attempt()
    else this.#stale = true
  }

  roomFreed(): void {
    this.partitionChanged()
  }

  expired(): void {
    this.#parts.metrics.fetchTimeouts += 1
    this.#waitedOut = true
    this.partitionChanged()
  }

  #attempt(): void {
    this.#state = 'reading'
    this.#parts.metrics.fetchesParked -= 1
    this.#stale = false
    const reading = this.#read()
    if (reading instanceof Promise) this.#after(reading)
    else this.#settle(reading)
  }

  #after(reading: Promise<Reading>): void {
    reading.then(
      (done) => this.#settle(done),
      (error) => {
        this.#giveBack()
        this.#end()
        this.#reject?.(error)
      },
    )
  }

  #settle(reading: Reading): void {
    if (this.#state === 'done') {
      this.#drop(reading)
      return
    }
    if (this.#suffices(reading)) {
      this.#end()
      this.#resolve?.(this.#answer(reading))
      return
    }
    const hadRoom = this.#reservedBytes > 0
    this.#drop(reading)
    this.#park()
    if (!hadRoom) this.#parts.answers.wait(this)
    else if (this.#stale) this.#attempt()
  }

  /** Nobody is going to get this: what was read is let go of. */
  #drop(reading: Reading): void {
    for (const { records } of reading.reads) letGoBlocks(records)
    this.#giveBack()
  }

  #giveBack(): void {
    this.#parts.answers.release(this.#reservedBytes)
    this.#reservedBytes = 0
  }

  #suffices(reading: Reading): boolean {
    return this.#waitedOut || reading.urgent || reading.bytes >= this.#minBytes
  }

  #park(): void {
    this.#state = 'parked'
    this.#parts.metrics.fetchesParked += 1
    if (this.deadlineSlot === 0) this.#parts.deadlines.add(this, this.#maxWaitMs)
  }

  /** No matter how: nothing holds on to this any more. */
  #end(): void {
    if (this.#state === 'parked') this.#parts.metrics.fetchesParked -= 1
    this.#state = 'done'
    if (this.deadlineSlot !== 0) this.#parts.deadlines.remove(this)
    for (const partition of this.#watched) partition.audience.unwatch(this)
    this.#watched.clear()
    this.#parts.answers.leave(this)
    this.#context.abandoned = null
  }

  #watch(): void {
    for (const target of this.#plan.targets) {
      const partition = findPartition(this.#parts.hosted, target, this.#request)
      if (!(partition instanceof Partition)) continue
      partition.audience.watch(this)
      this.#watched.add(partition)
    }
  }

  #read(): Reading | Promise<Reading> {
    const reading: Reading = { reads: [], bytes: 0, diskBytes: 0, urgent: false }
    this.#reservedBytes = this.#parts.answers.reserve(this.#maxBytes)
    const { targets } = this.#plan
    for (let index = 0; index < targets.length; index++) {
      const read = this.#readOne(targets[index] as FetchTarget, reading)
      if (read instanceof Promise) return this.#readOn(reading, index, read)
      add(reading, read)
    }
    return reading
  }

  /** The rest of an attempt that had to wait for the disk. */
  async #readOn(reading: Reading, from: number, first: Promise<PartitionRead>): Promise<Reading> {
    const { targets } = this.#plan
    addFromDisk(reading, await first)
    for (let index = from + 1; index < targets.length; index++) {
      const read = this.#readOne(targets[index] as FetchTarget, reading)
      if (read instanceof Promise) addFromDisk(reading, await read)
      else add(reading, read)
    }
    return reading
  }

  #readOne(target: FetchTarget, reading: Reading): PartitionRead | Promise<PartitionRead> {
    const request = this.#budget(reading)
    const partition = findPartition(this.#parts.hosted, target, request)
    if (!(partition instanceof Partition)) return partition
    return readPartition(this.#parts.hosted, partition, target, request)
  }

  /** The budget left after what this attempt has read so far. */
  #budget(reading: Reading): ReadRequest {
    const left = Math.min(this.#maxBytes, this.#reservedBytes) - reading.bytes
    this.#request.bytesLeft = Math.min(left, DISK_BYTES_PER_FETCH_MAX - reading.diskBytes)
    this.#request.isFirst = reading.bytes === 0 && this.#reservedBytes > 0
    return this.#request
  }

  #answer(reading: Reading): FetchAnswer {
    const { targets, session, incremental } = this.#plan
    const hints = new LeaderHints(this.#parts.hosted, this.#context)
    const responses: { topic: string; topicId: string; partitions: PartitionAnswer[] }[] = []
    for (let index = 0; index < targets.length; index++) {
      const target = targets[index] as FetchTarget
      const read = reading.reads[index] as PartitionRead
      if (read.bytes > 0 || read.errorCode !== 0) this.#count(target, read)
      const changed = session === null || session.tell(target, read) || read.preferredReplica !== null
      if (incremental && !changed) continue
      const partition = partitionAnswer(target, read, { hints, version: this.#context.version })
      const last = responses.at(-1)
      if (last !== undefined && last.topic === target.topic && last.topicId === target.topicId)
        last.partitions.push(partition)
      else responses.push({ topic: target.topic, topicId: target.topicId, partitions: [partition] })
    }
    this.#context.lent = reading.reads.flatMap(({ records }) => records)
    this.#context.heldBytes = reading.bytes
    this.#parts.answers.settle(this.#reservedBytes, reading.bytes)
    this.#reservedBytes = 0
    this.#parts.metrics.fetchBytes += reading.bytes
    const nodeEndpoints = this.#context.version >= ENDPOINTS_VERSION ? hints.nodeEndpoints() : []
    return { errorCode: 0, sessionId: session?.id ?? 0, responses, nodeEndpoints }
  }

  #count({ partition }: FetchTarget, { topic, bytes, errorCode }: PartitionRead): void {
    const traffic = this.#parts.hosted.get(topic, partition)?.traffic
    if (traffic === undefined) return
    traffic.fetchRequests += 1
    traffic.bytesOut += bytes
    if (errorCode !== 0) traffic.failedFetches += 1
  }
}

/** How one partition is answered, to consumers and followers alike. */
export function partitionAnswer(
  target: FetchTarget,
  read: PartitionRead,
  { hints, version }: { hints: LeaderHints; version: number },
): PartitionAnswer {
  const { errorCode, highWatermark, lastStableOffset, logStartOffset, abortedTransactions, records } = read
  const partitionIndex = target.partition
  const answer = {
    partitionIndex,
    errorCode,
    highWatermark,
    lastStableOffset,
    logStartOffset,
    abortedTransactions,
    preferredReadReplica: read.preferredReplica ?? -1,
    records,
  }
  if (errorCode === 0 && read.divergingEpoch === null) return answer
  if (version < 12) return answer
  const currentLeader = hints.currentLeader(errorCode, read.topic, partitionIndex)
  return {
    ...answer,
    ...(currentLeader === undefined ? {} : { currentLeader }),
    ...(read.divergingEpoch === null ? {} : { divergingEpoch: read.divergingEpoch }),
  }
}

function add(reading: Reading, read: PartitionRead): void {
  reading.reads.push(read)
  reading.bytes += read.bytes
  if (read.errorCode !== 0 || read.diverges || read.preferredReplica !== null) reading.urgent = true
}

function addFromDisk(reading: Reading, read: PartitionRead): void {
  add(reading, read)
  reading.diskBytes += read.bytes
}
