import { type ConfigDef, config, LONG_MAX } from './config-def.ts'

const codecs = ['uncompressed', 'zstd', 'lz4', 'snappy', 'gzip', 'producer']

/** `durability.mode`, ours: what an acknowledged record has behind it. */
export const durabilityModes = ['fsync', 'relaxed']

/** All topic configs of Kafka 4.4.0, and ours. */
export const topicConfigDefs: readonly ConfigDef[] = [
  config(
    'list',
    'cleanup.policy',
    'delete',
    'What happens to old records: delete, compact, both, or (empty) nothing: they are kept for ever.',
    { oneOf: ['compact', 'delete'] },
  ),
  config('int', 'compression.gzip.level', '-1', 'Level for compression.type=gzip; -1 is the codec’s own default.', {
    atLeast: 1,
    atMost: 9,
    orElse: -1,
  }),
  config('int', 'compression.lz4.level', '9', 'Level for compression.type=lz4.', { atLeast: 1, atMost: 17 }),
  config(
    'string',
    'compression.type',
    'producer',
    'Codec in which batches are kept; producer keeps what the producer sent.',
    { oneOf: codecs },
  ),
  config('int', 'compression.zstd.level', '3', 'Level for compression.type=zstd.', { atLeast: -131072, atMost: 22 }),
  config(
    'long',
    'delete.retention.ms',
    '86400000',
    'How long a compacted topic keeps the marker of a deleted key, so that late readers see the deletion.',
    { atLeast: 0 },
  ),
  config(
    'string',
    'durability.mode',
    'fsync',
    'fsync: an acknowledged record is on disk on min.insync.replicas nodes. relaxed: it may still be in their page caches.',
    { oneOf: durabilityModes },
  ),
  config(
    'boolean',
    'errors.deadletterqueue.group.enable',
    'false',
    'The topic may take records that share groups gave up on.',
    {
      ignored: 'not-served',
    },
  ),
  config('long', 'file.delete.delay.ms', '60000', 'How long a deleted file stays on disk for readers that are in it.', {
    atLeast: 0,
  }),
  config('long', 'flush.messages', LONG_MAX, 'Of no effect: durability.mode decides when records are synced.', {
    atLeast: 1,
    ignored: 'not-served',
  }),
  config('long', 'flush.ms', LONG_MAX, 'Of no effect: durability.mode decides when records are synced.', {
    atLeast: 0,
    ignored: 'not-served',
  }),
  config(
    'list',
    'follower.replication.throttled.replicas',
    '',
    'Replicas whose fetching is throttled: partition:broker pairs, or *.',
    { check: throttledReplicas },
  ),
  config('int', 'index.interval.bytes', '4096', 'Log bytes between two entries of the offset index.', { atLeast: 0 }),
  config('int', 'internal.segment.bytes', null, 'segment.bytes without its lower bound, for tests.', {
    internal: true,
  }),
  config(
    'list',
    'leader.replication.throttled.replicas',
    '',
    'Replicas that are served at a throttled rate: partition:broker pairs, or *.',
    { check: throttledReplicas },
  ),
  config(
    'long',
    'local.retention.bytes',
    '-2',
    'Bytes of a tiered partition kept on the broker’s disk; -2 is retention.bytes.',
    { atLeast: -2 },
  ),
  config(
    'long',
    'local.retention.ms',
    '-2',
    'How long a tiered topic’s records stay on the broker’s disk; -2 is retention.ms.',
    { atLeast: -2 },
  ),
  config('long', 'max.compaction.lag.ms', LONG_MAX, 'A record is compacted at the latest this long after it came.', {
    atLeast: 1,
  }),
  config(
    'int',
    'max.decompressed.message.bytes',
    '2147483639',
    'Largest batch after decompression, where the broker has to decompress.',
    { atLeast: 1, atMost: 2147483639 },
  ),
  config('int', 'max.message.bytes', '1048588', 'Largest record batch, after compression.', { atLeast: 0 }),
  config(
    'long',
    'message.timestamp.after.max.ms',
    '3600000',
    'How far a record’s timestamp may lie after the broker’s clock.',
    { atLeast: 0 },
  ),
  config(
    'long',
    'message.timestamp.before.max.ms',
    LONG_MAX,
    'How far a record’s timestamp may lie before the broker’s clock.',
    { atLeast: 0 },
  ),
  config(
    'string',
    'message.timestamp.type',
    'CreateTime',
    'Whose time a record carries: the producer’s, or the broker’s at the append.',
    { oneOf: ['CreateTime', 'LogAppendTime'] },
  ),
  config(
    'double',
    'min.cleanable.dirty.ratio',
    '0.5',
    'A log is compacted when this part of it is not compacted yet.',
    { atLeast: 0, atMost: 1 },
  ),
  config('long', 'min.compaction.lag.ms', '0', 'A record is not compacted earlier than this after it came.', {
    atLeast: 0,
  }),
  config(
    'int',
    'min.insync.replicas',
    '1',
    'In-sync replicas, at most the replication factor, without which acks=all is refused.',
    { atLeast: 1 },
  ),
  config('boolean', 'preallocate', 'false', 'Give a new segment its full size at once.', { ignored: 'not-served' }),
  config(
    'long',
    'remote.copy.lag.bytes',
    '-1',
    'Bytes that a tiered partition may lag with its upload; -1 derives it.',
    {
      atLeast: -1,
    },
  ),
  config('long', 'remote.copy.lag.ms', '0', 'Time that a tiered partition may lag with its upload; -1 derives it.', {
    atLeast: -1,
  }),
  config(
    'boolean',
    'remote.log.copy.disable',
    'false',
    'A tiered topic uploads no more; what was uploaded stays readable.',
  ),
  config('boolean', 'remote.log.delete.on.disable', 'false', 'Switching tiering off deletes what was uploaded.'),
  config('boolean', 'remote.storage.enable', 'false', 'Keep old segments in the tiered store.', {
    ignored: 'not-served',
  }),
  config('long', 'retention.bytes', '-1', 'Largest size of one partition; older segments go. -1: any size.'),
  config('long', 'retention.ms', '604800000', 'How long records are kept under cleanup.policy=delete. -1: for ever.', {
    atLeast: -1,
  }),
  config('int', 'segment.bytes', '1073741824', 'Size at which a new segment file is begun.', { atLeast: 1048576 }),
  config('int', 'segment.index.bytes', '10485760', 'Largest size of a segment’s index file.', { atLeast: 4 }),
  config(
    'long',
    'segment.jitter.ms',
    '0',
    'Random part by which segment.ms is shortened, so that logs do not roll together.',
    {
      atLeast: 0,
    },
  ),
  config('long', 'segment.ms', '604800000', 'Age at which a new segment file is begun.', { atLeast: 1 }),
  config(
    'boolean',
    'unclean.leader.election.enable',
    'false',
    'Let a replica lead that may lack acknowledged records.',
  ),
]

function throttledReplicas(value: string, name: string): string | null {
  if (value === '' || value === '*') return null
  if (value.split(',').every((pair) => /^[0-9]+:[0-9]+$/.test(pair))) return null
  const format = '[partitionId]:[brokerId],[partitionId]:[brokerId],...'
  return `${name} must be the literal '*' or a list of replicas in the following format: ${format}`
}

/** A broker key that gives a topic key its default, and the factor between their units. */
export interface TopicSynonym {
  readonly name: string
  readonly factor: number
}

const same = (name: string): TopicSynonym[] => [{ name, factor: 1 }]
const HOUR = 3_600_000

/** In the order in which they count: the first that is set wins. */
export const topicSynonyms: ReadonlyMap<string, readonly TopicSynonym[]> = new Map([
  ['cleanup.policy', same('log.cleanup.policy')],
  ['compression.gzip.level', same('compression.gzip.level')],
  ['compression.lz4.level', same('compression.lz4.level')],
  ['compression.type', same('compression.type')],
  ['compression.zstd.level', same('compression.zstd.level')],
  ['delete.retention.ms', same('log.cleaner.delete.retention.ms')],
  ['durability.mode', same('log.durability.mode')],
  ['file.delete.delay.ms', same('log.segment.delete.delay.ms')],
  ['flush.messages', same('log.flush.interval.messages')],
  [
    'flush.ms',
    [
      { name: 'log.flush.interval.ms', factor: 1 },
      { name: 'log.flush.scheduler.interval.ms', factor: 1 },
    ],
  ],
  ['index.interval.bytes', same('log.index.interval.bytes')],
  ['local.retention.bytes', same('log.local.retention.bytes')],
  ['local.retention.ms', same('log.local.retention.ms')],
  ['max.compaction.lag.ms', same('log.cleaner.max.compaction.lag.ms')],
  ['max.decompressed.message.bytes', same('max.decompressed.message.bytes')],
  ['max.message.bytes', same('message.max.bytes')],
  ['message.timestamp.after.max.ms', same('log.message.timestamp.after.max.ms')],
  ['message.timestamp.before.max.ms', same('log.message.timestamp.before.max.ms')],
  ['message.timestamp.type', same('log.message.timestamp.type')],
  ['min.cleanable.dirty.ratio', same('log.cleaner.min.cleanable.ratio')],
  ['min.compaction.lag.ms', same('log.cleaner.min.compaction.lag.ms')],
  ['min.insync.replicas', same('min.insync.replicas')],
  ['preallocate', same('log.preallocate')],
  ['remote.copy.lag.bytes', same('log.remote.copy.lag.bytes')],
  ['remote.copy.lag.ms', same('log.remote.copy.lag.ms')],
  ['retention.bytes', same('log.retention.bytes')],
  [
    'retention.ms',
    [
      { name: 'log.retention.ms', factor: 1 },
      { name: 'log.retention.minutes', factor: 60_000 },
      { name: 'log.retention.hours', factor: HOUR },
    ],
  ],
  ['segment.bytes', same('log.segment.bytes')],
  ['segment.index.bytes', same('log.index.size.max.bytes')],
  [
    'segment.jitter.ms',
    [
      { name: 'log.roll.jitter.ms', factor: 1 },
      { name: 'log.roll.jitter.hours', factor: HOUR },
    ],
  ],
  [
    'segment.ms',
    [
      { name: 'log.roll.ms', factor: 1 },
      { name: 'log.roll.hours', factor: HOUR },
    ],
  ],
  ['unclean.leader.election.enable', same('unclean.leader.election.enable')],
])
