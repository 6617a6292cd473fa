import { type BrokerContext, brokerNumber } from '../controller/config-view.ts'
import type { Due, Notice } from '../controller/decision.ts'
import { bootstrapRecords, METADATA_VERSION } from '../controller/features.ts'
import { type ControllerApi, ControllerShard } from '../controller/shard.ts'
import type { Timer } from '../env/clock.ts'
import type { Env } from '../env/env.ts'
import type { LogUnavailableError } from '../env/replicated-log.ts'
import type { MetadataChanges } from '../metadata/changes.ts'
import type { MetadataImage } from '../metadata/image.ts'
import type { MetadataRecord } from '../metadata/records.ts'
import type { RequestOf, ResponseOf } from '../protocol/schema.ts'
import type { AppendedSet } from './metadata-log.ts'

/** The log, for the one who leads it. */
export interface LedLog {
  readonly endOffset: number
  /** False when leadership is lost, or may be about to be: nothing may be appended then. */
  readonly isLed: boolean
  /** Null, or why nothing can be appended now. */
  readonly refusal: LogUnavailableError | null
  /** `onAppended` is called at once; afterwards leadership may be lost. Throws `LogUnavailableError`. */
  append(records: readonly MetadataRecord[], metadataVersion: number, onAppended: (set: AppendedSet) => void): void
  /** What the image will be when the set is committed. */
  adoptLater(set: AppendedSet, changes: MetadataChanges): void
}

export interface ActiveControllerOptions {
  readonly epoch: number
  readonly clusterId: string
  readonly broker: BrokerContext
  readonly log: LedLog
  /** Of everything in the log. */
  readonly image: MetadataImage
  /** The last set of records in the log was cut short with the one who led before. */
  readonly isInTransaction: boolean
}

/** An answer, or whoever waits for one, that rests on records not committed yet. */
interface Pending {
  readonly lastOffset: number
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/** How often it is looked what is due, as a part of the session timeout. */
const CHECKS_PER_SESSION = 8

/**
 * The active controller on the log that this node leads. A request is decided on at once, by the image of all that was
 * appended before; its records go to the log in one set; the answer leaves when they are committed. So requests need not
 * wait for each other's disk writes, and what one was promised is true for the next. When leadership or the disk is lost,
 * nobody is ever told what was decided on top.
 *
 * Life cycle: made when all of the log is applied; `begin`; then requests and `committed`, until `end`.
 */
export class ActiveController {
  readonly epoch: number
  readonly #env: Env
  readonly #options: ActiveControllerOptions
  readonly #shard: ControllerShard
  #pending: Pending[] = []
  /** Of the last set that this controller appended. */
  #lastOffset = -1
  #committedOffset = 0
  #timer: Timer | null = null
  #end: Error | null = null

  constructor(env: Env, options: ActiveControllerOptions) {
    const { clusterId, broker, image } = options
    this.epoch = options.epoch
    this.#env = env
    this.#options = options
    const newId = () => this.#newId()
    this.#shard = new ControllerShard({ clusterId, broker, newId }, image, env.clock.monotonicMs())
  }

  /** What a set of records that nobody will end has to say must not take effect; a new cluster gets its first records. */
  begin(): void {
    const { log, image, broker, isInTransaction } = this.#options
    if (isInTransaction) {
      // Not a change of the image, so nothing to adopt: it is read back like any record of another leader.
      const abort: MetadataRecord = { type: 'AbortTransaction', value: { reason: 'the controller stopped in it' } }
      log.append([abort], METADATA_VERSION, ({ lastOffset }) => {
        this.#lastOffset = lastOffset
      })
    }
    if (log.isLed && !image.features.has('metadata.version')) this.#append(bootstrapRecords(broker.staticValues))
    this.#scheduleChecks()
  }

  /**
   * Decides on a request and answers when what it changes is committed. Rejects with `LogUnavailableError` when the log
   * takes no records, with the reason given to `end` when nobody will know whether they were committed.
   */
  async handle<A extends ControllerApi>(api: A, request: RequestOf<A>, version: number): Promise<ResponseOf<A>> {
    const nowMs = this.#env.clock.monotonicMs()
    const nextOffset = this.#options.log.endOffset
    const decision = this.#shard.handle(api, request, { version, nowMs, nextOffset })
    if (decision.records.length > 0) this.#append(decision.records)
    this.#note(decision.notices ?? [])
    // Without records of its own the answer may still rest on some that are not committed yet.
    await this.#whenCommitted()
    return decision.response
  }

  /** Synchronous: what is appended is in the log's memory and on its way. */
  #append(records: readonly MetadataRecord[]): void {
    const { log } = this.#options
    log.append(records, metadataVersionOf(this.#shard.image), (set) => {
      const { lastOffset: offset, epoch, timestampMs } = set
      this.#lastOffset = offset
      log.adoptLater(set, this.#shard.apply(records, { offset, epoch, timestampMs }))
    })
  }

  /** Resolves when everything appended so far is committed. */
  #whenCommitted(): Promise<void> {
    if (this.#end !== null) return Promise.reject(this.#end)
    const lastOffset = this.#lastOffset
    if (lastOffset < this.#committedOffset) return Promise.resolve()
    return new Promise((resolve, reject) => this.#pending.push({ lastOffset, resolve, reject }))
  }

  /** All before `offset` is committed, and in the image. */
  committed(offset: number): void {
    this.#committedOffset = offset
    const count = this.#pending.findIndex(({ lastOffset }) => lastOffset >= offset)
    for (const { resolve } of this.#pending.splice(0, count < 0 ? this.#pending.length : count)) resolve()
  }

  /** Resolves when what `begin` appended is committed. */
  whenReady(): Promise<void> {
    return this.#whenCommitted()
  }

  #newId(): string {
    for (;;) {
      const id = this.#env.randomBytes(16).toString('base64url')
      // Kafka's own tools cannot take one that looks like a flag.
      if (!id.startsWith('-') && !isReserved(id)) return id
    }
  }

  #scheduleChecks(): void {
    const timeoutMs = brokerNumber(this.#shard.image, this.#options.broker, 'broker.session.timeout.ms')
    this.#timer = this.#env.timers.after(Math.max(1, timeoutMs / CHECKS_PER_SESSION), () => {
      if (this.#end !== null) return
      this.#doWhatIsDue()
      this.#scheduleChecks()
    })
  }

  #doWhatIsDue(): void {
    const nowMs = this.#env.clock.monotonicMs()
    const { log } = this.#options
    // In rounds: what is due next depends on what the one before has changed.
    while (log.isLed && log.refusal === null) {
      if (!this.#decree(this.#shard.tick(nowMs))) return
    }
  }

  /** The process that registered with this epoch is known to be dead. */
  brokerLost(brokerId: number, brokerEpoch: number): void {
    const { log } = this.#options
    // At worst it is taken for dead when it has been silent long enough.
    if (log.isLed && log.refusal === null) this.#decree(this.#shard.brokerLost(brokerId, brokerEpoch))
  }

  /** Whether there was anything. Whether it is ever committed is the log's business, whose failure is reported by itself. */
  #decree({ records, notices }: Due): boolean {
    if (records.length === 0) return false
    this.#append(records)
    this.#note(notices)
    return true
  }

  #note(notices: readonly Notice[]): void {
    for (const { level, message, details } of notices) this.#env.log[level](message, details)
  }

  /** This node leads no more, or its log failed. Whoever waits is told `reason`. */
  end(reason: Error): void {
    this.#end ??= reason
    this.#timer?.cancel()
    for (const { reject } of this.#pending.splice(0)) reject(reason)
  }
}

export function metadataVersionOf(image: MetadataImage): number {
  return image.features.get('metadata.version') ?? METADATA_VERSION
}

/** The first hundred ids are Kafka's. */
function isReserved(id: string): boolean {
  return id.startsWith('AAAAAAAAAAAAAAAAAAAAA') || id.startsWith('AAAAAAAAAAAAAAAAAAAAB')
}
