import type { MetadataImage } from '../metadata/image.ts'
import { ResourceType } from '../metadata/records.ts'
import { assert } from '../base/assert.ts'
import { type ConfigDef, listOf } from './config-def.ts'
import { topicConfigs } from './config-defs.ts'
import { type BrokerContext, brokerNumber, topicValue } from './config-view.ts'

/** All that a topic's configs say to the data path, parsed. Its first fields are what storage asks for. */
export interface TopicConfig {
  readonly segmentBytes: number
  readonly segmentMs: number
  readonly segmentJitterMs: number
  readonly segmentIndexBytes: number
  readonly indexIntervalBytes: number
  /** Empty: nothing is ever removed. */
  readonly cleanupPolicy: readonly ('delete' | 'compact')[]
  /** -1: for ever. */
  readonly retentionMs: number
  /** -1: any amount. */
  readonly retentionBytes: number
  readonly timestampType: 'CreateTime' | 'LogAppendTime'
  readonly fileDeleteDelayMs: number
  readonly durabilityMode: 'fsync' | 'relaxed'
  readonly producerIdExpirationMs: number
  readonly maxMessageBytes: number
  readonly maxDecompressedMessageBytes: number
  /** At most the replication factor. */
  readonly minInsyncReplicas: number
  readonly uncleanLeaderElection: boolean
  readonly compressionType: 'uncompressed' | 'zstd' | 'lz4' | 'snappy' | 'gzip' | 'producer'
  /** For the codec of `compressionType`; null: the codec's own. */
  readonly compressionLevel: number | null
  readonly timestampBeforeMaxMs: number
  readonly timestampAfterMaxMs: number
  readonly deleteRetentionMs: number
  readonly minCompactionLagMs: number
  readonly maxCompactionLagMs: number
  readonly minCleanableDirtyRatio: number
}

/** The configs that hold for a topic on `broker`: its own, else the broker's, else the defaults. */
export function topicConfigOf(image: MetadataImage, broker: BrokerContext, topic: string): TopicConfig {
  const replicationFactor = image.topic(topic)?.partitions[0]?.replicas.length ?? 1
  const own = image.configOf({ type: ResourceType.topic, name: topic })
  const text = (name: string): string | null => {
    return topicValue(image, broker, own, topicConfigs.get(name) as ConfigDef, replicationFactor).value
  }
  const word = <T extends string>(name: string): T => (text(name) ?? '') as T
  const number = (name: string): number => {
    const value = text(name)
    assert(value !== null, `topic config ${name} has no value`)
    return Number(value)
  }
  const compressionType = word<TopicConfig['compressionType']>('compression.type')
  return {
    segmentBytes: Number(text('internal.segment.bytes') ?? number('segment.bytes')),
    segmentMs: number('segment.ms'),
    segmentJitterMs: number('segment.jitter.ms'),
    segmentIndexBytes: number('segment.index.bytes'),
    indexIntervalBytes: number('index.interval.bytes'),
    cleanupPolicy: listOf(word('cleanup.policy')) as TopicConfig['cleanupPolicy'],
    retentionMs: number('retention.ms'),
    retentionBytes: Math.max(-1, number('retention.bytes')),
    timestampType: word('message.timestamp.type'),
    fileDeleteDelayMs: number('file.delete.delay.ms'),
    durabilityMode: word('durability.mode'),
    producerIdExpirationMs: brokerNumber(image, broker, 'producer.id.expiration.ms'),
    maxMessageBytes: number('max.message.bytes'),
    maxDecompressedMessageBytes: number('max.decompressed.message.bytes'),
    minInsyncReplicas: Math.min(number('min.insync.replicas'), replicationFactor),
    uncleanLeaderElection: text('unclean.leader.election.enable') === 'true',
    compressionType,
    compressionLevel: levelOf(compressionType, number),
    timestampBeforeMaxMs: number('message.timestamp.before.max.ms'),
    timestampAfterMaxMs: number('message.timestamp.after.max.ms'),
    deleteRetentionMs: number('delete.retention.ms'),
    minCompactionLagMs: number('min.compaction.lag.ms'),
    maxCompactionLagMs: number('max.compaction.lag.ms'),
    minCleanableDirtyRatio: number('min.cleanable.dirty.ratio'),
  }
}

function levelOf(codec: string, number: (name: string) => number): number | null {
  if (codec !== 'gzip' && codec !== 'lz4' && codec !== 'zstd') return null
  const level = number(`compression.${codec}.level`)
  return codec === 'gzip' && level === -1 ? null : level
}
