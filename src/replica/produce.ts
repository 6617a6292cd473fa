import type { Clock } from '../env/clock.ts'
import { NO_TOPIC_ID } from '../model/ids.ts'
import type { ProduceRequest } from '../protocol/apis/produce.ts'
import type { Produce } from '../protocol/apis/produce.ts'
import { baseSequence, isTransactional, lastOffsetDelta, producerId, recordCount } from '../protocol/batch/header.ts'
import { type RecordError, validateProducedBatch } from '../protocol/batch/validate.ts'
import { ErrorCode, isRetriable } from '../protocol/errors.ts'
import type { ResponseInput } from '../protocol/schema.ts'
import type { AckWait } from './ack-queue.ts'
import type { Deadlines, Expiring } from './deadlines.ts'
import type { HostedPartitions } from './hosted.ts'
import { isInternalTopic } from '../controller/topic-names.ts'
import { LeaderHints } from './leader-hints.ts'
import type { Partition } from './partition.ts'
import { RefusedProducers } from './refused-producers.ts'
import type { ReplicaMetrics, RequestContext } from './types.ts'

export type ProduceAnswer = ResponseInput<typeof Produce>

/** The client id by which Kafka's own tools may write to internal topics. */
const ADMIN_CLIENT_ID = '__admin_client'
/**
 * An answer to acks=0 or 1 waits until a log holds less than this in memory only, so that a client cannot push faster
 * than the disk takes. With acks=all the answer waits anyway.
 */
const UNWRITTEN_BYTES_MAX = 16 * 1024 * 1024

/** KIP-516. */
const FIRST_VERSION_BY_ID = 13

/** Refusals with which Kafka does not tell where the log starts. */
const TELLS_NO_LOG_START = new Set<number>([ErrorCode.CORRUPT_MESSAGE, ErrorCode.MESSAGE_TOO_LARGE])

/** What there is to say about one partition of a request; changed in place until the answer leaves. */
interface Outcome {
  readonly index: number
  errorCode: number
  baseOffset: number
  logAppendTimeMs: number
  logStartOffset: number
  recordErrors: readonly { batchIndex: number; batchIndexErrorMessage: string }[]
  errorMessage: string | null
  currentLeader?: { leaderId: number; leaderEpoch: number }
}

interface TopicOutcome {
  readonly name: string
  readonly topicId: string
  readonly partitionResponses: Outcome[]
}

export interface ProduceParts {
  readonly clock: Clock
  readonly hosted: HostedPartitions
  readonly deadlines: Deadlines
  readonly metrics: ReplicaMetrics
}

/**
 * Produce, versions 3 to 13: per partition leadership, validation, duplicates, min.insync, append; then it waits for
 * what `acks` asks. Left out: transactions (refused with INVALID_TXN_STATE until there is a coordinator), quotas.
 */
export class ProduceService {
  readonly #parts: ProduceParts
  readonly #refused = new RefusedProducers()

  constructor(parts: ProduceParts) {
    this.#parts = parts
  }

  produce(request: ProduceRequest, context: RequestContext): ProduceAnswer | Promise<ProduceAnswer> {
    this.#parts.metrics.produceRequests += 1
    return new PendingProduce(this.#parts, this.#refused, request, context).run()
  }
}

/** One request from its appends to its answer. */
class PendingProduce implements Expiring {
  deadlineSlot = 0
  readonly #parts: ProduceParts
  readonly #refused: RefusedProducers
  readonly #request: ProduceRequest
  readonly #context: RequestContext
  readonly #hints: LeaderHints
  readonly #topics: TopicOutcome[] = []
  /** Appended, not yet acknowledged. */
  readonly #waits = new Set<ProduceWait>()
  #resolve: ((answer: ProduceAnswer) => void) | null = null

  constructor(parts: ProduceParts, refused: RefusedProducers, request: ProduceRequest, context: RequestContext) {
    this.#parts = parts
    this.#refused = refused
    this.#request = request
    this.#context = context
    this.#hints = new LeaderHints(parts.hosted, context)
  }

  run(): ProduceAnswer | Promise<ProduceAnswer> {
    for (const { name, topicId, partitionData } of this.#request.topicData) {
      // As Kafka: nothing is said of a topic of which nothing came.
      if (partitionData.length === 0) continue
      const byId = this.#context.version >= FIRST_VERSION_BY_ID || topicId !== NO_TOPIC_ID
      const topic = byId ? this.#parts.hosted.nameOf(topicId) : name
      const outcomes: Outcome[] = []
      this.#topics.push({ name, topicId, partitionResponses: outcomes })
      const error = this.#topicError(topic)
      for (const { index, records } of partitionData) {
        const outcome = newOutcome(index)
        outcomes.push(outcome)
        const bytes = records === null || records.length === 0 ? null : oneBuffer(records)
        // As the request names it: it may not be here yet.
        const place = `${index} ${byId ? topicId : name}`
        if (topic === null || error !== 0) this.#refuse(outcome, error, null, topic ?? '')
        else this.#append(topic, topicId, outcome, bytes, place)
        this.#noteRefusal(outcome, bytes, place)
      }
    }
    if (this.#waits.size === 0) return this.#answer()
    this.#parts.metrics.producesWaiting += 1
    this.#parts.deadlines.add(this, this.#request.timeoutMs)
    return new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  /** The deadline came first: what was appended stays, its fate is not known. */
  expired(): void {
    this.#parts.metrics.produceTimeouts += 1
    for (const wait of this.#waits) {
      wait.partition.audience.stopWaiting(wait)
      fail(wait.outcome, ErrorCode.REQUEST_TIMED_OUT, null)
    }
    this.#waits.clear()
    this.#finish()
  }

  acked(wait: ProduceWait, errorCode: number): void {
    if (errorCode !== ErrorCode.NONE) {
      const { topic, partition } = wait.partition.topicPartition
      fail(wait.outcome, errorCode, null)
      this.#hint(wait.outcome, topic, partition)
    }
    this.#waits.delete(wait)
    if (this.#waits.size === 0 && this.#resolve !== null) {
      this.#parts.deadlines.remove(this)
      this.#finish()
    }
  }

  #finish(): void {
    this.#parts.metrics.producesWaiting -= 1
    const resolve = this.#resolve as (answer: ProduceAnswer) => void
    this.#resolve = null
    resolve(this.#answer())
  }

  #answer(): ProduceAnswer {
    return { responses: this.#topics, nodeEndpoints: this.#context.version >= 10 ? this.#hints.nodeEndpoints() : [] }
  }

  #topicError(topic: string | null): number {
    if (topic === null) return ErrorCode.UNKNOWN_TOPIC_ID
    if (!this.#context.mayAccess(topic)) return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if (isInternalTopic(topic) && this.#context.clientId !== ADMIN_CLIENT_ID) return ErrorCode.INVALID_TOPIC_EXCEPTION
    return ErrorCode.NONE
  }

  /** What was not appended, and comes again. */
  #noteRefusal({ errorCode, baseOffset }: Outcome, bytes: Buffer | null, place: string): void {
    if (baseOffset >= 0 || bytes === null) return
    // NONE: it waits until it can be told who leads now.
    if (errorCode !== ErrorCode.NONE && !isRetriable(errorCode)) return
    this.#refused.note(place, bytes, this.#nowMs())
  }

  #nowMs(): number {
    return this.#parts.clock.monotonicMs()
  }

  #append(topic: string, topicId: string, outcome: Outcome, bytes: Buffer | null, place: string): void {
    const partition = this.#parts.hosted.led(topic, outcome.index, { topicId, leaderEpoch: -1 })
    if (typeof partition === 'number') return this.#refuseOrSend(outcome, partition, topic)
    const { log, leader } = partition
    if (log === null || leader === null) return this.#refuse(outcome, ErrorCode.NOT_LEADER_OR_FOLLOWER, null, topic)
    const { traffic } = partition
    traffic.produceRequests += 1
    const { acks } = this.#request
    const wallMs = this.#parts.clock.wallMs()
    const checked = validateProducedBatch(bytes, partition.limits, {
      produceVersion: this.#context.version,
      nowMs: wallMs,
    })
    if (checked.kind === 'refused' && checked.isOfRequest) {
      return this.#refuse(outcome, checked.errorCode, checked.message, topic)
    }
    if (acks !== 0 && acks !== 1 && acks !== -1)
      return this.#refuse(outcome, ErrorCode.INVALID_REQUIRED_ACKS, null, topic)
    if (acks === -1 && leader.isUnderMinInsync) {
      const message = `The size of the current ISR ${leader.isr.length} is insufficient to satisfy the min.isr requirement of ${leader.effectiveMinInsync} for partition ${partition.name}`
      return this.#refuse(outcome, ErrorCode.NOT_ENOUGH_REPLICAS, message, topic)
    }
    if (checked.kind === 'refused') {
      outcome.recordErrors = checked.recordErrors.map(recordErrorOf)
      if (!TELLS_NO_LOG_START.has(checked.errorCode)) outcome.logStartOffset = log.logStartOffset
      return this.#refuse(outcome, checked.errorCode, checked.message, topic)
    }
    const { batch } = checked
    if (isTransactional(batch, 0)) {
      const message = 'Transactions are not served by this version'
      return this.#refuse(outcome, ErrorCode.INVALID_TXN_STATE, message, topic)
    }
    const verdict = log.checkProducer(batch)
    if (verdict.kind === 'refuse') {
      outcome.logStartOffset = log.logStartOffset
      return this.#refuse(outcome, verdict.errorCode, verdict.message, topic)
    }
    if (verdict.kind === 'duplicate') {
      this.#parts.metrics.produceDuplicates += 1
      outcome.baseOffset = verdict.baseOffset
      outcome.logAppendTimeMs = verdict.logAppendTimeMs
      outcome.logStartOffset = log.logStartOffset
      return this.#wait(partition, outcome, verdict.lastOffset + 1)
    }
    const refusal = partition.appendRefusal
    if (refusal !== null) return this.#refuse(outcome, ErrorCode.KAFKA_STORAGE_ERROR, refusal.message, topic)
    const isKnown = log.producers.get(producerId(batch, 0)) !== null
    const missing = isKnown ? null : this.#refused.missingBefore(place, batch, this.#nowMs())
    if (missing !== null) {
      const message = `sequence ${baseSequence(batch, 0)} came before sequence ${missing}, which was refused and has not come again`
      return this.#refuse(outcome, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, message, topic)
    }
    this.#refused.forget(place, batch)
    outcome.baseOffset = partition.append(batch, wallMs)
    outcome.logAppendTimeMs = checked.logAppendTimeMs
    outcome.logStartOffset = log.logStartOffset
    const { metrics } = this.#parts
    metrics.produceBatches += 1
    metrics.produceRecords += recordCount(batch, 0)
    metrics.produceBytes += batch.length
    traffic.recordsIn += recordCount(batch, 0)
    traffic.bytesIn += batch.length
    this.#wait(partition, outcome, outcome.baseOffset + lastOffsetDelta(batch, 0) + 1)
  }

  #wait(partition: Partition, outcome: Outcome, waitOffset: number): void {
    const { acks } = this.#request
    if (acks === 0 && (partition.log?.unwrittenBytes ?? 0) <= UNWRITTEN_BYTES_MAX) return
    const wait = new ProduceWait(this, partition, outcome, waitOffset)
    this.#waits.add(wait)
    if (acks === -1) partition.whenCommitted(wait)
    else partition.whenKept(wait)
  }

  /** A leader that has just been succeeded sends clients on when the new one is there to take them. */
  #refuseOrSend(outcome: Outcome, errorCode: number, topic: string): void {
    const partition = this.#parts.hosted.get(topic, outcome.index)
    const isSent = errorCode === ErrorCode.NOT_LEADER_OR_FOLLOWER && partition?.isHandingOver === true
    if (!isSent || this.#request.acks === 0) return this.#refuse(outcome, errorCode, null, topic)
    this.#parts.metrics.produceRefusals += 1
    const wait = new ProduceWait(this, partition, outcome, 0)
    this.#waits.add(wait)
    partition.audience.waitSuccessor(wait)
  }

  #refuse(outcome: Outcome, errorCode: number, message: string | null, topic: string): void {
    this.#parts.metrics.produceRefusals += 1
    const partition = this.#parts.hosted.get(topic, outcome.index)
    if (partition !== undefined) partition.traffic.failedProduces += 1
    fail(outcome, errorCode, message)
    this.#hint(outcome, topic, outcome.index)
  }

  #hint(outcome: Outcome, topic: string, partition: number): void {
    if (this.#context.version < 10) return
    const leader = this.#hints.currentLeader(outcome.errorCode, topic, partition)
    if (leader !== undefined) outcome.currentLeader = leader
  }
}

class ProduceWait implements AckWait {
  readonly outlivesLeader = true
  readonly waitOffset: number
  readonly partition: Partition
  readonly outcome: Outcome
  readonly #request: PendingProduce

  constructor(request: PendingProduce, partition: Partition, outcome: Outcome, waitOffset: number) {
    this.#request = request
    this.partition = partition
    this.outcome = outcome
    this.waitOffset = waitOffset
  }

  acked(errorCode: number): void {
    this.#request.acked(this, errorCode)
  }
}

function newOutcome(index: number): Outcome {
  return {
    index,
    errorCode: 0,
    baseOffset: -1,
    logAppendTimeMs: -1,
    logStartOffset: -1,
    recordErrors: NO_RECORD_ERRORS,
    errorMessage: null,
  }
}

const NO_RECORD_ERRORS: Outcome['recordErrors'] = []

function fail(outcome: Outcome, errorCode: number, message: string | null): void {
  outcome.errorCode = errorCode
  outcome.errorMessage = message
  outcome.baseOffset = -1
  outcome.logAppendTimeMs = -1
}

function recordErrorOf({ batchIndex, message }: RecordError) {
  return { batchIndex, batchIndexErrorMessage: message }
}

/** The decoder gives one view; a caller inside the node may give pieces. */
function oneBuffer(records: readonly Buffer[]): Buffer {
  return records.length === 1 ? (records[0] as Buffer) : Buffer.concat(records)
}
