import type { Timer } from '../env/clock.ts'
import type { Env } from '../env/env.ts'
import type { ReplicatedLog } from '../env/replicated-log.ts'
import type { Shard } from '../model/shard.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { RetentionClock } from '../storage/retention-clock.ts'
import { CoordinatorError } from './errors.ts'
import { ShardDriver, type ShardState } from './shard-driver.ts'

/** What makes a runtime a group coordinator, a transaction coordinator, … */
export interface ShardKind<Rec, Request, Response> {
  /** For the log of the node: `groups`. */
  readonly name: string
  newShard(): Shard<Rec, Request, Response>
  encode(record: Rec): { readonly key: Buffer; readonly value: Buffer | null }
  /** Throws `MalformedError` when the record is of a known kind and broken. */
  decode(key: Buffer, value: Buffer | null): Rec
}

export interface RuntimeLimits {
  /** How long a reply waits for its records to be committed [offsets.commit.timeout.ms]. */
  readonly commitTimeoutMs: number
  /** Of one record batch, before its header; below the topic's max.message.bytes. */
  readonly batchBytesMax: number
  /** Read at once when a shard is loaded. */
  readonly loadChunkBytes: number
}

export const DEFAULT_RUNTIME_LIMITS: RuntimeLimits = {
  commitTimeoutMs: 5000,
  batchBytesMax: 1_000_000,
  loadChunkBytes: 256 * 1024,
}

/** An alarm that is later than this tells of a standstill. */
const STANDSTILL_MS = 500
/** After one, requests are read for so long before deadlines count again. */
const CATCH_UP_MS = 1000

/**
 * The shards of one coordinator on this node: one for each partition of its topic that this node leads. Requests are
 * collected for one turn of the event loop; then every shard with work takes its turn, and what a turn writes is one
 * batch. All shards share one timer; without deadlines there is none.
 */
export class CoordinatorRuntime<Rec, Request, Response> {
  readonly #env: Env
  readonly #kind: ShardKind<Rec, Request, Response>
  readonly #limits: RuntimeLimits
  /** One for all: a shard that comes here after a jump must not believe it for being new. */
  readonly #deletionClock: RetentionClock
  readonly #drivers = new Map<number, ShardDriver<Rec, Request, Response>>()
  /** Drivers that take part in the next turn. */
  readonly #ready = new Set<ShardDriver<Rec, Request, Response>>()
  #turn: Timer | null = null
  /** `atMs` is the deadline it was set for, `dueMs` when it can ring at the earliest. */
  #alarm: { readonly atMs: number; readonly dueMs: number; readonly timer: Timer } | null = null
  #isClosed = false

  constructor(env: Env, kind: ShardKind<Rec, Request, Response>, limits: RuntimeLimits = DEFAULT_RUNTIME_LIMITS) {
    this.#env = env
    this.#deletionClock = new RetentionClock(env.clock)
    this.#kind = kind
    this.#limits = limits
  }

  /** This node leads the partition. A shard of an earlier leadership ends. */
  onLead(partition: number, log: ReplicatedLog): void {
    if (this.#isClosed) return
    this.onResign(partition)
    const driver = new ShardDriver({
      env: this.#env,
      kind: this.#kind,
      limits: this.#limits,
      log,
      deletionClock: this.#deletionClock,
      wake: (ready: ShardDriver<Rec, Request, Response>) => this.#wake(ready),
    })
    this.#drivers.set(partition, driver)
    driver.load()
  }

  /** This node leads the partition no more. What waits there hears NOT_COORDINATOR. */
  onResign(partition: number): void {
    const driver = this.#drivers.get(partition)
    if (driver === undefined) return
    this.#drivers.delete(partition)
    this.#ready.delete(driver)
    driver.resign()
    this.#setAlarm()
  }

  close(): void {
    this.#isClosed = true
    for (const partition of [...this.#drivers.keys()]) this.onResign(partition)
    this.#turn?.cancel()
    this.#turn = null
  }

  /** Partitions that have a shard here, in whatever state. */
  get partitions(): readonly number[] {
    return [...this.#drivers.keys()]
  }

  stateOf(partition: number): ShardState | null {
    return this.#drivers.get(partition)?.state ?? null
  }

  /** The shards that are loaded, to read figures from; never to call anything that changes them. */
  *activeShards(): Generator<Shard<Rec, Request, Response>> {
    for (const driver of this.#drivers.values()) if (driver.shard !== null) yield driver.shard
  }

  /** Rejects with `CoordinatorError` when the shard cannot answer. */
  submit(partition: number, request: Request): Promise<Response> {
    const driver = this.#drivers.get(partition)
    if (driver === undefined) return Promise.reject(new CoordinatorError(ErrorCode.NOT_COORDINATOR))
    return driver.submit(request)
  }

  /** Whether nobody else coordinated the partition when it was asked; false where that cannot be known. */
  async isStillLed(partition: number): Promise<boolean> {
    return (await this.#drivers.get(partition)?.isStillLed()) === true
  }

  #wake(driver: ShardDriver<Rec, Request, Response>): void {
    this.#ready.add(driver)
    this.#turn ??= this.#env.timers.after(0, () => this.#takeTurn())
  }

  #takeTurn(): void {
    this.#turn = null
    const ready = [...this.#ready]
    this.#ready.clear()
    for (const driver of ready) driver.turn()
    this.#setAlarm()
  }

  /** An alarm that rings too early only finds nothing to do, so a later deadline leaves it as it is. */
  #setAlarm(): void {
    let atMs = Number.POSITIVE_INFINITY
    for (const driver of this.#drivers.values()) atMs = Math.min(atMs, driver.nextDeadlineMs())
    const isNeeded = atMs !== Number.POSITIVE_INFINITY && !this.#isClosed
    if (isNeeded && this.#alarm !== null && this.#alarm.atMs <= atMs) return
    this.#alarm?.timer.cancel()
    this.#alarm = null
    if (!isNeeded) return
    const nowMs = this.#env.clock.monotonicMs()
    const delayMs = Math.max(atMs - nowMs, 0)
    this.#alarm = { atMs, dueMs: nowMs + delayMs, timer: this.#env.timers.after(delayMs, () => this.#onAlarm()) }
  }

  #onAlarm(): void {
    const nowMs = this.#env.clock.monotonicMs()
    const lateMs = nowMs - (this.#alarm?.dueMs ?? nowMs)
    if (lateMs > STANDSTILL_MS) {
      // This process stood still (it was stopped, swapped out, its machine moved). What members said meanwhile is still
      // on its way out of the kernel, and must count before their sessions end.
      const dueMs = nowMs + CATCH_UP_MS
      this.#alarm = { atMs: dueMs, dueMs, timer: this.#env.timers.after(CATCH_UP_MS, () => this.#onAlarm()) }
      return
    }
    this.#alarm = null
    for (const driver of this.#drivers.values()) if (driver.nextDeadlineMs() <= nowMs) this.#wake(driver)
    this.#setAlarm()
  }

  dump(): string {
    const drivers = [...this.#drivers].sort(([one], [other]) => one - other)
    return drivers.map(([partition, driver]) => `${partition}: ${driver.dump()}`).join('\n')
  }
}
