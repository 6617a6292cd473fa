import { MalformedError } from '../base/bytes.ts'
import { MetadataDelta } from '../metadata/delta.ts'
import { type ImagePosition, MetadataImage } from '../metadata/image.ts'
import type { MetadataRecord } from '../metadata/records.ts'
import type { MetadataBatch } from './metadata-batch.ts'
import type { LoadedSnapshot, VoterSet } from './snapshot-file.ts'

/**
 * Turns batches of the metadata log, in order, into the image and the voters. Records of a metadata transaction
 * (KIP-868) wait until it ends, and are dropped when it is aborted or never ended.
 */
export class ImageLoader {
  #image: MetadataImage
  #delta: MetadataDelta
  #position: ImagePosition
  /** Records since BeginTransaction; null outside of one. */
  #transaction: MetadataRecord[] | null = null
  voterSet: VoterSet | null
  /** The newest epoch seen. */
  epoch: number

  /** What a new cluster begins with: it is in no image until the first leader has appended it. */
  readonly bootstrapRecords: readonly MetadataRecord[]

  constructor(snapshot: LoadedSnapshot | null) {
    this.#image = MetadataImage.empty
    this.#delta = new MetadataDelta(this.#image)
    this.voterSet = snapshot?.voterSet ?? null
    this.epoch = snapshot?.id.epoch ?? 0
    this.#position = MetadataImage.empty.position
    // The snapshot of offset 0 comes from the format. Whoever reads the log from its start never sees it, so what is in
    // it must come again in the log.
    this.bootstrapRecords = snapshot?.id.offset === 0 ? snapshot.records : []
    if (snapshot === null || snapshot.id.offset === 0) return
    for (const record of snapshot.records) this.#delta.replay(record)
    const { id, lastContainedTimestampMs } = snapshot
    this.#position = { offset: id.offset - 1, epoch: id.epoch, timestampMs: lastContainedTimestampMs }
  }

  get isInTransaction(): boolean {
    return this.#transaction !== null
  }

  take(batch: MetadataBatch): void {
    for (const control of batch.controls) {
      const { kraftVersion = 0, voters = [] } = this.voterSet ?? {}
      if (control.type === 'KRaftVersion') this.voterSet = { kraftVersion: control.value.kRaftVersion, voters }
      if (control.type === 'KRaftVoters') this.voterSet = { kraftVersion, voters: control.value.voters }
    }
    for (const record of batch.records) this.#takeRecord(record)
    this.epoch = Math.max(this.epoch, batch.leaderEpoch)
    // Within a transaction the image stays before it: a snapshot must not fall between its records.
    if (this.#transaction !== null) return
    this.#position = { offset: batch.lastOffset, epoch: batch.leaderEpoch, timestampMs: batch.timestampMs }
  }

  #takeRecord(record: MetadataRecord): void {
    switch (record.type) {
      case 'BeginTransaction':
        if (this.#transaction !== null) throw new MalformedError('a metadata transaction begins within another')
        this.#transaction = []
        return
      case 'EndTransaction':
        if (this.#transaction === null) throw new MalformedError('a metadata transaction ends that did not begin')
        for (const each of this.#transaction) this.#delta.replay(each)
        this.#transaction = null
        return
      case 'AbortTransaction':
        if (this.#transaction === null) throw new MalformedError('a metadata transaction is aborted that did not begin')
        this.#transaction = null
        return
      default:
        if (this.#transaction !== null) this.#transaction.push(record)
        else this.#delta.replay(record)
    }
  }

  /** The image of all that took effect so far. More batches may follow. */
  image(): MetadataImage {
    this.#image = this.#delta.apply(this.#position)
    this.#delta = new MetadataDelta(this.#image)
    return this.#image
  }
}
