import { baseOffset as baseOffsetOf, partitionLeaderEpoch } from '../protocol/batch/header.ts'
import { CorruptLogError } from './errors.ts'
import type { LogState } from './log-state.ts'
import type { ProducerStates } from './producer-states.ts'
import { scanBatches } from './scan.ts'
import type { Segment } from './segment.ts'
import type { AbortedTransaction } from './txn-index.ts'

/** What the batch at `at`, now in the log, means for epochs, producers and transactions. Live and on replay. */
export function takeIn(state: LogState, segment: Segment, buffer: Buffer, at: number, nowMs: number): void {
  const epoch = partitionLeaderEpoch(buffer, at)
  if (epoch >= 0 && state.epochs.assign(epoch, baseOffsetOf(buffer, at))) state.areEpochsDirty = true
  const aborted = abortedBy(state.producers, buffer, at, nowMs)
  if (aborted !== null) segment.noteAborted(aborted)
}

/** Takes the batch into `producers` and returns the transaction that it aborts, if it does. */
export function abortedBy(
  producers: ProducerStates,
  buffer: Buffer,
  at: number,
  nowMs: number,
): AbortedTransaction | null {
  const completed = producers.apply(buffer, at, nowMs)
  if (completed === null || !completed.isAborted) return null
  const { producerId, firstOffset, lastOffset } = completed
  // Of the transactions that are still open; when there is none, everything up to the marker is decided.
  return { producerId, firstOffset, lastOffset, lastStableOffset: producers.firstOpenOffset ?? lastOffset + 1 }
}

/** Visits every batch of a closed segment. */
export async function walkSegment(
  state: LogState,
  segment: Segment,
  onBatch: (buffer: Buffer, at: number) => void,
): Promise<void> {
  const path = state.path(segment, 'log')
  const lease = await state.context.files.acquire(path, 'read')
  try {
    const end = await scanBatches(lease.file, {
      from: 0,
      to: segment.writtenBytes,
      nextOffset: segment.baseOffset,
      limitOffset: state.writtenLimitOf(segment),
      verifyFrom: Number.MAX_SAFE_INTEGER,
      onBatch,
    })
    if (end.damage !== null) throw new CorruptLogError(path, end.position, end.damage)
  } finally {
    lease.release()
  }
}
