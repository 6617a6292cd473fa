import { ClientError } from '../rpc/errors.ts'

/** The client, producer or consumer was closed while the call was under way, or before. */
export class ClosedError extends ClientError {
  override name = 'ClosedError'
  readonly code = 'CLOSED'
  readonly retriable = false
}

/** Called with something that cannot work; nothing was sent. */
export class UsageError extends ClientError {
  override name = 'UsageError'
  readonly code = 'USAGE'
  readonly retriable = false
}

/** The record alone is larger than the topic or the producer accepts. */
export class RecordTooLargeError extends ClientError {
  override name = 'RecordTooLargeError'
  readonly code = 'RECORD_TOO_LARGE'
  readonly retriable = false
}

/** The position of a partition is outside its log, or there is none, and nothing says where to start. */
export class NoOffsetError extends ClientError {
  override name = 'NoOffsetError'
  readonly code = 'NO_OFFSET'
  readonly retriable = false
  readonly partitions: readonly { readonly topic: string; readonly partition: number }[]

  constructor(message: string, partitions: NoOffsetError['partitions'], options?: ErrorOptions) {
    super(message, options)
    this.partitions = partitions
  }
}

/** The group has gone on without this consumer: what it wanted to commit belongs to somebody else now. */
export class RebalancedError extends ClientError {
  override name = 'RebalancedError'
  readonly code = 'REBALANCED'
  readonly retriable = false
}
