import type { TopicPartition } from '../model/ids.ts'

/** Why an append to a replicated log was refused or will never be known to be committed. */
export class LogUnavailableError extends Error {
  override name = 'LogUnavailableError'
  /** `resigned`: this node leads the partition no more. `not-enough-replicas`, `out-of-space`, `storage`: refused. */
  readonly reason: 'resigned' | 'not-enough-replicas' | 'out-of-space' | 'storage' | 'too-large'

  constructor(reason: LogUnavailableError['reason'], message: string) {
    super(message)
    this.reason = reason
  }
}

/**
 * A partition that this node leads, as a coordinator sees it. It stands for one leadership: after another leader epoch
 * has begun, this object only ever answers `resigned`.
 */
export interface ReplicatedLog {
  readonly topicPartition: TopicPartition
  readonly leaderEpoch: number
  /** First offset still there. */
  readonly startOffset: number
  /** One past the last appended record. */
  readonly endOffset: number
  /** One past the last committed record: on enough copies, by the topic's durability mode. */
  readonly committedOffset: number
  /**
   * Why an `append` made now would be refused, or null. A coordinator asks before it decides, so that a refusal costs
   * one answer and not the reload of all it holds in memory.
   */
  refusal(): LogUnavailableError | null
  /** Appends one record batch (base offset and leader epoch are stamped into it) and returns its base offset. Throws `LogUnavailableError`. */
  append(batch: Buffer): number
  /** Resolves when `committedOffset` has reached `offset`; rejects with `LogUnavailableError`. */
  committed(offset: number): Promise<void>
  /** Whether nobody had succeeded this leadership when it was asked; false where that cannot be known. */
  isStillLed(): Promise<boolean>
  /**
   * Whole batches from the one that holds `offset`, about `maxBytes` of them (at least one); empty at the end. Rejects
   * with `LogUnavailableError` (`storage`) where the disk fails or the log is damaged.
   */
  read(offset: number, maxBytes: number): Promise<Buffer>
}
