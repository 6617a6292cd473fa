import { MalformedError } from '../../base/bytes.ts'
import {
  attributes,
  baseOffset,
  baseSequence,
  codecOf,
  crc,
  isControl,
  isLogAppendTime,
  isTransactional,
  lastOffset,
  magic,
  maxTimestamp,
  partitionLeaderEpoch,
  producerEpoch,
  producerId,
  recordCount,
  verifyCrc,
} from '../../protocol/batch/header.ts'
import { type BatchRecord, recordsOf } from '../../protocol/batch/records.ts'
import { decodeMessage } from '../../protocol/message-codec.ts'
import {
  EndTxnMarker,
  KRaftVersionRecord,
  LeaderChangeMessage,
  SnapshotFooterRecord,
  SnapshotHeaderRecord,
  VotersRecord,
} from '../../protocol/messages/control-records.ts'
import { decodeGroupRecord } from '../../protocol/messages/group-records.ts'
import { decodeMetadataRecord } from '../../protocol/messages/metadata-records.ts'
import { batchesInFile } from './batches.ts'
import { bytesText, type DumpEntry, UNDER } from './entry.ts'

/** What the records of a segment are. */
export type RecordKind = 'none' | 'plain' | 'metadata' | 'offsets'

/** The batches of a segment or metadata snapshot, each followed by its records, decoded by `kind`. */
export async function* dumpSegment(path: string, kind: RecordKind): AsyncGenerator<DumpEntry> {
  for await (const { position, batch } of batchesInFile(path)) {
    const isValid = magic(batch, 0) === 2 && verifyCrc(batch, 0)
    yield batchEntry(position, batch, isValid)
    if (kind === 'none' || !isValid) continue
    for (const record of recordsOf(batch)) yield recordEntry(record, batch, kind)
  }
}

function batchEntry(position: number, batch: Buffer, isValid: boolean): DumpEntry {
  return {
    baseOffset: baseOffset(batch, 0),
    lastOffset: lastOffset(batch, 0),
    count: recordCount(batch, 0),
    baseSequence: baseSequence(batch, 0),
    producerId: producerId(batch, 0),
    producerEpoch: producerEpoch(batch, 0),
    partitionLeaderEpoch: partitionLeaderEpoch(batch, 0),
    isTransactional: isTransactional(batch, 0),
    isControl: isControl(batch, 0),
    position,
    timestampType: isLogAppendTime(batch, 0) ? 'LogAppendTime' : 'CreateTime',
    maxTimestampMs: maxTimestamp(batch, 0),
    size: batch.length,
    magic: magic(batch, 0),
    codec: codecOf(batch, 0) ?? `unknown (attributes ${attributes(batch, 0)})`,
    crc: crc(batch, 0),
    isValid,
  }
}

function recordEntry(record: BatchRecord, batch: Buffer, kind: RecordKind): DumpEntry {
  const place = { [`${UNDER}offset`]: record.offset, timestampMs: record.timestampMs }
  try {
    if (isControl(batch, 0)) return { ...place, ...controlRecord(record) }
    if (kind === 'metadata') return { ...place, ...decodeMetadataRecord(record.value ?? Buffer.alloc(0)) }
    if (kind === 'offsets') return { ...place, ...offsetsRecord(record) }
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error
    return { ...place, error: error.message, key: bytesText(record.key), value: bytesText(record.value) }
  }
  const headers = record.headers.map((header) => ({ key: header.key, value: bytesText(header.value) }))
  return {
    ...place,
    key: bytesText(record.key),
    value: bytesText(record.value),
    ...(headers.length === 0 ? {} : { headers }),
  }
}

function offsetsRecord({ key, value }: BatchRecord): DumpEntry {
  const decoded = key === null ? null : decodeGroupRecord(key, value)
  return decoded === null ? { key: bytesText(key), value: bytesText(value) } : { ...decoded }
}

/** Control records by the type in their key: transaction markers and those of the metadata log. */
const CONTROL_RECORDS: ReadonlyMap<number, { name: string; message: Parameters<typeof decodeMessage>[0] | null }> =
  new Map([
    [0, { name: 'Abort', message: EndTxnMarker }],
    [1, { name: 'Commit', message: EndTxnMarker }],
    [2, { name: 'LeaderChange', message: LeaderChangeMessage }],
    [3, { name: 'SnapshotHeader', message: SnapshotHeaderRecord }],
    [4, { name: 'SnapshotFooter', message: SnapshotFooterRecord }],
    [5, { name: 'KRaftVersion', message: KRaftVersionRecord }],
    [6, { name: 'KRaftVoters', message: VotersRecord }],
  ])

function controlRecord({ key, value }: BatchRecord): DumpEntry {
  if (key === null || key.length < 4) return { control: 'malformed', key: bytesText(key), value: bytesText(value) }
  const type = key.readInt16BE(2)
  const known = CONTROL_RECORDS.get(type)
  if (known === undefined || known.message === null || value === null) return { control: type, value: bytesText(value) }
  return { control: known.name, value: decodeMessage(known.message, value) }
}
