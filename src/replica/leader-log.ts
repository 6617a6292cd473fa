import { assert } from '../base/assert.ts'
import type { Clock } from '../env/clock.ts'
import { DiskError } from '../env/disk.ts'
import { LogUnavailableError, type ReplicatedLog } from '../env/replicated-log.ts'
import type { TopicPartition } from '../model/ids.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { CorruptLogError } from '../storage/errors.ts'
import type { PartitionLog } from '../storage/partition-log.ts'
import type { ReadLimits, ReadResult } from '../storage/tail.ts'
import type { AckWait } from './ack-queue.ts'
import type { Partition } from './partition.ts'

/** A partition as a coordinator has it for one leadership: it writes what it decides and waits until that is committed. */
export class LeaderLog implements ReplicatedLog {
  readonly leaderEpoch: number
  readonly #partition: Partition
  readonly #log: PartitionLog
  readonly #clock: Clock

  constructor(partition: Partition, clock: Clock) {
    assert(partition.leader !== null && partition.log !== null, `${partition.name} is not led here`)
    this.leaderEpoch = partition.leader.leaderEpoch
    this.#partition = partition
    this.#log = partition.log
    this.#clock = clock
  }

  get topicPartition(): TopicPartition {
    return this.#partition.topicPartition
  }

  get startOffset(): number {
    return this.#log.logStartOffset
  }

  get endOffset(): number {
    return this.#log.endOffset
  }

  get committedOffset(): number {
    return this.#partition.highWatermark
  }

  refusal(): LogUnavailableError | null {
    const { name, leader } = this.#partition
    if (leader === null || leader.leaderEpoch !== this.leaderEpoch) {
      return new LogUnavailableError('resigned', `${name} is not led here in epoch ${this.leaderEpoch} any more`)
    }
    if (leader.isUnderMinInsync) {
      const message = `${name} has ${leader.isr.length} replicas in sync, ${leader.effectiveMinInsync} are needed`
      return new LogUnavailableError('not-enough-replicas', message)
    }
    const refusal = this.#partition.appendRefusal
    if (refusal === null) return null
    return new LogUnavailableError(refusal.kind === 'out-of-space' ? 'out-of-space' : 'storage', refusal.message)
  }

  append(batch: Buffer): number {
    const refusal = this.refusal()
    if (refusal !== null) throw refusal
    const { limits } = this.#partition
    const most = Math.min(limits.maxBatchBytes, limits.segmentBytes)
    if (batch.length > most) {
      throw new LogUnavailableError(
        'too-large',
        `a batch of ${batch.length} bytes for ${this.#partition.name}, at most ${most}`,
      )
    }
    return this.#partition.append(batch, this.#clock.wallMs())
  }

  committed(offset: number): Promise<void> {
    if (this.#partition.leader?.leaderEpoch !== this.leaderEpoch) return Promise.reject(this.#resigned())
    if (offset <= this.committedOffset) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.#partition.whenCommitted(new CommitWait(offset, this.#partition.name, resolve, reject))
    })
  }

  isStillLed(): Promise<boolean> {
    if (this.#partition.leader?.leaderEpoch !== this.leaderEpoch) return Promise.resolve(false)
    return this.#partition.isStillLed()
  }

  async read(offset: number, maxBytes: number): Promise<Buffer> {
    const limitOffset = this.#log.endOffset
    if (offset >= limitOffset) return Buffer.alloc(0)
    const { buffers } = await this.#read(offset, { maxBytes, limitOffset, atLeastOneBatch: true })
    return buffers.length === 1 ? (buffers[0] as Buffer) : Buffer.concat(buffers)
  }

  async #read(offset: number, limits: ReadLimits): Promise<ReadResult> {
    try {
      return await this.#log.read(offset, limits)
    } catch (error) {
      if (!(error instanceof DiskError || error instanceof CorruptLogError)) throw error
      throw new LogUnavailableError('storage', error.message)
    }
  }

  #resigned(): LogUnavailableError {
    return new LogUnavailableError(
      'resigned',
      `${this.#partition.name} is not led here in epoch ${this.leaderEpoch} any more`,
    )
  }
}

class CommitWait implements AckWait {
  readonly waitOffset: number
  readonly #name: string
  readonly #resolve: () => void
  readonly #reject: (error: LogUnavailableError) => void

  constructor(waitOffset: number, name: string, resolve: () => void, reject: (error: LogUnavailableError) => void) {
    this.waitOffset = waitOffset
    this.#name = name
    this.#resolve = resolve
    this.#reject = reject
  }

  acked(errorCode: number): void {
    // It is on as many copies as the ISR has: for a coordinator that is committed, even if the ISR shrank meanwhile.
    if (errorCode === ErrorCode.NONE || errorCode === ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND) this.#resolve()
    else if (errorCode === ErrorCode.KAFKA_STORAGE_ERROR) {
      this.#reject(new LogUnavailableError('storage', `the log of ${this.#name} has failed`))
    } else this.#reject(new LogUnavailableError('resigned', `${this.#name} is not led here any more`))
  }
}
