import type { EpochEntry } from '../../storage/leader-epochs.ts'

/** Which epochs a log's records are of, from its first record to its end. */
export interface Lineage {
  readonly epochs: readonly EpochEntry[]
  readonly startOffset: number
  readonly endOffset: number
}

/**
 * Up to where two logs hold the same records, if what has the same offset and epoch is the same (I3): the first offset at
 * which they have different epochs, or where the shorter one ends. What lies before either start is not compared.
 */
export function divergence(one: Lineage, other: Lineage): number {
  const start = Math.max(one.startOffset, other.startOffset)
  const end = Math.min(one.endOffset, other.endOffset)
  if (start >= end) return end
  let [i, j] = [indexAt(one.epochs, start), indexAt(other.epochs, start)]
  for (let offset = start; offset < end; ) {
    if (one.epochs[i]?.epoch !== other.epochs[j]?.epoch) return offset
    const [nextOne, nextOther] = [startAfter(one.epochs, i), startAfter(other.epochs, j)]
    offset = Math.min(nextOne, nextOther)
    if (nextOne === offset) i++
    if (nextOther === offset) j++
  }
  return end
}

/** The index of the entry that `offset` belongs to; -1 before the first. */
function indexAt(epochs: readonly EpochEntry[], offset: number): number {
  return epochs.findLastIndex(({ startOffset }) => startOffset <= offset)
}

function startAfter(epochs: readonly EpochEntry[], index: number): number {
  return epochs[index + 1]?.startOffset ?? Number.POSITIVE_INFINITY
}
