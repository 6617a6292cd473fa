import { changesBetween, type MetadataChanges } from '../metadata/changes.ts'
import { MetadataImage } from '../metadata/image.ts'

/** Does what one image asks of this node, before the node shows the image to anyone. */
export type ImageApplier = (changes: MetadataChanges, image: MetadataImage) => Promise<void>

/** Those who wait until an offset has been reached. */
class OffsetWaiters {
  #offset = -1
  #isClosed = false
  #waiters: { readonly offset: number; readonly resolve: () => void }[] = []

  wait(offset: number): Promise<void> {
    if (this.#isClosed || this.#offset >= offset) return Promise.resolve()
    return new Promise((resolve) => this.#waiters.push({ offset, resolve }))
  }

  reach(offset: number): void {
    this.#offset = Math.max(this.#offset, offset)
    const reached = this.#waiters.filter((waiter) => waiter.offset <= this.#offset)
    this.#waiters = this.#waiters.filter((waiter) => waiter.offset > this.#offset)
    for (const { resolve } of reached) resolve()
  }

  /** Nobody waits any more. */
  close(): void {
    this.#isClosed = true
    for (const { resolve } of this.#waiters.splice(0)) resolve()
  }
}

/**
 * Takes images from the quorum, one at a time, and shows each when this node has applied it: what Metadata announces,
 * Produce and Fetch already know. Life cycle: images are let go by until `hold` names the one that the node starts from;
 * those that come while it starts wait for `begin`.
 */
export class ImagePublisher {
  /** Applied. */
  image: MetadataImage = MetadataImage.empty
  readonly #apply: ImageApplier
  readonly #applied = new OffsetWaiters()
  readonly #offered = new OffsetWaiters()
  #begun: PromiseWithResolvers<void> | null = null
  #isClosed = false

  constructor(apply: ImageApplier) {
    this.#apply = apply
  }

  /** The node is about to start from `image`, the newest one. */
  hold(image: MetadataImage): void {
    this.image = image
    this.#begun = Promise.withResolvers()
  }

  /** It has. */
  begin(): void {
    this.#begun?.resolve()
    this.#applied.reach(this.image.position.offset)
  }

  /** The next image; called for one at a time. */
  async take(changes: MetadataChanges, image: MetadataImage): Promise<void> {
    this.#offered.reach(image.position.offset)
    if (this.#begun === null) return
    await this.#begun.promise
    if (this.#isClosed || image.position.offset <= this.image.position.offset) return
    await this.#apply(changes.before === this.image ? changes : changesBetween(this.image, image), image)
    this.image = image
    this.#applied.reach(image.position.offset)
  }

  /** Resolves when the image holds the record at `offset`. */
  reached(offset: number): Promise<void> {
    return this.#applied.wait(offset)
  }

  /** Resolves when an image that holds the record at `offset` has come, applied or not. */
  offered(offset: number): Promise<void> {
    return this.#offered.wait(offset)
  }

  /** Nothing more is applied; what is under way ends first. Nobody waits any more. */
  close(): void {
    this.#isClosed = true
    this.#applied.close()
    this.#offered.close()
  }
}
