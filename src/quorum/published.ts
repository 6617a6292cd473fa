import { changesBetween, type MetadataChanges, type TouchedKeys, touchedBy } from '../metadata/changes.ts'
import { MetadataImage } from '../metadata/image.ts'

export type ImageListener = (changes: MetadataChanges, image: MetadataImage) => void | Promise<void>

/**
 * Hands committed images to one listener, one at a time and in order. While the listener works on one, those that come
 * are joined into a single step: it never falls behind by more than that.
 */
export class Published {
  readonly #listener: ImageListener
  readonly #onFailure: (error: Error) => void
  #current: MetadataImage = MetadataImage.empty
  #newest: MetadataImage = MetadataImage.empty
  #waiting: MetadataChanges[] = []
  #work: Promise<void> | null = null

  /** A listener that throws or rejects has lost its place in the order: it is not called again. */
  constructor(listener: ImageListener, onFailure: (error: Error) => void) {
    this.#listener = listener
    this.#onFailure = onFailure
  }

  /** The listener knows this image already. */
  begin(image: MetadataImage): void {
    this.#current = image
    this.#newest = image
  }

  publish(changes: MetadataChanges): void {
    this.#newest = changes.after
    this.#waiting.push(changes)
    this.#work ??= this.#run()
  }

  /** Resolves when the listener has taken everything published so far. */
  async settled(): Promise<void> {
    await this.#work
  }

  async #run(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        const changes = joined(this.#current, this.#newest, this.#waiting.splice(0))
        await this.#listener(changes, changes.after)
        this.#current = changes.after
      }
      this.#work = null
    } catch (error) {
      this.#onFailure(error as Error)
    }
  }
}

function joined(before: MetadataImage, after: MetadataImage, steps: readonly MetadataChanges[]): MetadataChanges {
  const [only, ...others] = steps
  if (only !== undefined && others.length === 0 && only.before === before && only.after === after) return only
  const touched: TouchedKeys[] = steps.map(touchedBy)
  return changesBetween(before, after, {
    topicIds: new Set(touched.flatMap(({ topicIds }) => [...topicIds])),
    brokerIds: new Set(touched.flatMap(({ brokerIds }) => [...brokerIds])),
    configs: new Set(touched.flatMap(({ configs }) => [...configs])),
  })
}
