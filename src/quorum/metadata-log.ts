import { assert } from '../base/assert.ts'
import { MalformedError } from '../base/bytes.ts'
import type { Env } from '../env/env.ts'
import { LogUnavailableError } from '../env/replicated-log.ts'
import type { MetadataRecord } from '../metadata/records.ts'
import { baseOffset, batchBytes, lastOffset, partitionLeaderEpoch } from '../protocol/batch/header.ts'
import { batchesOf } from '../protocol/batch/records.ts'
import type { LogPosition, PlacedRecord, QuorumRecord, RaftLog } from '../raft/types.ts'
import { LogNotWritableError } from '../storage/errors.ts'
import type { PartitionLog } from '../storage/partition-log.ts'
import { buildControlBatch } from './control-records.ts'
import { buildMetadataBatch, encodeParts, METADATA_BATCH_BYTES_MAX, quorumRecordsIn } from './metadata-batch.ts'
import type { SnapshotStore } from './snapshot-store.ts'

/** Where an appended set of records lies. */
export interface AppendedSet {
  readonly firstOffset: number
  readonly lastOffset: number
  readonly epoch: number
  readonly timestampMs: number
  /** Log bytes, for the decision to take a snapshot. */
  readonly bytes: number
}

/**
 * `__cluster_metadata-0` with its snapshots, as the machine sees it and as its orders change it. Appends are in the log's
 * memory and on their way to the disk when they return; `durableOffset` says what has arrived.
 */
export class MetadataLog implements RaftLog {
  readonly partitionLog: PartitionLog
  readonly snapshots: SnapshotStore
  readonly #env: Env
  /** Counts what cut the log: what was read before one may be another leader's. */
  #truncations = 0

  constructor(env: Env, log: PartitionLog, snapshots: SnapshotStore) {
    this.#env = env
    this.partitionLog = log
    this.snapshots = snapshots
  }

  get startOffset(): number {
    return this.partitionLog.logStartOffset
  }

  get endOffset(): number {
    return this.partitionLog.endOffset
  }

  get durableOffset(): number {
    return this.partitionLog.durableOffset
  }

  get lastEpoch(): number {
    const { latest } = this.partitionLog.epochs
    return latest >= 0 ? latest : (this.snapshots.earliest?.epoch ?? 0)
  }

  endOffsetForEpoch(epoch: number): LogPosition {
    const { entries } = this.partitionLog.epochs
    const at = entries.findLastIndex((entry) => entry.epoch <= epoch)
    const entry = entries[at]
    if (entry !== undefined) {
      return { offset: entries[at + 1]?.startOffset ?? this.endOffset, epoch: entry.epoch }
    }
    const start = this.snapshots.earliest
    const isOfStart = start !== null && start.offset > 0 && start.epoch <= epoch
    return { offset: this.startOffset, epoch: isOfStart ? start.epoch : epoch }
  }

  get earliestSnapshot(): LogPosition | null {
    return this.snapshots.earliest
  }

  get latestSnapshot(): LogPosition | null {
    return this.snapshots.latest
  }

  snapshotBytes(id: LogPosition): number | null {
    return this.snapshots.bytesOf(id)
  }

  /** Null, or why nothing can be appended now. */
  get refusal(): LogUnavailableError | null {
    const { refusal } = this.partitionLog
    if (refusal === null) return null
    return new LogUnavailableError(refusal.kind === 'out-of-space' ? 'out-of-space' : 'storage', refusal.message)
  }

  get truncations(): number {
    return this.#truncations
  }

  /** Nothing may be appended until it resolves. */
  truncateTo(offset: number): Promise<void> {
    this.#truncations++
    return this.partitionLog.truncateTo(offset)
  }

  /** Empty, the log goes on behind the snapshot that ends at `offset`. */
  restartAt(offset: number): Promise<void> {
    this.#truncations++
    return this.partitionLog.truncateFullyAndStartAt(offset)
  }

  /** One batch of the quorum's own records, as the leader of `epoch`. */
  appendQuorumRecords(records: readonly QuorumRecord[], epoch: number): readonly PlacedRecord[] {
    const wallMs = this.#env.clock.wallMs()
    const { baseOffset: first } = this.partitionLog.appendAsLeader(buildControlBatch(records, { wallMs }), {
      leaderEpoch: epoch,
      wallMs,
    })
    return records.map((record, index) => ({ offset: first + index, record }))
  }

  /**
   * Appends a set of records that takes effect as a whole, as the leader of `epoch`: one batch, or several between
   * BeginTransaction and EndTransaction. Throws `LogUnavailableError` when the log takes nothing.
   */
  appendSet(records: readonly MetadataRecord[], metadataVersion: number, epoch: number): AppendedSet {
    assert(records.length > 0, 'an empty set of records')
    const { refusal, endOffset: firstOffset } = this
    if (refusal !== null) throw refusal
    const wallMs = this.#env.clock.wallMs()
    const stamp = { leaderEpoch: epoch, wallMs }
    const parts = [...encodeParts(records, metadataVersion)]
    let bytes = 0
    const append = (values: readonly Buffer[]) => {
      const batch = buildMetadataBatch(values, { wallMs })
      bytes += batch.length
      this.partitionLog.appendAsLeader(batch, stamp)
    }
    const mark = (record: MetadataRecord) => {
      for (const values of encodeParts([record], metadataVersion, METADATA_BATCH_BYTES_MAX)) append(values)
    }
    if (parts.length > 1) mark({ type: 'BeginTransaction', value: { name: null } })
    for (const values of parts) append(values)
    if (parts.length > 1) mark({ type: 'EndTransaction', value: {} })
    return { firstOffset, lastOffset: this.endOffset - 1, epoch, timestampMs: wallMs, bytes }
  }

  /**
   * Appends what a leader of `epoch` sent: whole batches from the end of the log on, without a gap. What is left of a batch
   * at the end is passed over: answers are cut at a number of bytes. Returns the quorum's records among them; null, with
   * nothing appended, when any of it is damaged or there is no room.
   */
  appendFetched(buffers: readonly Buffer[], epoch: number): readonly PlacedRecord[] | null {
    const { endOffset } = this
    try {
      const batches = wholeBatches(Buffer.concat(buffers), { endOffset, epoch })
      const records = quorumRecordsIn(batches)
      if (batches.length > 0) this.partitionLog.appendAsFollower(batches)
      return records
    } catch (error) {
      if (!(error instanceof MalformedError || error instanceof LogNotWritableError)) throw error
      this.#env.log.warn('Fetched metadata was not appended', { offset: endOffset, reason: error.message })
      return null
    }
  }
}

/** Throws `MalformedError` unless they follow the log's end in a row. Their CRCs are for the log to check. */
function wholeBatches(buffer: Buffer, { endOffset, epoch }: { endOffset: number; epoch: number }): Buffer {
  let end = 0
  let nextOffset = endOffset
  for (const at of batchesOf(buffer, { allowCut: true })) {
    const first = baseOffset(buffer, at)
    if (first !== nextOffset) throw new MalformedError(`metadata batch at ${first} where ${nextOffset} was expected`)
    const batchEpoch = partitionLeaderEpoch(buffer, at)
    if (batchEpoch > epoch) throw new MalformedError(`metadata batch of epoch ${batchEpoch} from a leader of ${epoch}`)
    nextOffset = lastOffset(buffer, at) + 1
    end = at + batchBytes(buffer, at)
  }
  return buffer.subarray(0, end)
}
