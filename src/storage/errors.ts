/** Damage that is not a torn tail: the replica is faulty and must be repaired from a peer, never cut short (reliability S3). */
export class CorruptLogError extends Error {
  override name = 'CorruptLogError'
  readonly file: string
  readonly position: number
  readonly reason: string

  constructor(file: string, position: number, reason: string) {
    super(`${file} is damaged at byte ${position}: ${reason}`)
    this.file = file
    this.position = position
    this.reason = reason
  }
}

/** The offset lies before the first or after the last one there is. */
export class OffsetOutOfRangeError extends Error {
  override name = 'OffsetOutOfRangeError'
  readonly offset: number

  constructor(offset: number, startOffset: number, endOffset: number) {
    super(`offset ${offset} is outside [${startOffset}, ${endOffset}]`)
    this.offset = offset
  }
}

/** The log takes no appends: ask `log.refusal` before. */
export class LogNotWritableError extends Error {
  override name = 'LogNotWritableError'
}

/** Why a data folder was not taken. The message is meant for the operator. */
export class DataFolderError extends Error {
  override name = 'DataFolderError'
  readonly reason: 'in-use' | 'other-cluster' | 'other-node' | 'newer-version' | 'unreadable'

  constructor(reason: DataFolderError['reason'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

/** The folder on disk belongs to another topic of the same name (reliability H21). */
export class TopicIdMismatchError extends Error {
  override name = 'TopicIdMismatchError'
  readonly found: string
  readonly wanted: string

  constructor(directory: string, found: string, wanted: string) {
    super(`${directory} belongs to topic id ${found}, not ${wanted}`)
    this.found = found
    this.wanted = wanted
  }
}
