import type { Env } from '../env/env.ts'
import type { PlacedRecord } from '../raft/types.ts'
import type { PartitionLog } from '../storage/partition-log.ts'
import { decodeBatches, type MetadataBatch, quorumRecordsOf } from './metadata-batch.ts'
import { type LoadedSnapshot, voterSetRecords } from './snapshot-file.ts'
import { loadNewestSnapshot, MetadataUnreadableError } from './snapshots.ts'

/** What a start finds in the metadata folder. */
export interface LoadedMetadata {
  readonly snapshot: LoadedSnapshot | null
  /** What the machine goes by: of the snapshot, at the offset before its end, and of the whole log after it. */
  readonly quorumRecords: readonly PlacedRecord[]
  /** The log after the snapshot, as far as it was kept in memory: it is applied when it is known to be committed. */
  readonly batches: readonly MetadataBatch[]
}

const READ_BYTES = 1024 * 1024
/** Of the log that is kept decoded; what lies behind is read again. */
const KEPT_BYTES_MAX = 8 * 1024 * 1024

/**
 * Reads the newest snapshot and the log after it, all of it, so that what cannot be read shows now. Rejects with
 * `MetadataUnreadableError` or `MalformedError`; nothing was changed then.
 */
export async function loadMetadata(env: Env, folder: string, log: PartitionLog): Promise<LoadedMetadata> {
  const snapshot = await loadNewestSnapshot(env, folder, { startOffset: log.logStartOffset, endOffset: log.endOffset })
  if (snapshot !== null) await dropOldLog(env, log, snapshot)
  const quorumRecords: PlacedRecord[] = [...snapshotRecords(snapshot)]
  const batches: MetadataBatch[] = []
  let keptBytes = 0
  for await (const batch of batchesFrom(log, snapshot?.id.offset ?? log.logStartOffset, folder)) {
    quorumRecords.push(...quorumRecordsOf(batch))
    keptBytes += batch.bytes
    if (keptBytes <= KEPT_BYTES_MAX) batches.push(batch)
  }
  return { snapshot, quorumRecords, batches }
}

/**
 * A crash may have come after a fetched snapshot got its name and before the log was begun anew behind it: what the log
 * has of older epochs was never committed.
 */
async function dropOldLog(env: Env, log: PartitionLog, { id }: LoadedSnapshot): Promise<void> {
  if (id.offset === 0 || (log.endOffset >= id.offset && log.epochs.latest >= id.epoch)) return
  const { endOffset } = log
  if (endOffset > log.logStartOffset || log.logStartOffset !== id.offset) {
    env.log.warn('The metadata log does not reach its snapshot; it goes on after it', { ...id, endOffset })
    await log.truncateFullyAndStartAt(id.offset)
  }
}

/** Of the machine's quorum records, those that the snapshot stands for. */
export function snapshotRecords(snapshot: LoadedSnapshot | null): readonly PlacedRecord[] {
  if (snapshot?.voterSet == null) return []
  const offset = snapshot.id.offset - 1
  return voterSetRecords(snapshot.voterSet).map((record) => ({ offset, record }))
}

async function* batchesFrom(log: PartitionLog, start: number, folder: string): AsyncGenerator<MetadataBatch> {
  for (let offset = start; offset < log.endOffset; ) {
    const limits = { maxBytes: READ_BYTES, limitOffset: log.endOffset, atLeastOneBatch: true }
    const { buffers, endOffset } = await log.read(offset, limits)
    if (endOffset <= offset) {
      throw new MetadataUnreadableError(
        `The metadata in ${folder} has nothing at ${offset}, and ends at ${log.endOffset}.`,
      )
    }
    for (const batch of decodeBatches(Buffer.concat(buffers))) {
      // A snapshot may end within what one read returns, never within a batch.
      if (batch.baseOffset >= offset) yield batch
    }
    offset = endOffset
  }
}
