import { baseOffset, isTransactional, producerId } from '../../protocol/batch/header.ts'
import type { AbortedTransaction } from '../txn-index.ts'

/** Which batches belong to transactions that were aborted. */
export class AbortedRanges {
  /** Per producer, by their first offset; they do not overlap. */
  readonly #ofProducer = new Map<number, AbortedTransaction[]>()

  /** By their first offset. */
  constructor(transactions: readonly AbortedTransaction[]) {
    for (const transaction of transactions) {
      const known = this.#ofProducer.get(transaction.producerId)
      if (known === undefined) this.#ofProducer.set(transaction.producerId, [transaction])
      else known.push(transaction)
    }
  }

  /** Of a data batch. */
  has(buffer: Buffer, at: number): boolean {
    if (!isTransactional(buffer, at)) return false
    const transactions = this.#ofProducer.get(producerId(buffer, at))
    if (transactions === undefined) return false
    const offset = baseOffset(buffer, at)
    let low = 0
    let high = transactions.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((transactions[middle] as AbortedTransaction).firstOffset <= offset) low = middle + 1
      else high = middle
    }
    return low > 0 && offset <= (transactions[low - 1] as AbortedTransaction).lastOffset
  }
}
