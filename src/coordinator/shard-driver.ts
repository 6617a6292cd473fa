import { bug } from '../base/assert.ts'
import { MalformedError } from '../base/bytes.ts'
import type { Env } from '../env/env.ts'
import { LogUnavailableError, type ReplicatedLog } from '../env/replicated-log.ts'
import type { Moment, Outcome, Reply, Shard, Ticket } from '../model/shard.ts'
import { buildBatch, type RecordToBuild } from '../protocol/batch/build.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { RetentionClock } from '../storage/retention-clock.ts'
import { CoordinatorError, codeOfLogError } from './errors.ts'
import { loadShard } from './load.ts'
import type { RuntimeLimits, ShardKind } from './runtime.ts'

/**
 * `loading`: the log is being replayed. `active`: it answers. `failed`: the log could not be read; it is tried again where
 * the disk refused, and never where the log has failed or says what makes no sense. `resigned`: over.
 */
export type ShardState = 'loading' | 'active' | 'failed' | 'resigned'

interface Waiter<Response> {
  resolve(response: Response): void
  reject(error: CoordinatorError): void
}

/** Appended, not committed yet, with the replies that must not leave before it is. */
interface Uncommitted<Response> {
  /** One past its last record. */
  readonly endOffset: number
  readonly replies: Reply<Response>[]
  /** Monotonic clock: until then the replies wait. */
  readonly deadlineMs: number
}

/** More deadlines than this in one turn are left for the next, so that requests get their turn too. */
const TICKS_PER_TURN = 1000
/** Before the log is replayed again after it lost what the shard had counted on. */
const RELOAD_PAUSE_MS = 100
/**
 * Before a log that the disk did not give is read again: too many open files, a bad moment of the device. Doubled each
 * time, up to the second one.
 */
const REREAD_PAUSE_MS = 500
const REREAD_PAUSE_MS_MAX = 30_000
/** What a record adds to its key and value, at most. */
const RECORD_OVERHEAD_BYTES = 32

/**
 * One shard on one leadership of its partition. It runs the shard's decisions ahead of the log: records are appended
 * and replayed at once, so that the next decision sees them, but nothing that depends on them is said before they are
 * committed. When that cannot happen any more, everyone who waits hears an error and the shard is replayed from the
 * log: memory never differs from it for longer than one failure.
 */
export class ShardDriver<Rec, Request, Response> {
  state: ShardState = 'loading'
  /** Null unless active. */
  shard: Shard<Rec, Request, Response> | null = null
  readonly #env: Env
  readonly #kind: ShardKind<Rec, Request, Response>
  readonly #limits: RuntimeLimits
  readonly #log: ReplicatedLog
  readonly #deletionClock: RetentionClock
  readonly #wake: (driver: ShardDriver<Rec, Request, Response>) => void
  #queue: { readonly request: Request; readonly ticket: Ticket }[] = []
  readonly #waiters = new Map<Ticket, Waiter<Response>>()
  #lastTicket = 0
  /** In the order of the log. */
  #uncommitted: Uncommitted<Response>[] = []
  /** Counts the times the log was replayed: what belongs to an earlier time must not act any more. */
  #incarnation = 0
  #rereadPauseMs = REREAD_PAUSE_MS
  /** The batch that the current turn is filling. */
  #batch: RecordToBuild[] = []
  #batchBytes = 0
  #nextOffset = 0

  constructor(parts: {
    env: Env
    kind: ShardKind<Rec, Request, Response>
    limits: RuntimeLimits
    log: ReplicatedLog
    deletionClock: RetentionClock
    wake: (driver: ShardDriver<Rec, Request, Response>) => void
  }) {
    this.#env = parts.env
    this.#kind = parts.kind
    this.#limits = parts.limits
    this.#log = parts.log
    this.#deletionClock = parts.deletionClock
    this.#wake = parts.wake
  }

  load(): void {
    this.state = 'loading'
    const incarnation = ++this.#incarnation
    const isCurrent = () => this.#incarnation === incarnation && this.state === 'loading'
    const shard = this.#kind.newShard()
    const startedMs = this.#env.clock.monotonicMs()
    const { loadChunkBytes: chunkBytes } = this.#limits
    loadShard({ timers: this.#env.timers, kind: this.#kind, log: this.#log, shard, chunkBytes, isCurrent }).then(
      (summary) => {
        if (!isCurrent()) return
        // A new cluster has fifty empty ones: they are no news.
        this.#env.log[summary.records === 0 ? 'debug' : 'info']('a coordinator shard is loaded', {
          kind: this.#kind.name,
          partition: this.#log.topicPartition.partition,
          leaderEpoch: this.#log.leaderEpoch,
          records: summary.records,
          tookMs: Math.round(this.#env.clock.monotonicMs() - startedMs),
        })
        this.#activate(shard)
      },
      (error: unknown) => {
        if (isCurrent()) this.#loadFailed(error)
      },
    )
  }

  #activate(shard: Shard<Rec, Request, Response>): void {
    this.state = 'active'
    this.#rereadPauseMs = REREAD_PAUSE_MS
    this.shard = shard
    this.#nextOffset = this.#log.endOffset
    // The end of the log may not be committed yet: replies that depend on it wait, like those for our own records.
    if (this.#log.committedOffset < this.#nextOffset) this.#awaitCommit()
    const held: HeldReply<Response>[] = []
    this.#take(shard, shard.loaded(this.#moment()), held)
    if (this.shard === shard) this.#append()
    if (this.shard === shard) this.#hold(held)
    this.#wake(this)
  }

  #loadFailed(error: unknown): void {
    const isKnown = error instanceof LogUnavailableError || error instanceof MalformedError
    if (!isKnown) throw error
    this.state = error instanceof LogUnavailableError && error.reason === 'resigned' ? 'resigned' : 'failed'
    this.#env.log.error('a coordinator shard could not be loaded', {
      kind: this.#kind.name,
      partition: this.#log.topicPartition.partition,
      error: error.message,
    })
    // The partition stays led here, so nobody else will ever answer.
    if (this.state === 'failed' && error instanceof LogUnavailableError) {
      this.#loadAfter(this.#rereadPauseMs)
      this.#rereadPauseMs = Math.min(2 * this.#rereadPauseMs, REREAD_PAUSE_MS_MAX)
    }
  }

  #loadAfter(ms: number): void {
    const [incarnation, state] = [this.#incarnation, this.state]
    this.#env.timers.after(ms, () => {
      if (this.#incarnation === incarnation && this.state === state) this.load()
    })
  }

  resign(): void {
    this.state = 'resigned'
    this.#abandon(ErrorCode.NOT_COORDINATOR)
  }

  submit(request: Request): Promise<Response> {
    switch (this.state) {
      case 'loading':
        return Promise.reject(new CoordinatorError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
      case 'failed':
        return Promise.reject(new CoordinatorError(ErrorCode.COORDINATOR_NOT_AVAILABLE))
      case 'resigned':
        return Promise.reject(new CoordinatorError(ErrorCode.NOT_COORDINATOR))
      case 'active': {
        const ticket = ++this.#lastTicket
        this.#queue.push({ request, ticket })
        this.#wake(this)
        return new Promise((resolve, reject) => this.#waiters.set(ticket, { resolve, reject }))
      }
    }
  }

  /** Whether nobody had succeeded this node when it was asked; false where that cannot be known. */
  isStillLed(): Promise<boolean> {
    return this.#log.isStillLed()
  }

  /** On the monotonic clock; Infinity when there is none. */
  nextDeadlineMs(): number {
    if (this.shard === null) return Number.POSITIVE_INFINITY
    const tickMs = this.shard.nextDeadlineMs() ?? Number.POSITIVE_INFINITY
    const oldest = this.#uncommitted.find(({ replies }) => replies.length > 0)
    return Math.min(tickMs, oldest?.deadlineMs ?? Number.POSITIVE_INFINITY)
  }

  /** Deals with all that came since the last turn, and with deadlines that have passed. */
  turn(): void {
    const { shard } = this
    if (shard === null) return
    const queue = this.#queue
    this.#queue = []
    const moment = this.#moment()
    this.#giveUpOn(moment.nowMs)
    const held: HeldReply<Response>[] = []
    // A failed append ends the turn: everybody has been answered, and the shard is gone.
    const isOver = () => this.shard !== shard
    for (const { request, ticket } of queue) {
      if (isOver()) return
      this.#take(shard, shard.handle(request, ticket, moment), held)
    }
    // After the requests: whoever has spoken before we looked at the clock is not late, however late we look.
    for (let ticks = 0; ticks < TICKS_PER_TURN && !isOver(); ticks++) {
      const deadlineMs = shard.nextDeadlineMs()
      if (deadlineMs === null || deadlineMs > moment.nowMs) break
      this.#take(shard, shard.tick(moment), held)
    }
    if (!isOver()) this.#append()
    if (!isOver()) this.#hold(held)
  }

  #moment(): Moment {
    const { clock } = this.#env
    const refusal = this.#log.refusal()
    return {
      nowMs: clock.monotonicMs(),
      wallMs: clock.wallMs(),
      deletionMs: this.#deletionClock.nowMs(),
      refusal: refusal === null ? null : codeOfLogError(refusal),
    }
  }

  /** Puts the records of an outcome into the batch and replays them. */
  #take(shard: Shard<Rec, Request, Response>, outcome: Outcome<Rec, Response>, held: HeldReply<Response>[]): void {
    for (const { level = 'info', message, fields } of outcome.notes) this.#env.log[level](message, fields)
    const timestampMs = this.#env.clock.wallMs()
    const encoded = outcome.records.map((record) => ({ ...this.#kind.encode(record), timestampMs }))
    const bytes = encoded.reduce((sum, record) => sum + recordBytes(record), 0)
    // What one decision wrote stays together when one batch can hold it.
    if (this.#batch.length > 0 && this.#batchBytes + bytes > this.#limits.batchBytesMax) this.#append()
    for (const [index, record] of encoded.entries()) {
      if (this.#batchBytes > 0 && this.#batchBytes + recordBytes(record) > this.#limits.batchBytesMax) this.#append()
      if (this.shard !== shard) return
      this.#batch.push(record)
      this.#batchBytes += recordBytes(record)
      shard.replay(outcome.records[index] as Rec, { offset: this.#nextOffset++, producerId: null })
    }
    const seen = outcome.records.length > 0 ? this.#nextOffset - 1 : outcome.seen
    for (const reply of outcome.replies) held.push({ reply, seen })
  }

  #append(): void {
    const records = this.#batch
    if (records.length === 0) return
    this.#batch = []
    this.#batchBytes = 0
    const expected = this.#nextOffset - records.length
    try {
      const baseOffset = this.#log.append(buildBatch({ records }))
      if (baseOffset !== expected) bug(`a coordinator's record at ${baseOffset}, replayed as ${expected}`)
    } catch (error) {
      if (!(error instanceof LogUnavailableError)) throw error
      this.#lose(error)
      return
    }
    this.#awaitCommit()
  }

  #awaitCommit(): void {
    const incarnation = this.#incarnation
    const endOffset = this.#nextOffset
    const deadlineMs = this.#env.clock.monotonicMs() + this.#limits.commitTimeoutMs
    this.#uncommitted.push({ endOffset, replies: [], deadlineMs })
    this.#log.committed(endOffset).then(
      () => {
        if (this.#incarnation === incarnation) this.#onCommitted()
      },
      (error: unknown) => {
        if (!(error instanceof LogUnavailableError)) throw error
        if (this.#incarnation === incarnation) this.#lose(error)
      },
    )
  }

  /** A reply leaves at once when all it depends on is committed; else with the batch of the newest such record. */
  #hold(held: readonly HeldReply<Response>[]): void {
    const { committedOffset } = this.#log
    for (const { reply, seen } of held) {
      const batch = seen < committedOffset ? undefined : this.#uncommitted.find(({ endOffset }) => endOffset > seen)
      if (batch === undefined) this.#answer(reply)
      else batch.replies.push(reply)
    }
  }

  #onCommitted(): void {
    const { committedOffset } = this.#log
    while (this.#uncommitted.length > 0) {
      const batch = this.#uncommitted[0] as Uncommitted<Response>
      if (batch.endOffset > committedOffset) return
      this.#uncommitted.shift()
      for (const reply of batch.replies) this.#answer(reply)
    }
  }

  #answer({ ticket, response }: Reply<Response>): void {
    // Not there any more when it waited too long.
    this.#waiters.get(ticket)?.resolve(response)
    this.#waiters.delete(ticket)
  }

  /** What waited too long for its commit hears so. It may still be committed: the client cannot know. */
  #giveUpOn(nowMs: number): void {
    for (const { replies, deadlineMs } of this.#uncommitted) {
      if (deadlineMs > nowMs) return
      for (const { ticket } of replies.splice(0)) this.#refuse(ticket, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    }
  }

  #refuse(ticket: Ticket, code: number): void {
    this.#waiters.get(ticket)?.reject(new CoordinatorError(code))
    this.#waiters.delete(ticket)
  }

  /** The log did not take, or will not keep, what the shard has already replayed. */
  #lose(error: LogUnavailableError): void {
    this.#env.log.warn('a coordinator shard lost its log', {
      kind: this.#kind.name,
      partition: this.#log.topicPartition.partition,
      reason: error.reason,
      error: error.message,
    })
    if (error.reason === 'resigned') this.state = 'resigned'
    else if (error.reason === 'storage') this.state = 'failed'
    else this.state = 'loading'
    this.#abandon(codeOfLogError(error))
    if (this.state === 'loading') this.#loadAfter(RELOAD_PAUSE_MS)
  }

  #abandon(code: number): void {
    this.#incarnation++
    this.shard = null
    this.#queue = []
    this.#uncommitted = []
    this.#batch = []
    this.#batchBytes = 0
    for (const ticket of [...this.#waiters.keys()]) this.#refuse(ticket, code)
  }

  dump(): string {
    const pending = `waiting=${this.#waiters.size} uncommitted=${this.#uncommitted.length}`
    return `${this.state} epoch=${this.#log.leaderEpoch} ${pending}\n${this.shard?.dump() ?? ''}`.trimEnd()
  }
}

interface HeldReply<Response> {
  readonly reply: Reply<Response>
  /** Offset of the newest record that it depends on; -1 for none. */
  readonly seen: number
}

function recordBytes({ key, value }: RecordToBuild): number {
  return RECORD_OVERHEAD_BYTES + (key?.length ?? 0) + (value?.length ?? 0)
}
