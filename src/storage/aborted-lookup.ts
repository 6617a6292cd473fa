import { readFileIfThere } from './files.ts'
import type { LogState } from './log-state.ts'
import type { Segment } from './segment.ts'
import { type AbortedTransaction, decodeAborted } from './txn-index.ts'

/**
 * The aborted transactions with records or marker in [from, to): a transaction that began before the range and ended
 * beyond it counts too. Entries are ordered by their markers, so the look-up ends where nothing can follow.
 */
export async function abortedBetween(state: LogState, from: number, to: number): Promise<AbortedTransaction[]> {
  const result: AbortedTransaction[] = []
  for (let i = Math.max(state.segmentIndexOf(from), 0); i < state.segments.length; i++) {
    for (const transaction of await abortedOf(state, state.segments[i] as Segment, i)) {
      if (transaction.lastOffset >= from && transaction.firstOffset < to) result.push(transaction)
      if (transaction.lastStableOffset >= to) return byFirstOffset(result)
    }
  }
  return byFirstOffset(result)
}

function byFirstOffset(transactions: AbortedTransaction[]): AbortedTransaction[] {
  return transactions.sort((a, b) => a.firstOffset - b.firstOffset)
}

/** Read once, then kept: there are few. */
async function abortedOf(state: LogState, segment: Segment, index: number): Promise<readonly AbortedTransaction[]> {
  if (segment.aborted !== null) return segment.aborted
  const content = await readFileIfThere(state.context.env.disk, state.path(segment, 'txnindex'))
  const range = { baseOffset: segment.baseOffset, endOffset: state.segmentLimit(index) }
  const transactions = content === null ? [] : decodeAborted(content, range)
  segment.aborted ??= transactions ?? []
  segment.abortedInFile = segment.aborted.length
  return segment.aborted
}
