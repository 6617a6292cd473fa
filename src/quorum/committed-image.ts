import { MalformedError } from '../base/bytes.ts'
import { changesBetween, type MetadataChanges } from '../metadata/changes.ts'
import type { MetadataImage } from '../metadata/image.ts'
import type { PartitionLog } from '../storage/partition-log.ts'
import type { ReadResult } from '../storage/tail.ts'
import { ImageLoader } from './image-loader.ts'
import { decodeBatches, type MetadataBatch } from './metadata-batch.ts'
import type { AppendedSet } from './metadata-log.ts'
import type { LoadedMetadata } from './metadata-load.ts'
import type { LoadedSnapshot, VoterSet } from './snapshot-file.ts'
import { MetadataUnreadableError } from './snapshots.ts'

export interface CommittedImageListener {
  /** The next image. */
  applied(changes: MetadataChanges): void
  /** More was applied, after it had to be read from the disk: in a later event than `advance`. */
  readOn(): void
  /** What is committed cannot be read: the node must stop. */
  failed(error: Error): void
}

/** A set of records that this node appended as the active controller, and what it makes of the image. */
interface Adoptable {
  readonly set: AppendedSet
  readonly changes: MetadataChanges
}

const READ_BYTES = 1024 * 1024

/**
 * Follows the committed part of the metadata log and folds it into images: out of the log's memory in the same moment, out
 * of its files in a later one. The active controller's own sets are not decoded again: their images are adopted.
 */
export class CommittedImage {
  readonly #log: PartitionLog
  readonly #listener: CommittedImageListener
  #loader: ImageLoader
  /** All before this is applied. */
  #nextOffset: number
  #committedOffset = 0
  #adoptable: Adoptable[] = []
  /** Decoded at the start already. */
  #preloaded: readonly MetadataBatch[]
  #preloadedAt = 0
  #isReading = false
  /** Counts snapshots that took the place of everything: what was read before one is of no use. */
  #generation = 0
  #bytesSinceSnapshot = 0

  constructor(log: PartitionLog, { snapshot, batches }: LoadedMetadata, listener: CommittedImageListener) {
    this.#log = log
    this.#listener = listener
    this.#loader = new ImageLoader(snapshot)
    this.#nextOffset = snapshot?.id.offset ?? 0
    this.#preloaded = batches
  }

  get image(): MetadataImage {
    return this.#loader.image
  }

  /** Who votes, by the log up to the image. */
  get voters(): VoterSet {
    return this.#loader.voters
  }

  /** A set of records has begun and not ended: who leads now must abort it, for nobody else will end it. */
  get isInTransaction(): boolean {
    return this.#loader.isInTransaction
  }

  get nextOffset(): number {
    return this.#nextOffset
  }

  /** Log bytes applied since the last snapshot, for the decision to take one. */
  get bytesSinceSnapshot(): number {
    return this.#bytesSinceSnapshot
  }

  snapshotTaken(): void {
    this.#bytesSinceSnapshot = 0
  }

  /** The controller has appended the next set. */
  adoptLater(set: AppendedSet, changes: MetadataChanges): void {
    this.#adoptable.push({ set, changes })
  }

  /** What this node appended and is not committed may never be: the log will tell. */
  forgetAdoptable(): void {
    this.#adoptable = []
  }

  /** The end of the log was cut off. */
  forgetPreloaded(): void {
    this.#preloaded = []
    this.#preloadedAt = 0
  }

  /** A snapshot from the leader takes the place of the log. */
  reset(snapshot: LoadedSnapshot): void {
    const before = this.image
    this.#generation++
    this.#isReading = false
    this.#loader = new ImageLoader(snapshot)
    this.#nextOffset = snapshot.id.offset
    this.#bytesSinceSnapshot = 0
    this.forgetPreloaded()
    this.forgetAdoptable()
    this.#listener.applied(changesBetween(before, this.image))
  }

  /** All before `committedOffset` is committed. */
  advance(committedOffset: number): void {
    this.#committedOffset = Math.max(this.#committedOffset, committedOffset)
    if (!this.#isReading) this.#run()
  }

  #run(): void {
    try {
      while (this.#nextOffset < this.#committedOffset) {
        if (this.#adopt() || this.#takePreloaded()) continue
        const limitOffset = Math.min(
          this.#committedOffset,
          this.#adoptable[0]?.set.firstOffset ?? this.#committedOffset,
        )
        const read = this.#log.read(this.#nextOffset, { maxBytes: READ_BYTES, limitOffset, atLeastOneBatch: true })
        if (read instanceof Promise) return this.#wait(read)
        this.#take(read)
      }
      this.#step()
    } catch (error) {
      this.#fail(error as Error)
    }
  }

  #wait(reading: Promise<ReadResult>): void {
    const generation = this.#generation
    this.#isReading = true
    // What was taken so far need not wait for the disk.
    this.#step()
    reading.then(
      (read) => {
        if (this.#generation !== generation) return
        this.#isReading = false
        try {
          this.#take(read)
        } catch (error) {
          return this.#fail(error as Error)
        }
        this.#run()
        this.#listener.readOn()
      },
      (error: Error) => {
        if (this.#generation === generation) this.#fail(error)
      },
    )
  }

  #adopt(): boolean {
    const head = this.#adoptable[0]
    if (head?.set.firstOffset !== this.#nextOffset || head.set.lastOffset >= this.#committedOffset) return false
    this.#step()
    this.#adoptable.shift()
    this.#loader.adopt(head.changes)
    this.#nextOffset = head.set.lastOffset + 1
    this.#bytesSinceSnapshot += head.set.bytes
    this.#listener.applied(head.changes)
    return true
  }

  #takePreloaded(): boolean {
    const batch = this.#preloaded[this.#preloadedAt]
    if (batch?.baseOffset !== this.#nextOffset || batch.lastOffset >= this.#committedOffset) return false
    this.#preloadedAt++
    if (this.#preloadedAt === this.#preloaded.length) this.forgetPreloaded()
    this.#takeBatch(batch)
    return true
  }

  #take({ buffers, endOffset }: ReadResult): void {
    if (endOffset <= this.#nextOffset) throw new MetadataUnreadableError(`nothing at offset ${this.#nextOffset}`)
    for (const batch of decodeBatches(Buffer.concat(buffers))) {
      if (batch.baseOffset >= this.#nextOffset) this.#takeBatch(batch)
    }
  }

  #takeBatch(batch: MetadataBatch): void {
    this.#loader.take(batch)
    this.#nextOffset = batch.lastOffset + 1
    this.#bytesSinceSnapshot += batch.bytes
  }

  #step(): void {
    const changes = this.#loader.step()
    if (changes !== null) this.#listener.applied(changes)
  }

  #fail(error: Error): void {
    this.#isReading = true
    if (!(error instanceof MalformedError)) return this.#listener.failed(error)
    const message = `The committed metadata cannot be read: ${error.message}`
    this.#listener.failed(new MetadataUnreadableError(message, { cause: error }))
  }
}
