import type { BatchLimits } from '../protocol/batch/validate.ts'
import type { TopicConfigSource } from '../controller/topic-config.ts'
import { CODECS, type Codec } from '../protocol/batch/header.ts'
import type { LogConfig } from '../storage/config.ts'
import { type ThrottledReplicas, throttledReplicas } from './throttles.ts'

/** What a topic's configuration means to the replicas of its partitions. Replaced as a whole when it changes. */
export interface TopicSettings {
  readonly log: LogConfig
  /** Null where nobody set it. */
  readonly minInsyncReplicas: number | null
  /** Followers that leaders serve, and that fetch, at a throttled rate while they are not in sync. */
  readonly throttledLeaders: ThrottledReplicas
  readonly throttledFollowers: ThrottledReplicas
  /** Without the name of a partition, which each adds. */
  readonly batchLimits: Omit<BatchLimits, 'partition'>
}

/** Reads every key a replica goes by. The values have been validated where they were set. */
export function topicSettings(
  config: TopicConfigSource,
  { producerIdExpirationMs, isInternal }: { producerIdExpirationMs: number; isInternal: boolean },
): TopicSettings {
  const number = (key: string) => Number(config(key))
  const cleanupPolicy = config('cleanup.policy')
    .split(',')
    .filter((policy) => policy === 'delete' || policy === 'compact')
  const timestampType = config('message.timestamp.type') === 'LogAppendTime' ? 'LogAppendTime' : 'CreateTime'
  const codec = codecOfTopic(config('compression.type'))
  const maxCompactionLagMs = number('max.compaction.lag.ms')
  const log: LogConfig = {
    segmentBytes: number('segment.bytes'),
    // The active segment is never compacted, so it must not stay active for longer than that.
    segmentMs: cleanupPolicy.includes('compact')
      ? Math.min(number('segment.ms'), maxCompactionLagMs)
      : number('segment.ms'),
    segmentJitterMs: number('segment.jitter.ms'),
    segmentIndexBytes: number('segment.index.bytes'),
    indexIntervalBytes: number('index.interval.bytes'),
    cleanupPolicy,
    minCleanableDirtyRatio: number('min.cleanable.dirty.ratio'),
    minCompactionLagMs: number('min.compaction.lag.ms'),
    maxCompactionLagMs,
    deleteRetentionMs: number('delete.retention.ms'),
    retentionMs: number('retention.ms'),
    retentionBytes: number('retention.bytes'),
    timestampType,
    fileDeleteDelayMs: number('file.delete.delay.ms'),
    durabilityMode: config('durability.mode') === 'relaxed' ? 'relaxed' : 'fsync',
    producerIdExpirationMs,
    // Readers of a full node go on committing their offsets.
    reserveUse: isInternal ? 'half' : 'none',
  }
  return {
    log,
    minInsyncReplicas: config('min.insync.replicas') === '' ? null : number('min.insync.replicas'),
    throttledLeaders: throttledReplicas(config('leader.replication.throttled.replicas')),
    throttledFollowers: throttledReplicas(config('follower.replication.throttled.replicas')),
    batchLimits: {
      maxBatchBytes: number('max.message.bytes'),
      decompressedBytesMax: number('max.decompressed.message.bytes'),
      segmentBytes: log.segmentBytes,
      compacted: cleanupPolicy.includes('compact'),
      logAppendTime: timestampType === 'LogAppendTime',
      timestampBeforeMaxMs: number('message.timestamp.before.max.ms'),
      timestampAfterMaxMs: number('message.timestamp.after.max.ms'),
      codec,
      ...levelOf(config, codec),
    },
  }
}

/** Null for `producer`: what came is kept. */
function codecOfTopic(compressionType: string): Codec | null {
  if (compressionType === 'producer') return null
  if (compressionType === 'uncompressed') return 'none'
  return CODECS.find((codec) => codec === compressionType) ?? null
}

function levelOf(config: TopicConfigSource, codec: Codec | null): { compressionLevel?: number } {
  if (codec !== 'gzip' && codec !== 'zstd' && codec !== 'lz4') return {}
  return { compressionLevel: Number(config(`compression.${codec}.level`)) }
}
