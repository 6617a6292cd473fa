import { LogUnavailableError, type ReplicatedLog } from '../env/replicated-log.ts'
import { baseOffset, batchBytes, lastOffset, lastOffsetDelta, stampBatch } from '../protocol/batch/header.ts'

/** A replicated log in memory, for tests: what is appended is committed when the test says so. */
export class MemoryLog implements ReplicatedLog {
  readonly topicPartition
  readonly leaderEpoch: number
  startOffset = 0
  committedOffset = 0
  readonly batches: Buffer[]
  /** Commits at once. */
  isAutomatic = true
  #refusal: LogUnavailableError | null = null
  #end: LogUnavailableError | null = null
  #waiters: { offset: number; resolve: () => void; reject: (error: Error) => void }[] = []

  constructor(partition = 0, { leaderEpoch = 1, batches = [] as Buffer[] } = {}) {
    this.topicPartition = { topic: '__consumer_offsets', partition }
    this.leaderEpoch = leaderEpoch
    this.batches = batches
    this.committedOffset = this.endOffset
  }

  get endOffset(): number {
    const last = this.batches.at(-1)
    return last === undefined ? this.startOffset : lastOffset(last, 0) + 1
  }

  refusal(): LogUnavailableError | null {
    return this.#end ?? this.#refusal
  }

  /** From now on the log takes nothing; null: it does again. */
  refuse(reason: LogUnavailableError['reason'] | null): void {
    this.#refusal = reason === null ? null : new LogUnavailableError(reason, `refused: ${reason}`)
  }

  /** The leadership is over, or the disk broken. */
  end(reason: 'resigned' | 'storage' | 'not-enough-replicas'): void {
    const error = new LogUnavailableError(reason, `over: ${reason}`)
    if (reason !== 'not-enough-replicas') this.#end = error
    for (const waiter of this.#waiters.splice(0)) waiter.reject(error)
  }

  append(batch: Buffer): number {
    const refusal = this.refusal()
    if (refusal !== null) throw refusal
    const offset = this.endOffset
    stampBatch(batch, 0, { baseOffset: offset, leaderEpoch: this.leaderEpoch })
    this.batches.push(batch)
    if (this.isAutomatic) this.commit()
    return offset
  }

  /** Everything up to `offset` is on enough copies. */
  commit(offset = this.endOffset): void {
    this.committedOffset = offset
    const ready = this.#waiters.filter((waiter) => waiter.offset <= offset)
    this.#waiters = this.#waiters.filter((waiter) => waiter.offset > offset)
    for (const { resolve } of ready) resolve()
  }

  /** What was not committed is gone, as after another node has led. */
  truncate(): void {
    while (this.endOffset > this.committedOffset) this.batches.pop()
  }

  committed(offset: number): Promise<void> {
    if (this.#end !== null) return Promise.reject(this.#end)
    if (this.committedOffset >= offset) return Promise.resolve()
    return new Promise((resolve, reject) => this.#waiters.push({ offset, resolve, reject }))
  }

  isStillLed(): Promise<boolean> {
    return Promise.resolve(this.#end === null)
  }

  async read(offset: number, maxBytes: number): Promise<Buffer> {
    if (this.#end !== null) throw this.#end
    const chosen: Buffer[] = []
    let bytes = 0
    for (const batch of this.batches) {
      if (baseOffset(batch, 0) + lastOffsetDelta(batch, 0) < offset) continue
      if (bytes > 0 && bytes + batchBytes(batch, 0) > maxBytes) break
      chosen.push(batch)
      bytes += batch.length
    }
    return Buffer.concat(chosen)
  }
}
