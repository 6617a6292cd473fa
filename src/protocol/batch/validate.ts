import { MalformedError } from '../../base/bytes.ts'
import { ErrorCode } from '../errors.ts'
import { withRecordsSection } from './build.ts'
import { DecompressedTooLargeError } from './codec-errors.ts'
import { compress, decompress } from './codecs.ts'
import { RecordCursor } from './cursor.ts'
import { discard } from './decompressed.ts'
import {
  attributes,
  BATCH_HEADER_BYTES,
  baseOffset,
  baseSequence,
  baseTimestamp,
  batchBytes,
  CODEC_MASK,
  CODECS,
  type Codec,
  codecNumber,
  codecOf,
  computeCrc,
  crc,
  hasDeleteHorizon,
  isControl,
  isLogAppendTime,
  isTransactional,
  lastOffsetDelta,
  LOG_OVERHEAD_BYTES,
  MAGIC_V2,
  magic,
  maxTimestamp,
  NO_TIMESTAMP,
  partitionLeaderEpoch,
  producerEpoch,
  producerId,
  recordCount,
  stampMaxTimestamp,
} from './header.ts'

/** What a topic's configuration demands of a produced batch. Made once per configuration, not per request. */
export interface BatchLimits {
  /** `orders-3`, for messages. */
  readonly partition: string
  /** `max.message.bytes`; of the whole batch, compressed. */
  readonly maxBatchBytes: number
  /** `max.decompressed.message.bytes`; without, and above that, our own bound holds. */
  readonly decompressedBytesMax?: number
  /** `segment.bytes`: a batch never spans two segments. */
  readonly segmentBytes: number
  /** `cleanup.policy` has `compact`: every record needs a key. */
  readonly compacted: boolean
  /** `message.timestamp.type` is LogAppendTime. */
  readonly logAppendTime: boolean
  /** `message.timestamp.before.max.ms` and `.after.max.ms`. */
  readonly timestampBeforeMaxMs: number
  readonly timestampAfterMaxMs: number
  /** `compression.type`: null keeps what the producer chose. */
  readonly codec: Codec | null
  /** `compression.<codec>.level` of `codec`. */
  readonly compressionLevel?: number
}

export interface RecordError {
  /** Index of the record in its batch. */
  readonly batchIndex: number
  readonly message: string
}

export type ProducedBatch =
  | {
      readonly kind: 'accepted'
      /** The bytes that came, stamped in place where the topic demands it; others only after a codec change. */
      readonly batch: Buffer
      /** -1 unless the topic stamps the append time. */
      readonly logAppendTimeMs: number
    }
  | BatchRefusal

export interface BatchRefusal {
  readonly kind: 'refused'
  readonly errorCode: number
  readonly message: string
  readonly recordErrors: readonly RecordError[]
  /** By the form of the request alone, before the log was looked at. */
  readonly isOfRequest: boolean
}

/** The first Produce version in which zstd may be used (KIP-110). */
const ZSTD_PRODUCE_VERSION = 7
/** A client gets at most so many of a batch's errors: an answer must not be larger than its request. */
const RECORD_ERRORS_MAX = 1000
/** A batch may decompress to this, or to so many times `max.message.bytes`; it also bounds the time spent on it. */
const DECOMPRESSED_BYTES = 32 * 1024 * 1024
const DECOMPRESSED_PER_BATCH_BYTE = 16

/**
 * Decides whether a leader takes what a client produced to one partition: exactly one v2 batch, whole and unaltered, of
 * the client's kind, within the topic's limits. Checks, order and error codes are those of Kafka 4.4 (ProduceRequest,
 * UnifiedLog, LogValidator); every record is walked as there, for a batch that no consumer can read would block its
 * partition. Stricter than Kafka, with INVALID_RECORD: records whose offsets are not 0, 1, 2, …, producer ids above 2^53,
 * a producer without an epoch, transactions without a producer id, and a delete horizon set by a client. Where Kafka
 * only knows UNKNOWN_SERVER_ERROR (a section that does not decompress, a codec number of none) the reason is given instead.
 *
 * `records` is what the request carried. An accepted batch may have been changed in place (append time, largest timestamp).
 */
export function validateProducedBatch(
  records: Buffer | null,
  limits: BatchLimits,
  { produceVersion, nowMs }: { produceVersion: number; nowMs: number },
): ProducedBatch {
  const framed = frameBatch(records, produceVersion)
  if (!Buffer.isBuffer(framed)) return { ...framed, isOfRequest: true }
  return checkHeader(framed, limits) ?? checkRecords(framed, limits, nowMs)
}

/** Finds the one batch. Bytes after it that are no whole batch are cut off, as Kafka does. */
function frameBatch(records: Buffer | null, produceVersion: number): Buffer | BatchRefusal {
  const request = `Produce requests with version ${produceVersion}`
  const claimed = claimedBatchBytes(records, 0)
  if (records === null || claimed === 0) {
    return refused(ErrorCode.INVALID_RECORD, `${request} must have at least one record batch per partition`)
  }
  if (claimed < 0) return refused(ErrorCode.CORRUPT_MESSAGE, `record batch of ${batchBytes(records, 0)} bytes`)
  if (magic(records, 0) < 0 || magic(records, 0) > MAGIC_V2) {
    return refused(ErrorCode.CORRUPT_MESSAGE, `Invalid magic found in record: ${magic(records, 0)}`)
  }
  if (magic(records, 0) !== MAGIC_V2) {
    return refused(
      ErrorCode.INVALID_RECORD,
      `${request} are only allowed to contain record batches with magic version 2`,
    )
  }
  if (claimed < BATCH_HEADER_BYTES) {
    const message = `record batch of ${claimed} bytes, the header alone has ${BATCH_HEADER_BYTES}`
    return refused(ErrorCode.CORRUPT_MESSAGE, message)
  }
  if (produceVersion < ZSTD_PRODUCE_VERSION && codecOf(records, 0) === 'zstd') {
    return refused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, `${request} are not allowed to use ZStandard compression`)
  }
  if (produceVersion < ZSTD_PRODUCE_VERSION && codecOf(records, 0) === null) return unknownCodec(records)
  if (claimedBatchBytes(records, claimed) !== 0) {
    return refused(
      ErrorCode.INVALID_RECORD,
      `${request} are only allowed to contain exactly one record batch per partition`,
    )
  }
  return claimed === records.length ? records : records.subarray(0, claimed)
}

/** Bytes of the batch at `at`; 0 when there is no whole one, -1 when its length is less than any format's least. */
function claimedBatchBytes(records: Buffer | null, at: number): number {
  if (records === null || records.length - at < LOG_OVERHEAD_BYTES + 5) return 0
  const bytes = batchBytes(records, at)
  if (bytes < LOG_OVERHEAD_BYTES + 14) return -1
  return bytes > records.length - at ? 0 : bytes
}

function checkHeader(batch: Buffer, limits: BatchLimits): BatchRefusal | null {
  const where = `in topic partition ${limits.partition}`
  if (baseOffset(batch, 0) !== 0) {
    const message = `The baseOffset of the record batch in the append to ${limits.partition} should be 0, but it is ${baseOffset(batch, 0)}`
    return refused(ErrorCode.INVALID_RECORD, message)
  }
  if (batch.length > limits.maxBatchBytes) return tooLarge(batch.length, limits)
  const computed = computeCrc(batch, 0)
  if (computed !== crc(batch, 0)) {
    const message = `Record is corrupt (stored crc = ${crc(batch, 0)}, computed crc = ${computed}) ${where}`
    return refused(ErrorCode.CORRUPT_MESSAGE, message)
  }
  if (codecOf(batch, 0) === null) return unknownCodec(batch)
  const reason = invalidHeader(batch)
  return reason === null ? null : refused(ErrorCode.INVALID_RECORD, `${reason} ${where}`)
}

function unknownCodec(batch: Buffer): BatchRefusal {
  return refused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, `Unknown compression type ${codecNumber(batch, 0)}`)
}

function invalidHeader(batch: Buffer): string | null {
  const delta = lastOffsetDelta(batch, 0)
  const count = recordCount(batch, 0)
  if (delta < 0) return `Batch has an invalid offset range: [0, ${delta}]`
  if (count <= 0) return `Invalid reported count for record batch: ${count}`
  if (delta + 1 !== count) return `Inconsistent batch offset range [0, ${delta}] and count of records ${count}`
  if (isControl(batch, 0)) return 'Clients are not allowed to write control records'
  if (hasDeleteHorizon(batch, 0)) return 'Clients are not allowed to set a delete horizon'
  const id = producerId(batch, 0)
  if (id < 0) return isTransactional(batch, 0) ? 'Transactional record batch without a producerId' : null
  if (id > Number.MAX_SAFE_INTEGER || producerEpoch(batch, 0) < 0) {
    return `Invalid producerId ${id} with producerEpoch ${producerEpoch(batch, 0)}`
  }
  const sequence = baseSequence(batch, 0)
  return sequence < 0 ? `Invalid sequence number ${sequence} in record batch with producerId ${id}` : null
}

function checkRecords(batch: Buffer, limits: BatchLimits, nowMs: number): ProducedBatch {
  const codec = codecOf(batch, 0) as Codec
  const ownMax = Math.max(DECOMPRESSED_BYTES, limits.maxBatchBytes * DECOMPRESSED_PER_BATCH_BYTE)
  const maxBytes = Math.min(limits.decompressedBytesMax ?? ownMax, ownMax)
  // Uncompressed records are walked where they lie, without even a view of them.
  const raw = codec === 'none'
  let section = batch
  try {
    if (!raw) section = decompress(codec, batch.subarray(BATCH_HEADER_BYTES), maxBytes)
    const start = raw ? BATCH_HEADER_BYTES : 0
    const cursor = new RecordCursor(section, { start, end: section.length, count: recordCount(batch, 0) })
    const walked = walk(cursor, batch, limits, nowMs)
    if (typeof walked !== 'number') return walked
    return finish(batch, raw ? section.subarray(start) : section, { codec, maxTimestampMs: walked }, limits, nowMs)
  } catch (error) {
    if (error instanceof DecompressedTooLargeError) {
      // The code that makes a producer split the batch and send it again.
      return refused(ErrorCode.MESSAGE_TOO_LARGE, `${error.message} in topic partition ${limits.partition}`)
    }
    if (error instanceof MalformedError) {
      return refused(ErrorCode.INVALID_RECORD, `${error.message} in topic partition ${limits.partition}`)
    }
    throw error
  } finally {
    if (section !== batch) discard(section)
  }
}

/** The largest timestamp, or why the batch is refused. */
function walk(cursor: RecordCursor, batch: Buffer, limits: BatchLimits, nowMs: number): number | BatchRefusal {
  const first = baseTimestamp(batch, 0)
  const appendTimeMs = isLogAppendTime(batch, 0) ? maxTimestamp(batch, 0) : null
  const earliest = nowMs - limits.timestampBeforeMaxMs
  const latest = nowMs + limits.timestampAfterMaxMs
  let max = NO_TIMESTAMP
  let errors: RecordErrors | null = null
  while (cursor.next()) {
    if (cursor.offsetDelta !== cursor.index) {
      throw new MalformedError(`record ${cursor.index} has the offset delta ${cursor.offsetDelta}`)
    }
    const timestamp = appendTimeMs ?? first + cursor.timestampDelta
    if (timestamp > max) max = timestamp
    if (limits.compacted && cursor.keyLength < 0) {
      errors ??= new RecordErrors()
      errors.add(
        cursor.index,
        `Compacted topic cannot accept message without key in topic partition ${limits.partition}.`,
      )
    } else if (!limits.logAppendTime && timestamp !== NO_TIMESTAMP) {
      if (timestamp >= earliest && timestamp <= latest) continue
      errors ??= new RecordErrors()
      errors.addTimestamp(
        cursor.index,
        `Timestamp ${timestamp} of message with offset ${cursor.index} is out of range. The timestamp should be within [${earliest}, ${latest}]`,
      )
    } else if (appendTimeMs !== null) {
      errors ??= new RecordErrors()
      const message = `Invalid timestamp type in message ${cursor.index}. Producer should not set timestamp type to LogAppendTime.`
      errors.addTimestamp(cursor.index, message)
    }
  }
  return errors === null ? max : errors.refusal()
}

class RecordErrors {
  readonly #errors: RecordError[] = []
  #count = 0
  #anyTimestamp = false

  add(batchIndex: number, message: string): void {
    this.#count += 1
    if (this.#errors.length < RECORD_ERRORS_MAX) this.#errors.push({ batchIndex, message })
  }

  addTimestamp(batchIndex: number, message: string): void {
    this.#anyTimestamp = true
    this.add(batchIndex, message)
  }

  refusal(): BatchRefusal {
    const code = this.#anyTimestamp ? ErrorCode.INVALID_TIMESTAMP : ErrorCode.INVALID_RECORD
    const message = this.#anyTimestamp
      ? 'One or more records have been rejected due to invalid timestamp'
      : `One or more records have been rejected due to ${this.#count} record errors in total`
    return { kind: 'refused', errorCode: code, message, recordErrors: this.#errors, isOfRequest: false }
  }
}

interface Walked {
  readonly codec: Codec
  readonly maxTimestampMs: number
}

function finish(
  batch: Buffer,
  section: Buffer,
  { codec, maxTimestampMs }: Walked,
  limits: BatchLimits,
  nowMs: number,
): ProducedBatch {
  const stored = limits.codec === null || limits.codec === codec ? batch : recompress(batch, section, limits)
  if (stored.length > limits.maxBatchBytes) return tooLarge(stored.length, limits)
  if (stored.length > limits.segmentBytes) {
    const message = `Message batch size is ${stored.length} bytes in append to partition ${limits.partition}, which exceeds the maximum configured segment size of ${limits.segmentBytes}.`
    return refused(ErrorCode.RECORD_LIST_TOO_LARGE, message)
  }
  const max = limits.logAppendTime ? nowMs : maxTimestampMs
  // A client may claim any largest timestamp; look-ups and retention go by it, so it is set right where it is wrong.
  if (maxTimestamp(stored, 0) !== max || isLogAppendTime(stored, 0) !== limits.logAppendTime) {
    stampMaxTimestamp(stored, 0, max, limits.logAppendTime)
  }
  return { kind: 'accepted', batch: stored, logAppendTimeMs: limits.logAppendTime ? nowMs : NO_TIMESTAMP }
}

/** The only case in which a broker writes records anew: the topic's `compression.type` names another codec. */
function recompress(batch: Buffer, section: Buffer, limits: BatchLimits): Buffer {
  const codec = limits.codec as Codec
  const header = {
    baseOffset: 0,
    lastOffsetDelta: lastOffsetDelta(batch, 0),
    leaderEpoch: partitionLeaderEpoch(batch, 0),
    attributes: (attributes(batch, 0) & ~CODEC_MASK) | CODECS.indexOf(codec),
    baseTimestampMs: baseTimestamp(batch, 0),
    maxTimestampMs: maxTimestamp(batch, 0),
    producerId: producerId(batch, 0),
    producerEpoch: producerEpoch(batch, 0),
    baseSequence: baseSequence(batch, 0),
    recordCount: recordCount(batch, 0),
  }
  return withRecordsSection(header, compress(codec, section, limits.compressionLevel))
}

function tooLarge(bytes: number, limits: BatchLimits): BatchRefusal {
  const message = `The record batch size in the append to ${limits.partition} is ${bytes} bytes which exceeds the maximum configured value of ${limits.maxBatchBytes}.`
  return refused(ErrorCode.MESSAGE_TOO_LARGE, message)
}

function refused(errorCode: number, message: string): BatchRefusal {
  return { kind: 'refused', errorCode, message, recordErrors: NO_RECORD_ERRORS, isOfRequest: false }
}

const NO_RECORD_ERRORS: readonly RecordError[] = []
