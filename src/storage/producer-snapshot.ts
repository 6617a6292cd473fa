import { ByteReader, ByteWriter, MalformedError } from '../base/bytes.ts'
import { crc32c } from '../base/crc32c.ts'
import type { TopicId } from '../model/ids.ts'
import type { TimeEntry } from './index-format.ts'
import type { EpochEntry } from './leader-epochs.ts'
import { NO_OFFSET, PRODUCER_BATCHES_KEPT, type ProducerBatch, ProducerEntry } from './producer-entry.ts'

/**
 * The file `<offset>.snapshot`: all producers as they were before that offset. Kafka's format (version 1): the version,
 * a CRC-32C of all that follows it, then the entries, each with its last batch only.
 *
 * Behind them we append a part of our own, which Kafka's reader leaves unread (its CRC covers the whole file): where the
 * offset lies in the log, so that a start scans from there, and what Kafka leaves out, the up to four batches before
 * each producer's last one, so that a retry is still recognised after a restart.
 */
const VERSION = 1
const CRC_AT = 2
const ENTRIES_AT = 6
const ENTRY_BYTES = 46
/** "MRW1": our own part, and its form. */
const NOTE_MAGIC = 0x4d525731
const EPOCH_BYTES = 12
const WINDOW_ENTRY_BYTES_MIN = 9

/** A log at one offset, as the snapshot at that offset remembers it. */
export interface LogNote {
  readonly topicId: TopicId
  readonly partition: number
  readonly offset: number
  /** The segment that goes on at `offset`, and its bytes before it. */
  readonly segmentBase: number
  readonly position: number
  readonly createdMs: number
  readonly firstTimestampMs: number | null
  readonly newest: TimeEntry
  /** Aborted transactions whose marker lies in this segment, before the offset. */
  readonly abortedCount: number
  /** Of the segment before: how many its `.txnindex` must hold. -1: not known. */
  readonly abortedBefore: number
  readonly epochs: readonly EpochEntry[]
}

export interface Snapshot {
  readonly producers: ProducerEntry[]
  /** Null in a file of Kafka's. */
  readonly note: LogNote | null
}

export function encodeSnapshot(producers: Iterable<ProducerEntry>, note: LogNote): Buffer {
  const entries = [...producers]
  const writer = new ByteWriter(ENTRIES_AT + 4 + entries.length * ENTRY_BYTES)
  writer.int16(VERSION)
  writer.int32(0)
  writer.int32(entries.length)
  for (const entry of entries) {
    writer.int64(entry.producerId)
    writer.int16(entry.epoch)
    writer.int32(entry.lastSequence)
    writer.int64(entry.lastOffset)
    writer.int32(entry.batches.at(-1)?.offsetDelta ?? 0)
    writer.int64(entry.lastTimestampMs)
    writer.int32(entry.coordinatorEpoch)
    writer.int64(entry.transactionFirstOffset)
  }
  writeNote(writer, note)
  writeWindows(
    writer,
    entries.filter(({ batches }) => batches.length > 1),
  )
  const content = writer.toBuffer()
  content.writeUInt32BE(crc32c(content.subarray(ENTRIES_AT)), CRC_AT)
  return content
}

function writeNote(writer: ByteWriter, note: LogNote): void {
  writer.int32(NOTE_MAGIC)
  writer.bytes(Buffer.from(note.topicId, 'base64url'))
  writer.int32(note.partition)
  writer.int64(note.offset)
  writer.int64(note.segmentBase)
  writer.int64(note.position)
  writer.int64(note.createdMs)
  writer.int8(note.firstTimestampMs === null ? 0 : 1)
  writer.int64(note.firstTimestampMs ?? 0)
  writer.int64(note.newest.timestampMs)
  writer.int64(note.newest.offset)
  writer.int32(note.abortedCount)
  writer.int32(note.abortedBefore)
  writer.int32(note.epochs.length)
  for (const { epoch, startOffset } of note.epochs) {
    writer.int32(epoch)
    writer.int64(startOffset)
  }
}

function readNote(reader: ByteReader): LogNote {
  const topicId = reader.bytes(16).toString('base64url') as TopicId
  const partition = reader.int32()
  const [offset, segmentBase, position, createdMs] = [reader.int64(), reader.int64(), reader.int64(), reader.int64()]
  const hasTimestamp = reader.int8() === 1
  const timestampMs = reader.int64()
  const newest = { timestampMs: reader.int64(), offset: reader.int64() }
  const abortedCount = reader.int32()
  const abortedBefore = reader.int32()
  const count = reader.int32()
  if (count < 0 || count * EPOCH_BYTES > reader.remaining) throw new MalformedError(`note of ${count} epochs`)
  const epochs: EpochEntry[] = []
  for (let i = 0; i < count; i++) epochs.push({ epoch: reader.int32(), startOffset: reader.int64() })
  const firstTimestampMs = hasTimestamp ? timestampMs : null
  return {
    topicId,
    partition,
    offset,
    segmentBase,
    position,
    createdMs,
    firstTimestampMs,
    newest,
    abortedCount,
    abortedBefore,
    epochs,
  }
}

function writeWindows(writer: ByteWriter, entries: readonly ProducerEntry[]): void {
  writer.int32(entries.length)
  for (const { producerId, batches } of entries) {
    writer.int64(producerId)
    writer.int8(batches.length - 1)
    for (const batch of batches.slice(0, -1)) {
      writer.int32(batch.lastSequence)
      writer.int64(batch.lastOffset)
      writer.int32(batch.offsetDelta)
      writer.int64(batch.timestampMs)
    }
  }
}

/** Throws `MalformedError`: the caller takes an older snapshot and replays more of the log. */
export function decodeSnapshot(content: Buffer): Snapshot {
  const reader = new ByteReader(content)
  const version = reader.int16()
  if (version !== VERSION) throw new MalformedError(`producer snapshot of version ${version}`)
  const crc = reader.uint32()
  if (crc !== crc32c(content.subarray(ENTRIES_AT))) throw new MalformedError('producer snapshot with a wrong CRC')
  const count = reader.int32()
  if (count < 0 || count * ENTRY_BYTES > reader.remaining) {
    throw new MalformedError(`producer snapshot claims ${count} entries in ${reader.remaining} bytes`)
  }
  const entries = new Map<number, ProducerEntry>()
  for (let i = 0; i < count; i++) {
    const entry = readEntry(reader)
    entries.set(entry.producerId, entry)
  }
  let note: LogNote | null = null
  if (reader.remaining >= 4 && reader.uint32() === NOTE_MAGIC) {
    note = readNote(reader)
    readWindows(reader, entries)
  }
  return { producers: [...entries.values()], note }
}

function readEntry(reader: ByteReader): ProducerEntry {
  const entry = new ProducerEntry(reader.int64(), reader.int16())
  const lastSequence = reader.int32()
  const lastOffset = reader.int64()
  const offsetDelta = reader.int32()
  entry.lastTimestampMs = reader.int64()
  entry.coordinatorEpoch = reader.int32()
  entry.transactionFirstOffset = reader.int64()
  if (lastOffset !== NO_OFFSET) {
    entry.batches = [{ lastSequence, lastOffset, offsetDelta, timestampMs: entry.lastTimestampMs }]
  }
  return entry
}

function readWindows(reader: ByteReader, entries: ReadonlyMap<number, ProducerEntry>): void {
  const count = reader.int32()
  if (count < 0 || count * WINDOW_ENTRY_BYTES_MIN > reader.remaining) {
    throw new MalformedError(`producer snapshot claims ${count} windows in ${reader.remaining} bytes`)
  }
  for (let i = 0; i < count; i++) {
    const entry = entries.get(reader.int64())
    const batchCount = reader.int8()
    if (batchCount < 0 || batchCount >= PRODUCER_BATCHES_KEPT)
      throw new MalformedError(`window of ${batchCount} batches`)
    const earlier: ProducerBatch[] = []
    for (let k = 0; k < batchCount; k++) {
      earlier.push({
        lastSequence: reader.int32(),
        lastOffset: reader.int64(),
        offsetDelta: reader.int32(),
        timestampMs: reader.int64(),
      })
    }
    if (entry !== undefined) entry.batches = [...earlier, ...entry.batches]
  }
}
