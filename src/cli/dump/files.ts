import path from 'node:path'
import { ByteReader } from '../../base/bytes.ts'
import { OFFSET_ENTRY_BYTES, offsetEntryAt, TIME_ENTRY_BYTES, timeEntryAt } from '../../storage/index-format.ts'
import { decodeSnapshot } from '../../storage/producer-snapshot.ts'
import { BINARY_BYTES_MAX, readBytes, readText } from '../read-file.ts'
import type { DumpEntry } from './entry.ts'

/** The segment's first offset, from the file's name. */
function baseOffsetOf(file: string): number {
  return Number(/^(\d{20})/.exec(path.basename(file))?.[1] ?? 0)
}

/** Entries up to the first zero one past the start: what follows is preallocated space. */
export async function* dumpOffsetIndex(file: string): AsyncGenerator<DumpEntry> {
  const content = readBytes(file)
  for (let index = 0; index < Math.floor(content.length / OFFSET_ENTRY_BYTES); index++) {
    const entry = offsetEntryAt(content, index, baseOffsetOf(file))
    if (index > 0 && entry.offset === baseOffsetOf(file) && entry.position === 0) return
    yield { offset: entry.offset, position: entry.position }
  }
}

export async function* dumpTimeIndex(file: string): AsyncGenerator<DumpEntry> {
  const content = readBytes(file)
  for (let index = 0; index < Math.floor(content.length / TIME_ENTRY_BYTES); index++) {
    const { timestampMs, offset } = timeEntryAt(content, index, baseOffsetOf(file))
    if (index > 0 && timestampMs === 0) return
    yield { timestampMs, offset }
  }
}

export async function* dumpTransactionIndex(file: string): AsyncGenerator<DumpEntry> {
  const reader = new ByteReader(readBytes(file))
  while (reader.remaining > 0) {
    yield {
      version: reader.int16(),
      producerId: reader.int64(),
      firstOffset: reader.int64(),
      lastOffset: reader.int64(),
      lastStableOffset: reader.int64(),
    }
  }
}

/** `<offset>.snapshot`: the producers known at that offset. */
export async function* dumpProducers(file: string): AsyncGenerator<DumpEntry> {
  const { producers, note } = decodeSnapshot(readBytes(file))
  if (note !== null) yield { note: { ...note } }
  for (const producer of producers) {
    yield {
      producerId: producer.producerId,
      producerEpoch: producer.epoch,
      lastSequence: producer.lastSequence,
      lastOffset: producer.lastOffset,
      lastTimestampMs: producer.lastTimestampMs,
      coordinatorEpoch: producer.coordinatorEpoch,
      transactionFirstOffset: producer.transactionFirstOffset,
      batchesKept: producer.batches.length,
    }
  }
}

/** Checkpoints, meta.properties, quorum-state and their like are text already. */
export async function* dumpText(file: string): AsyncGenerator<DumpEntry> {
  const text = readText(file, BINARY_BYTES_MAX)
  for (const line of text.split('\n')) if (line !== '') yield { line }
}
