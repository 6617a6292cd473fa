import { changesBetween, type MetadataChanges } from '../metadata/changes.ts'
import { MetadataImage } from '../metadata/image.ts'

/** Does what one image asks of this node, before the node shows the image to anyone. */
export type ImageApplier = (changes: MetadataChanges, image: MetadataImage) => Promise<void>

/**
 * Takes images from the quorum, one at a time, and shows each when this node has applied it: what Metadata announces,
 * Produce and Fetch already know. Life cycle: images are let go by until `hold` names the one that the node starts from;
 * those that come while it starts wait for `begin`.
 */
export class ImagePublisher {
  /** Applied. */
  image: MetadataImage = MetadataImage.empty
  readonly #apply: ImageApplier
  #begun: PromiseWithResolvers<void> | null = null
  #waiters: { readonly offset: number; readonly resolve: () => void }[] = []
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
    this.#wake()
  }

  /** The next image; called for one at a time. */
  async take(changes: MetadataChanges, image: MetadataImage): Promise<void> {
    if (this.#begun === null) return
    await this.#begun.promise
    if (this.#isClosed || image.position.offset <= this.image.position.offset) return
    await this.#apply(changes.before === this.image ? changes : changesBetween(this.image, image), image)
    this.image = image
    this.#wake()
  }

  /** Resolves when the image holds the record at `offset`. */
  reached(offset: number): Promise<void> {
    if (this.#isClosed || this.image.position.offset >= offset) return Promise.resolve()
    return new Promise((resolve) => this.#waiters.push({ offset, resolve }))
  }

  /** Nothing more is applied; what is under way ends first. Nobody waits any more. */
  close(): void {
    this.#isClosed = true
    for (const { resolve } of this.#waiters.splice(0)) resolve()
  }

  #wake(): void {
    const { offset } = this.image.position
    const reached = this.#waiters.filter((waiter) => waiter.offset <= offset)
    this.#waiters = this.#waiters.filter((waiter) => waiter.offset > offset)
    for (const { resolve } of reached) resolve()
  }
}
