import { assert } from '../base/assert.ts'
import { MalformedError } from '../base/bytes.ts'
import type { MetadataChanges } from '../metadata/changes.ts'
import { MetadataDelta } from '../metadata/delta.ts'
import { type ImagePosition, MetadataImage } from '../metadata/image.ts'
import type { MetadataRecord } from '../metadata/records.ts'
import type { MetadataBatch } from './metadata-batch.ts'
import type { LoadedSnapshot, VoterSet } from './snapshot-file.ts'

/**
 * Turns committed batches of the metadata log, in order, into images. Records of a metadata transaction (KIP-868) wait
 * until it ends, and are dropped when it is aborted.
 */
export class ImageLoader {
  #image: MetadataImage
  #delta: MetadataDelta
  #position: ImagePosition
  /** Records since BeginTransaction; null outside of one. */
  #transaction: MetadataRecord[] | null = null
  /** As of the last batch. */
  #lastVoters: VoterSet
  #voters: VoterSet

  constructor(snapshot: LoadedSnapshot | null) {
    const delta = new MetadataDelta(MetadataImage.empty)
    this.#position = MetadataImage.empty.position
    this.#voters = snapshot?.voterSet ?? { kraftVersion: 0, voters: [] }
    this.#lastVoters = this.#voters
    // What the snapshot of offset 0 says of the metadata counts only when the first leader has appended it.
    if (snapshot !== null && snapshot.id.offset > 0) {
      for (const record of snapshot.records) delta.replay(record)
      const { id, lastContainedTimestampMs } = snapshot
      this.#position = { offset: id.offset - 1, epoch: id.epoch, timestampMs: lastContainedTimestampMs }
    }
    this.#image = delta.apply(this.#position)
    this.#delta = new MetadataDelta(this.#image)
  }

  /** Of all that took effect up to the last `step`. */
  get image(): MetadataImage {
    return this.#image
  }

  /** Who votes, by the log up to the image's position: what a snapshot of it has to say. */
  get voters(): VoterSet {
    return this.#voters
  }

  get isInTransaction(): boolean {
    return this.#transaction !== null
  }

  /** The next batch of the log. It shows in `image` after the next `step`. */
  take(batch: MetadataBatch): void {
    for (const control of batch.controls) {
      const { kraftVersion, voters } = this.#lastVoters
      if (control.type === 'KRaftVersion') this.#lastVoters = { kraftVersion: control.value.kRaftVersion, voters }
      if (control.type === 'KRaftVoters') this.#lastVoters = { kraftVersion, voters: control.value.voters }
    }
    for (const record of batch.records) this.#takeRecord(record)
    // Within a transaction the image stays before it: a snapshot must not fall between its records.
    if (this.#transaction !== null) return
    this.#position = { offset: batch.lastOffset, epoch: batch.leaderEpoch, timestampMs: batch.timestampMs }
    this.#voters = this.#lastVoters
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

  /** Everything taken since the last one becomes the next image; null when nothing was. */
  step(): MetadataChanges | null {
    if (this.#position === this.#image.position) return null
    this.#image = this.#delta.apply(this.#position)
    const { changes } = this.#delta
    this.#delta = new MetadataDelta(this.#image)
    return changes
  }

  /** The next set of records, of which somebody else has made the image already. */
  adopt({ after }: MetadataChanges): void {
    assert(this.#transaction === null && this.#position === this.#image.position, 'an image adopted half way')
    this.#image = after
    this.#position = after.position
    this.#delta = new MetadataDelta(after)
  }
}
