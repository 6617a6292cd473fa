import type { ReserveUse } from './space-guard.ts'

/** What a topic's configs mean to its logs. Replaced as a whole when a config changes: `log.config = next`. */
export interface LogConfig {
  /** A segment is rolled before it would grow beyond this. */
  readonly segmentBytes: number
  /** A segment is rolled when a batch is this much newer than its first one; less a random part of the jitter. */
  readonly segmentMs: number
  readonly segmentJitterMs: number
  /** Bound of each index file; a segment whose index is full is rolled. */
  readonly segmentIndexBytes: number
  /** Log bytes between two entries of an index. */
  readonly indexIntervalBytes: number
  readonly cleanupPolicy: readonly ('delete' | 'compact')[]
  /** Compaction begins when the part of the log that never was compacted is larger than this: 0 to 1. */
  readonly minCleanableDirtyRatio: number
  /** A record younger than the first is not compacted; one older than the second makes compaction begin. */
  readonly minCompactionLagMs: number
  readonly maxCompactionLagMs: number
  /** Tombstones and markers stay this long after the first round of compaction that saw them. */
  readonly deleteRetentionMs: number
  /** -1: for ever. */
  readonly retentionMs: number
  /** Of one partition; -1: any amount. */
  readonly retentionBytes: number
  readonly timestampType: 'CreateTime' | 'LogAppendTime'
  /** How long a deleted segment stays as `.deleted`, for readers that are in it. */
  readonly fileDeleteDelayMs: number
  /**
   * `fsync`: synced continuously, as fast as the disk takes it. `relaxed`: synced when a segment is rolled, when the log
   * is closed and every few seconds.
   */
  readonly durabilityMode: 'fsync' | 'relaxed'
  /** A producer is forgotten this long after its last batch, unless a transaction of it is open. */
  readonly producerIdExpirationMs: number
  /** What the log may still use when the disk is all but full. */
  readonly reserveUse: ReserveUse
}

/** Kafka 4.4.0's defaults. */
export const defaultLogConfig: LogConfig = {
  segmentBytes: 1024 ** 3,
  segmentMs: 7 * 24 * 3_600_000,
  segmentJitterMs: 0,
  segmentIndexBytes: 10 * 1024 ** 2,
  indexIntervalBytes: 4096,
  cleanupPolicy: ['delete'],
  minCleanableDirtyRatio: 0.5,
  minCompactionLagMs: 0,
  maxCompactionLagMs: Number.POSITIVE_INFINITY,
  deleteRetentionMs: 24 * 3_600_000,
  retentionMs: 7 * 24 * 3_600_000,
  retentionBytes: -1,
  timestampType: 'CreateTime',
  fileDeleteDelayMs: 60_000,
  durabilityMode: 'fsync',
  producerIdExpirationMs: 24 * 3_600_000,
  reserveUse: 'none',
}
