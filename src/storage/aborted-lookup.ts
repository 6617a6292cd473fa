import { readFileIfThere } from './files.ts'
import { fits, readSnapshot } from './derive.ts'
import type { LogState } from './log-state.ts'
import { ProducerStates } from './producer-states.ts'
import type { Segment } from './segment.ts'
import { abortedBy, walkSegment } from './take-in.ts'
import { type AbortedTransaction, decodeAborted } from './txn-index.ts'

/**
 * The aborted transactions with records or marker in [from, to): a transaction that began before the range and ended
 * beyond it counts too. Entries are ordered by their markers, so the look-up ends where nothing can follow.
 */
export async function abortedBetween(state: LogState, from: number, to: number): Promise<AbortedTransaction[]> {
  const result: AbortedTransaction[] = []
  for (let i = Math.max(state.segmentIndexOf(from), 0); i < state.segments.length; i++) {
    for (const transaction of await abortedOf(state, state.segments[i] as Segment)) {
      if (transaction.lastOffset >= from && transaction.firstOffset < to) result.push(transaction)
      if (transaction.lastStableOffset >= to) return byFirstOffset(result)
    }
  }
  return byFirstOffset(result)
}

function byFirstOffset(transactions: AbortedTransaction[]): AbortedTransaction[] {
  return transactions.sort((a, b) => a.firstOffset - b.firstOffset)
}

/** Read once, then kept: there are few. A file that lacks what it must hold is replaced by a walk over the log. */
export async function abortedOf(state: LogState, segment: Segment): Promise<readonly AbortedTransaction[]> {
  if (segment.aborted !== null) return segment.aborted
  const index = state.segments.indexOf(segment)
  const content = await readFileIfThere(state.context.env.disk, state.path(segment, 'txnindex'))
  const range = { baseOffset: segment.baseOffset, endOffset: state.segmentLimit(index) }
  const found = content === null ? [] : decodeAborted(content, range)
  const wanted = await wantedCount(state, index)
  if (found === null || (wanted >= 0 && found.length !== wanted)) await walkForAborted(state)
  else if (segment.aborted === null) settle(segment, found, found.length)
  return segment.aborted ?? []
}

function settle(segment: Segment, aborted: AbortedTransaction[], inFile: number): void {
  segment.aborted = aborted
  segment.abortedInFile = inFile
}

/** What the snapshot at the next segment's beginning says; -1 when it says nothing, as one of Kafka's. */
async function wantedCount(state: LogState, index: number): Promise<number> {
  const next = state.segments[index + 1]
  if (next === undefined) return -1
  const snapshot = await readSnapshot(state, next.baseOffset)
  const { note = null } = snapshot ?? {}
  return note !== null && fits(state, note) && note.segmentBase === next.baseOffset ? note.abortedBefore : -1
}

/** Transactions of all closed segments, from the batches themselves. The files are written with the next checkpoint. */
async function walkForAborted(state: LogState): Promise<void> {
  const { generation } = state
  const producers = new ProducerStates()
  for (const segment of state.segments.slice(0, -1)) {
    const aborted: AbortedTransaction[] = []
    await walkSegment(state, segment, (buffer, at) => {
      const transaction = abortedBy(producers, buffer, at, 0)
      if (transaction !== null) aborted.push(transaction)
    })
    if (state.generation !== generation) return
    if (segment.aborted === null) settle(segment, aborted, 0)
  }
  state.context.changed(state)
}
