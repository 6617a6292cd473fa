import { isControl, lastOffset, NO_PRODUCER_ID, producerEpoch, producerId } from '../../protocol/batch/header.ts'
import type { ProducerStates } from '../producer-states.ts'

/**
 * The batches by which a log knows its producers, as they were when this was made: those that the duplicate check may
 * still be asked about, or, of a producer that has only markers, those of its epoch. They stay, at least empty, so that a
 * replay of the cleaned log, here or on a follower that begins anew, refuses and recognises what the log did before.
 */
export class KnownProducers {
  readonly #producers = new Map<number, { readonly epoch: number; readonly lastOffsets: readonly number[] }>()

  /** Of batches that end below `limitOffset`. */
  constructor(producers: ProducerStates, limitOffset: number) {
    for (const { producerId, epoch, batches } of producers.entries) {
      const lastOffsets = batches.map((batch) => batch.lastOffset).filter((offset) => offset < limitOffset)
      const isKnownByBatchBeyond = batches.length > 0 && lastOffsets.length === 0
      if (!isKnownByBatchBeyond) this.#producers.set(producerId, { epoch, lastOffsets })
    }
  }

  get isEmpty(): boolean {
    return this.#producers.size === 0
  }

  has(buffer: Buffer, at: number): boolean {
    const id = producerId(buffer, at)
    const known = id === NO_PRODUCER_ID ? undefined : this.#producers.get(id)
    if (known === undefined) return false
    if (known.lastOffsets.length > 0)
      return !isControl(buffer, at) && known.lastOffsets.includes(lastOffset(buffer, at))
    return isControl(buffer, at) && producerEpoch(buffer, at) === known.epoch
  }
}
