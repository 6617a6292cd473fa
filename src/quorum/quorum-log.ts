import { assert } from '../base/assert.ts'
import { LogUnavailableError } from '../env/replicated-log.ts'
import type { Env } from '../env/env.ts'
import type { ImagePosition, MetadataImage } from '../metadata/image.ts'
import type { MetadataRecord } from '../metadata/records.ts'
import type { TopicId } from '../model/ids.ts'
import type { PartitionLog } from '../storage/partition-log.ts'
import { buildControlBatch, type ControlRecord, type Voter } from './control-records.ts'
import { ImageLoader } from './image-loader.ts'
import { buildMetadataBatch, decodeBatches, encodeParts, METADATA_BATCH_BYTES_MAX } from './metadata-batch.ts'
import { removedTopics } from './removed-topics.ts'
import { NO_DIRECTORY, NOBODY, readQuorumState, writeQuorumState } from './quorum-state.ts'
import { type SnapshotId, type VoterSet, voterSetRecords, writeSnapshot } from './snapshot-file.ts'
import { loadNewestSnapshot, MetadataUnreadableError, pruneSnapshots } from './snapshots.ts'

export interface QuorumLogOptions {
  /** This node as a voter, with the endpoints it has now. */
  readonly voter: Voter
  readonly log: PartitionLog
  /** The log's own directory; snapshots and quorum-state lie beside the segments. */
  readonly folder: string
}

export interface QuorumLogListener {
  /** All before `committedOffset` is committed: durable on a majority, which is this node. */
  committed(committedOffset: number): void
  /** Nothing more will be committed: the node must stop leading, and stop. */
  failed(error: Error): void
}

/** Where an appended set of records lies. */
export interface AppendedSet {
  readonly firstOffset: number
  readonly lastOffset: number
  readonly epoch: number
  readonly timestampMs: number
  /** Log bytes, for the decision to take a snapshot. */
  readonly bytes: number
}

const READ_BYTES = 1024 * 1024

/**
 * The log of `__cluster_metadata`, led by its single voter. Life cycle: `open` loads the newest snapshot and the log;
 * `lead` begins a new epoch, durably, before anything is appended in it; then sets of records are appended and reported
 * committed in order. A failure of the disk is final.
 */
export class QuorumLog {
  readonly #env: Env
  readonly #options: QuorumLogOptions
  readonly #loaded: ImageLoader
  readonly #snapshotBytesLoaded: number
  #epoch: number
  #voterSet: VoterSet
  #isLeading = false
  #committedOffset = 0
  #snapshot: SnapshotId | null
  #snapshotInWork: Promise<void> | null = null
  listener: QuorumLogListener | null = null

  private constructor(env: Env, options: QuorumLogOptions, loaded: LoadedLog) {
    this.#env = env
    this.#options = options
    this.#loaded = loaded.loader
    this.#epoch = loaded.epoch
    this.#voterSet = loaded.voterSet
    this.#snapshot = loaded.snapshot
    this.#snapshotBytesLoaded = loaded.logBytes
    this.#committedOffset = options.log.durableOffset
  }

  /**
   * Loads everything. Rejects with `MetadataUnreadableError` or `MalformedError` when the metadata is damaged or is not
   * this voter's; nothing was changed then.
   */
  static async open(env: Env, options: QuorumLogOptions): Promise<QuorumLog> {
    return new QuorumLog(env, options, await load(env, options))
  }

  /** The image of all that is in the log; for whoever begins to lead. To be called once. */
  loadedImage(): MetadataImage {
    return this.#loaded.image()
  }

  /** For the first leader of a new cluster to append. */
  get bootstrapRecords(): readonly MetadataRecord[] {
    return this.#loaded.bootstrapRecords
  }

  /** Log bytes since the snapshot that was loaded. */
  get bytesSinceSnapshot(): number {
    return this.#snapshotBytesLoaded
  }

  get epoch(): number {
    return this.#epoch
  }

  get voterSet(): VoterSet {
    return this.#voterSet
  }

  get committedOffset(): number {
    return this.#committedOffset
  }

  /** The offset of the next record. */
  get endOffset(): number {
    return this.#options.log.endOffset
  }

  /** The newest snapshot there is. */
  get snapshot(): SnapshotId | null {
    return this.#snapshot
  }

  /** Null, or why nothing can be appended now. */
  get refusal(): LogUnavailableError | null {
    const { refusal } = this.#options.log
    if (refusal === null) return null
    return new LogUnavailableError(refusal.kind === 'out-of-space' ? 'out-of-space' : 'storage', refusal.message)
  }

  /**
   * Becomes the leader of a new epoch. The epoch is durable before the first record of it is written, so that no epoch
   * is ever led twice. The first batch says who leads; in a new log, or when the endpoints changed, also who votes.
   */
  async lead(): Promise<void> {
    assert(!this.#isLeading, 'the metadata log is led already')
    const { voter, log, folder } = this.#options
    const epoch = this.#epoch + 1
    await writeQuorumState(this.#env.disk, folder, {
      leaderId: voter.voterId,
      leaderEpoch: epoch,
      votedId: NOBODY,
      votedDirectoryId: NO_DIRECTORY,
    })
    this.#epoch = epoch
    this.#isLeading = true
    log.listener = {
      progressed: () => this.#progressed(),
      failed: (_, error) => this.listener?.failed(error),
    }
    const self = [{ voterId: voter.voterId, voterDirectoryId: NO_DIRECTORY }]
    const opening: ControlRecord[] = [
      { type: 'LeaderChange', value: { leaderId: voter.voterId, voters: self, grantingVoters: self } },
    ]
    const isNew = log.endOffset === 0
    const hasMoved = JSON.stringify(this.#voterSet.voters) !== JSON.stringify([voter])
    if (isNew || hasMoved) {
      this.#voterSet = { ...this.#voterSet, voters: [voter] }
      opening.push(...voterSetRecords(this.#voterSet))
    }
    const wallMs = this.#env.clock.wallMs()
    log.appendAsLeader(buildControlBatch(opening, { wallMs }), { leaderEpoch: epoch, wallMs })
    if (this.#loaded.isInTransaction) {
      // A crash cut a set of records short: nobody was told that it took effect, and it must not.
      this.#appendBatch([{ type: 'AbortTransaction', value: { reason: 'the controller stopped in it' } }], 0, wallMs)
    }
  }

  /**
   * Appends a set of records that takes effect as a whole. Synchronous: what is appended is in the log's memory and on
   * its way; `listener.committed` tells when it is safe. Throws `LogUnavailableError` when the log takes nothing.
   */
  append(records: readonly MetadataRecord[], metadataVersion: number): AppendedSet {
    assert(this.#isLeading && records.length > 0, 'records for a metadata log that is not led, or none')
    const { refusal } = this
    if (refusal !== null) throw refusal
    const wallMs = this.#env.clock.wallMs()
    const firstOffset = this.endOffset
    const parts = [...encodeParts(records, metadataVersion)]
    let bytes = 0
    const first = parts[0]
    if (parts.length === 1 && first !== undefined) bytes = this.#appendValues(first, wallMs)
    else {
      bytes += this.#appendBatch([{ type: 'BeginTransaction', value: { name: null } }], metadataVersion, wallMs)
      for (const part of parts) bytes += this.#appendValues(part, wallMs)
      bytes += this.#appendBatch([{ type: 'EndTransaction', value: {} }], metadataVersion, wallMs)
    }
    return { firstOffset, lastOffset: this.endOffset - 1, epoch: this.#epoch, timestampMs: wallMs, bytes }
  }

  #appendBatch(records: readonly MetadataRecord[], metadataVersion: number, wallMs: number): number {
    const [values] = [...encodeParts(records, metadataVersion, METADATA_BATCH_BYTES_MAX)]
    return this.#appendValues(values as Buffer[], wallMs)
  }

  #appendValues(values: readonly Buffer[], wallMs: number): number {
    const batch = buildMetadataBatch(values, { wallMs })
    this.#options.log.appendAsLeader(batch, { leaderEpoch: this.#epoch, wallMs })
    return batch.length
  }

  #progressed(): void {
    const { durableOffset } = this.#options.log
    if (durableOffset <= this.#committedOffset) return
    this.#committedOffset = durableOffset
    this.listener?.committed(durableOffset)
  }

  /**
   * Writes a snapshot of the image at `position`, whose every record must be committed; then removes older ones and the
   * part of the log that no snapshot needs. One at a time: a call while one is written waits for that one instead.
   */
  takeSnapshot(position: ImagePosition, records: Iterable<MetadataRecord>, metadataVersion: number): Promise<void> {
    this.#snapshotInWork ??= this.#writeSnapshot(position, records, metadataVersion).finally(() => {
      this.#snapshotInWork = null
    })
    return this.#snapshotInWork
  }

  async #writeSnapshot(
    { offset, epoch, timestampMs }: ImagePosition,
    records: Iterable<MetadataRecord>,
    metadataVersion: number,
  ): Promise<void> {
    const id = { offset: offset + 1, epoch }
    assert(id.offset <= this.#committedOffset, `snapshot of ${id.offset}, committed is ${this.#committedOffset}`)
    if (this.#snapshot !== null && this.#snapshot.offset >= id.offset) return
    const { folder, log } = this.#options
    const content = { id, voterSet: this.#voterSet, records, metadataVersion, lastContainedTimestampMs: timestampMs }
    const bytes = await writeSnapshot(this.#env.disk, folder, content, this.#env.clock.wallMs())
    this.#snapshot = id
    this.#env.log.info('Wrote a metadata snapshot', { offset: id.offset, epoch, bytes })
    const oldest = await pruneSnapshots(this.#env, folder)
    if (oldest !== null && oldest.offset > log.logStartOffset) await log.advanceStartOffset(oldest.offset)
  }

  /** See `removedTopics`. */
  removedTopics(): Promise<ReadonlySet<TopicId>> {
    return removedTopics(this.#options.log, this.#committedOffset)
  }

  /** Waits for a snapshot in work. The log itself is closed by its manager. */
  async stop(): Promise<void> {
    this.#options.log.listener = null
    await this.#snapshotInWork
  }
}

interface LoadedLog {
  readonly loader: ImageLoader
  readonly epoch: number
  readonly voterSet: VoterSet
  readonly snapshot: SnapshotId | null
  readonly logBytes: number
}

async function load(env: Env, { log, folder, voter }: QuorumLogOptions): Promise<LoadedLog> {
  const state = await readQuorumState(env.disk, folder)
  const snapshot = await loadNewestSnapshot(env, folder, { startOffset: log.logStartOffset, endOffset: log.endOffset })
  const loader = new ImageLoader(snapshot)
  let offset = snapshot?.id.offset ?? log.logStartOffset
  if (offset > log.endOffset) {
    env.log.warn('The metadata log ends before its snapshot; it goes on after it', { offset, end: log.endOffset })
    await log.truncateFullyAndStartAt(offset)
  }
  let logBytes = 0
  while (offset < log.endOffset) {
    const { buffers, endOffset } = await log.read(offset, {
      maxBytes: READ_BYTES,
      limitOffset: log.endOffset,
      atLeastOneBatch: true,
    })
    if (endOffset <= offset) {
      throw new MetadataUnreadableError(
        `The metadata in ${folder} has nothing at ${offset}, and ends at ${log.endOffset}.`,
      )
    }
    for (const batch of decodeBatches(Buffer.concat(buffers))) {
      // A snapshot may end within what one read returns, never within a batch.
      if (batch.baseOffset < offset) continue
      loader.take(batch)
      logBytes += batch.bytes
    }
    offset = endOffset
  }
  const voterSet = loader.voterSet
  if (voterSet === null) throw new MetadataUnreadableError(`The metadata in ${folder} does not say who votes.`)
  checkSingleVoter(voterSet, voter, folder)
  const epoch = Math.max(state?.leaderEpoch ?? 0, loader.epoch, log.epochs.latest, 0)
  return { loader, epoch, voterSet, snapshot: snapshot?.id ?? null, logBytes }
}

/** A voter is its directory: the same number on another disk has not got what the old one promised (reliability I11). */
function checkSingleVoter({ voters }: VoterSet, { voterId, voterDirectoryId }: Voter, folder: string): void {
  const [only, ...others] = voters
  const names = voters.map((each) => `${each.voterId} (directory ${each.voterDirectoryId})`).join(', ')
  if (only === undefined || others.length > 0) {
    throw new MetadataUnreadableError(
      `The quorum in ${folder} has the voters ${names}; this version leads a single one.`,
    )
  }
  if (only.voterId !== voterId || only.voterDirectoryId !== voterDirectoryId) {
    throw new MetadataUnreadableError(
      `The quorum in ${folder} is that of voter ${names}, but this is node ${voterId} with directory ${voterDirectoryId}.`,
    )
  }
}
