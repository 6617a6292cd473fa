import { ErrorCode } from '../protocol/errors.ts'
import { AckQueue, type AckWait } from './ack-queue.ts'

/** Someone who wants to look again when what can be read, or who leads, has changed. */
export interface Watcher {
  partitionChanged(): void
}

/**
 * Everyone who waits for something of one partition: for its high watermark, its leader's own log or its low watermark to reach an
 * offset, or for news to read. Most partitions are idle, and there may be very many: nothing is kept while nobody waits.
 */
export class Audience {
  readonly #committed = new AckQueue()
  readonly #kept = new AckQueue()
  #deleted: AckQueue | null = null
  /** Who is to go to the successor, once that leads. */
  #leaving: AckQueue | null = null
  /** Who reads up to the high watermark. */
  #watchers: Set<Watcher> | null = null
  /** Who follows, and so reads to the end of the log and must hear of its start too. */
  #replicas: Set<Watcher> | null = null

  /** Those who wait for an acknowledgement. */
  get waiting(): number {
    return this.#committed.size + this.#kept.size + (this.#leaving?.size ?? 0)
  }

  waitCommitted(wait: AckWait): void {
    this.#committed.add(wait)
  }

  waitKept(wait: AckWait): void {
    this.#kept.add(wait)
  }

  waitDeleted(wait: AckWait): void {
    this.#deleted ??= new AckQueue()
    this.#deleted.add(wait)
  }

  /** Hears when the successor leads. */
  waitSuccessor(wait: AckWait): void {
    this.#leaving ??= new AckQueue()
    this.#leaving.add(wait)
  }

  stopWaiting(wait: AckWait): void {
    this.#committed.remove(wait)
    this.#kept.remove(wait)
    this.#deleted?.remove(wait)
    this.#leaving?.remove(wait)
  }

  committed(highWatermark: number, errorCode: number): void {
    this.#committed.reached(highWatermark, errorCode)
    this.wake()
  }

  kept(offset: number): void {
    this.#kept.reached(offset, ErrorCode.NONE)
  }

  get isDeletionAwaited(): boolean {
    return this.#deleted !== null
  }

  deleted(lowWatermark: number): void {
    this.#deleted?.reached(lowWatermark, ErrorCode.NONE)
    if (this.#deleted?.size === 0) this.#deleted = null
  }

  /** None of it will come. */
  fail(errorCode: number): void {
    this.#committed.fail(errorCode)
    this.#kept.fail(errorCode)
    this.#deleted?.fail(errorCode)
    this.succeeded(errorCode)
  }

  /** Another node leads now: what it has may still be committed, all else is over. */
  handOver(errorCode: number): void {
    this.#committed.failMortal(errorCode)
    this.#kept.fail(errorCode)
    this.#deleted?.fail(errorCode)
  }

  /** What the successor does not have. */
  beyond(endOffset: number, errorCode: number): void {
    this.#committed.failBeyond(endOffset, errorCode)
  }

  /** The successor leads: whoever is sent there is welcome. */
  succeeded(errorCode: number): void {
    const leaving = this.#leaving
    this.#leaving = null
    leaving?.fail(errorCode)
  }

  watch(watcher: Watcher): void {
    this.#watchers ??= new Set()
    this.#watchers.add(watcher)
  }

  unwatch(watcher: Watcher): void {
    this.#watchers?.delete(watcher)
    if (this.#watchers?.size === 0) this.#watchers = null
  }

  watchAsReplica(watcher: Watcher): void {
    this.#replicas ??= new Set()
    this.#replicas.add(watcher)
  }

  unwatchAsReplica(watcher: Watcher): void {
    this.#replicas?.delete(watcher)
    if (this.#replicas?.size === 0) this.#replicas = null
  }

  wake(): void {
    this.wakeReplicas()
    if (this.#watchers === null) return
    for (const watcher of [...this.#watchers]) watcher.partitionChanged()
  }

  /** There is more at the end of the log, or less at its start. */
  wakeReplicas(): void {
    if (this.#replicas === null) return
    for (const watcher of this.#replicas) watcher.partitionChanged()
  }
}
