import { MalformedError } from '../base/bytes.ts'
import type { Disk } from '../env/disk.ts'
import type { MetadataRecord } from '../metadata/records.ts'
import type { QuorumRecord, Voter } from '../raft/types.ts'
import { buildControlBatch, type ControlRecord } from './control-records.ts'
import { buildMetadataBatch, decodeBatches, encodeParts } from './metadata-batch.ts'

/** A snapshot holds what the log says before `offset`; `epoch` is that of the last record in it. */
export interface SnapshotId {
  readonly offset: number
  readonly epoch: number
}

/** Who votes, as control records say it: in the log and in each snapshot. */
export interface VoterSet {
  readonly kraftVersion: number
  readonly voters: readonly Voter[]
}

export const SNAPSHOT_SUFFIX = '.checkpoint'
const PARTIAL_SUFFIX = '.part'

/** `00000000000000000042-0000000003.checkpoint` */
export function snapshotFileName({ offset, epoch }: SnapshotId): string {
  return `${String(offset).padStart(20, '0')}-${String(epoch).padStart(10, '0')}${SNAPSHOT_SUFFIX}`
}

/** Null for a name that is not a finished snapshot's. */
export function parseSnapshotFileName(name: string): SnapshotId | null {
  const match = /^([0-9]{20})-([0-9]{10})\.checkpoint$/.exec(name)
  if (match === null) return null
  const id = { offset: Number(match[1]), epoch: Number(match[2]) }
  return Number.isSafeInteger(id.offset) && id.epoch <= 0x7fffffff ? id : null
}

/** A snapshot that a crash left unfinished, written or fetched. */
export function isPartialSnapshot(name: string): boolean {
  return name.includes(SNAPSHOT_SUFFIX) && name.endsWith(PARTIAL_SUFFIX)
}

export interface SnapshotContent {
  readonly id: SnapshotId
  /** Append time of the last batch in it. */
  readonly lastContainedTimestampMs: number
  readonly voterSet: VoterSet
  readonly records: Iterable<MetadataRecord>
  readonly metadataVersion: number
}

/**
 * Durable under its name when it resolves; until then, and after a crash on the way, there is no file of that name. Comes
 * back to the event loop after each batch. Returns the size in bytes.
 */
export async function writeSnapshot(
  disk: Disk,
  folder: string,
  content: SnapshotContent,
  wallMs: number,
): Promise<number> {
  const path = `${folder}/${snapshotFileName(content.id)}`
  const file = await disk.open(path + PARTIAL_SUFFIX, 'create')
  let position = 0
  try {
    await file.truncate(0)
    for (const batch of snapshotBatches(content, wallMs)) {
      await file.write([batch], position)
      position += batch.length
    }
    await file.sync()
  } finally {
    await file.close()
  }
  await disk.rename(path + PARTIAL_SUFFIX, path)
  await disk.syncDirectory(folder)
  return position
}

function* snapshotBatches(content: SnapshotContent, wallMs: number): IterableIterator<Buffer> {
  const { id, voterSet, records, metadataVersion, lastContainedTimestampMs } = content
  let baseOffset = 0
  const stamp = () => ({ wallMs, baseOffset, leaderEpoch: id.epoch })
  const opening: ControlRecord[] = [
    { type: 'SnapshotHeader', value: { lastContainedLogTimestamp: lastContainedTimestampMs } },
    ...voterSetRecords(voterSet),
  ]
  yield buildControlBatch(opening, stamp())
  baseOffset += opening.length
  for (const values of encodeParts(records, metadataVersion)) {
    yield buildMetadataBatch(values, stamp())
    baseOffset += values.length
  }
  yield buildControlBatch([{ type: 'SnapshotFooter', value: {} }], stamp())
}

export function voterSetRecords({ kraftVersion, voters }: VoterSet): QuorumRecord[] {
  return [
    { type: 'KRaftVersion', value: { kRaftVersion: kraftVersion } },
    { type: 'KRaftVoters', value: { voters } },
  ]
}

export interface LoadedSnapshot {
  readonly id: SnapshotId
  readonly lastContainedTimestampMs: number
  readonly voterSet: VoterSet | null
  readonly records: readonly MetadataRecord[]
  readonly bytes: number
}

/** Larger ones are refused: no metadata of ours comes near it. */
export const SNAPSHOT_BYTES_MAX = 1024 ** 3

/** Rejects with `MalformedError` when the file is not whole. */
export async function readSnapshot(disk: Disk, folder: string, id: SnapshotId): Promise<LoadedSnapshot> {
  return parseSnapshot(await disk.readFile(`${folder}/${snapshotFileName(id)}`, SNAPSHOT_BYTES_MAX), id)
}

/** Throws `MalformedError` unless all is there: every CRC right, header first, footer last, offsets without a gap. */
export function parseSnapshot(content: Buffer, id: SnapshotId): LoadedSnapshot {
  const records: MetadataRecord[] = []
  let header: number | null = null
  let voterSet: VoterSet = { kraftVersion: 0, voters: [] }
  let hasVoters = false
  let ended = false
  let nextOffset = 0
  for (const batch of decodeBatches(content)) {
    if (batch.baseOffset !== nextOffset || ended)
      throw new MalformedError(`snapshot batch at ${batch.baseOffset} out of order`)
    nextOffset = batch.lastOffset + 1
    for (const control of batch.controls) {
      if ((control.type === 'SnapshotHeader') !== (header === null))
        throw new MalformedError('snapshot without its header')
      if (control.type === 'SnapshotHeader') header = control.value.lastContainedLogTimestamp
      else if (control.type === 'KRaftVersion') voterSet = { ...voterSet, kraftVersion: control.value.kRaftVersion }
      else if (control.type === 'KRaftVoters') {
        voterSet = { ...voterSet, voters: control.value.voters }
        hasVoters = true
      } else if (control.type === 'SnapshotFooter') ended = true
    }
    if (header === null) throw new MalformedError('snapshot without its header')
    for (const record of batch.records) records.push(record)
  }
  if (header === null || !ended) throw new MalformedError('snapshot without its footer')
  return {
    id,
    lastContainedTimestampMs: header,
    voterSet: hasVoters ? voterSet : null,
    records,
    bytes: content.length,
  }
}
