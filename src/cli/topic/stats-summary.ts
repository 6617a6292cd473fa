/** Over how long rates are told, by the time index of the logs. */
export const WINDOWS_MINUTES = [1, 5, 15] as const

export interface PartitionStats {
  readonly partition: number
  /** Offsets in use; of a compacted topic fewer records. */
  readonly records: number
  /** Of one copy. */
  readonly bytes: number
  /** Times of its records; null: it has none. */
  readonly oldestMs: number | null
  readonly newestMs: number | null
  /** Records of the last minutes, for each window. */
  readonly recent: readonly number[]
}

export interface TopicStats {
  readonly name: string
  readonly records: number
  readonly bytes: number
  /** Of partitions without a record: of those that were removed from the segment that is being written. */
  readonly removedBytes: number
  /** For each window. */
  readonly perSecond: readonly number[]
  /** The largest partition as a multiple of the mean one; 1: all are the same. */
  readonly skew: { readonly records: number; readonly bytes: number }
  readonly oldestMs: number | null
  readonly newestMs: number | null
  /** -1: for ever. */
  readonly retentionMs: number
  /** Null: never, or there is nothing. A segment goes when its newest record is that old, so it may be later. */
  readonly oldestGoesInMs: number | null
  readonly partitions: readonly PartitionStats[]
}

export function summarize(
  name: string,
  partitions: readonly PartitionStats[],
  { retentionMs, nowMs }: { readonly retentionMs: number; readonly nowMs: number },
): TopicStats {
  const sorted = partitions.toSorted((left, right) => left.partition - right.partition)
  const times = (of: (each: PartitionStats) => number | null) => sorted.map(of).filter((ms) => ms !== null)
  const oldest = times(({ oldestMs }) => oldestMs)
  const newest = times(({ newestMs }) => newestMs)
  const oldestMs = oldest.length === 0 ? null : Math.min(...oldest)
  return {
    name,
    records: sum(sorted.map(({ records }) => records)),
    bytes: sum(sorted.map(({ bytes }) => bytes)),
    removedBytes: sum(sorted.map(({ records, bytes }) => (records === 0 ? bytes : 0))),
    perSecond: WINDOWS_MINUTES.map(
      (minutes, index) => sum(sorted.map(({ recent }) => recent[index] ?? 0)) / (minutes * 60),
    ),
    skew: { records: skewOf(sorted.map(({ records }) => records)), bytes: skewOf(sorted.map(({ bytes }) => bytes)) },
    oldestMs,
    newestMs: newest.length === 0 ? null : Math.max(...newest),
    retentionMs,
    oldestGoesInMs: oldestMs === null || retentionMs < 0 ? null : Math.max(0, oldestMs + retentionMs - nowMs),
    partitions: sorted,
  }
}

function skewOf(values: readonly number[]): number {
  const total = sum(values)
  return total === 0 ? 1 : (Math.max(...values) * values.length) / total
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
