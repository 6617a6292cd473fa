import { type ConfigDef, config, LONG_MAX } from './config-def.ts'

/** Log configs of a broker: how its logs are kept, and what topics take as their default. */
export const logConfigDefs: readonly ConfigDef[] = [
  config('int', 'compression.gzip.level', '-1', 'Default of the topic config compression.gzip.level.', {
    atLeast: 1,
    atMost: 9,
    orElse: -1,
    update: 'cluster-wide',
  }),
  config('int', 'compression.lz4.level', '9', 'Default of the topic config compression.lz4.level.', {
    atLeast: 1,
    atMost: 17,
    update: 'cluster-wide',
  }),
  config('string', 'compression.type', 'producer', 'Default of the topic config compression.type.', {
    oneOf: ['uncompressed', 'zstd', 'lz4', 'snappy', 'gzip', 'producer'],
    update: 'cluster-wide',
  }),
  config('int', 'compression.zstd.level', '3', 'Default of the topic config compression.zstd.level.', {
    atLeast: -131072,
    atMost: 22,
    update: 'cluster-wide',
  }),
  config('long', 'log.cleaner.backoff.ms', '15000', 'How long an idle cleaner waits.', {
    atLeast: 0,
    update: 'cluster-wide',
  }),
  config('long', 'log.cleaner.dedupe.buffer.size', '134217728', 'Memory for the keys of the logs that are compacted.', {
    update: 'cluster-wide',
  }),
  config('long', 'log.cleaner.delete.retention.ms', '86400000', 'Default of the topic config delete.retention.ms.', {
    atLeast: 0,
    update: 'cluster-wide',
  }),
  config('boolean', 'log.cleaner.enable', 'true', 'Compact topics with cleanup.policy=compact.'),
  config('double', 'log.cleaner.io.buffer.load.factor', '0.9', 'How full the cleaner’s key table may be.', {
    update: 'cluster-wide',
    ignored: 'jvm',
  }),
  config('int', 'log.cleaner.io.buffer.size', '524288', 'Memory for the cleaner’s reads and writes.', {
    atLeast: 0,
    update: 'cluster-wide',
    ignored: 'own-way',
  }),
  config(
    'double',
    'log.cleaner.io.max.bytes.per.second',
    '1.7976931348623157E308',
    'Most bytes a second that the cleaner reads and writes.',
    { update: 'cluster-wide' },
  ),
  config('long', 'log.cleaner.max.compaction.lag.ms', LONG_MAX, 'Default of the topic config max.compaction.lag.ms.', {
    atLeast: 1,
    update: 'cluster-wide',
  }),
  config('double', 'log.cleaner.min.cleanable.ratio', '0.5', 'Default of the topic config min.cleanable.dirty.ratio.', {
    atLeast: 0,
    atMost: 1,
    update: 'cluster-wide',
  }),
  config('long', 'log.cleaner.min.compaction.lag.ms', '0', 'Default of the topic config min.compaction.lag.ms.', {
    atLeast: 0,
    update: 'cluster-wide',
  }),
  config('int', 'log.cleaner.threads', '1', 'Threads of the cleaner.', {
    atLeast: 0,
    update: 'cluster-wide',
    ignored: 'jvm',
  }),
  config('list', 'log.cleanup.policy', 'delete', 'Default of the topic config cleanup.policy.', {
    oneOf: ['compact', 'delete'],
    update: 'cluster-wide',
  }),
  config(
    'string',
    'log.durability.mode',
    'fsync',
    'Default of the topic config durability.mode: what an acknowledged record has behind it.',
    { oneOf: ['fsync', 'relaxed'], update: 'cluster-wide' },
  ),
  config(
    'long',
    'log.flush.interval.messages',
    LONG_MAX,
    'Default of the topic config flush.messages, which has no effect.',
    { atLeast: 1, update: 'cluster-wide', ignored: 'not-served' },
  ),
  config('long', 'log.flush.interval.ms', null, 'Default of the topic config flush.ms, which has no effect.', {
    update: 'cluster-wide',
    ignored: 'not-served',
  }),
  config(
    'int',
    'log.flush.offset.checkpoint.interval.ms',
    '60000',
    'How often the durable end of each log is noted down, so that a restart need not scan before it.',
    { atLeast: 0, ignored: 'own-way' },
  ),
  config(
    'long',
    'log.flush.scheduler.interval.ms',
    LONG_MAX,
    'Of no effect: durability.mode decides when records are synced.',
    { ignored: 'not-served' },
  ),
  config(
    'int',
    'log.flush.start.offset.checkpoint.interval.ms',
    '60000',
    'How often the start offset of each log is noted down.',
    { atLeast: 0, ignored: 'own-way' },
  ),
  config('int', 'log.index.interval.bytes', '4096', 'Default of the topic config index.interval.bytes.', {
    atLeast: 0,
    update: 'cluster-wide',
  }),
  config('int', 'log.index.size.max.bytes', '10485760', 'Default of the topic config segment.index.bytes.', {
    atLeast: 4,
    update: 'cluster-wide',
  }),
  config('long', 'log.initial.task.delay.ms', '30000', 'Wait after the start before background work on logs begins.', {
    atLeast: 0,
    internal: true,
    ignored: 'own-way',
  }),
  config(
    'long',
    'log.message.timestamp.after.max.ms',
    '3600000',
    'Default of the topic config message.timestamp.after.max.ms.',
    { atLeast: 0, update: 'cluster-wide' },
  ),
  config(
    'long',
    'log.message.timestamp.before.max.ms',
    LONG_MAX,
    'Default of the topic config message.timestamp.before.max.ms.',
    { atLeast: 0, update: 'cluster-wide' },
  ),
  config('string', 'log.message.timestamp.type', 'CreateTime', 'Default of the topic config message.timestamp.type.', {
    oneOf: ['CreateTime', 'LogAppendTime'],
    update: 'cluster-wide',
  }),
  config(
    'long',
    'log.min.free.bytes',
    '67108864',
    'Kept free on the disk for what the node itself must write (at most a twentieth of the disk): below it records are refused, reads and deletions go on.',
    { atLeast: 0 },
  ),
  config(
    'long',
    'log.scrub.bytes.per.second',
    '4194304',
    'Most bytes a second that are read to look for damage in what lies on disk; 0 switches it off.',
    { atLeast: 0, update: 'cluster-wide' },
  ),
  config(
    'long',
    'log.stray.retention.ms',
    '604800000',
    'How long the directory of a partition is kept that was set aside because nobody knows it or its log is damaged; -1: until somebody removes it.',
    { atLeast: -1, update: 'cluster-wide' },
  ),
  config(
    'long',
    'log.stray.retention.bytes',
    '10737418240',
    'Of all that was set aside: beyond it the oldest go that have been there for a day; -1: no bound.',
    { atLeast: -1, update: 'cluster-wide' },
  ),
  config('long', 'log.scrub.interval.ms', '604800000', 'From one look through all logs to the next.', {
    atLeast: 1000,
    update: 'cluster-wide',
  }),
  config('boolean', 'log.preallocate', 'false', 'Default of the topic config preallocate.', {
    update: 'cluster-wide',
    ignored: 'not-served',
  }),
  config('long', 'log.retention.bytes', '-1', 'Default of the topic config retention.bytes.', {
    update: 'cluster-wide',
  }),
  config('long', 'log.retention.check.interval.ms', '300000', 'How often old segments are looked for.', { atLeast: 1 }),
  config('int', 'log.retention.hours', '168', 'log.retention.ms in hours, where neither it nor the minutes are set.'),
  config('int', 'log.retention.minutes', null, 'log.retention.ms in minutes, where it is not set.'),
  config('long', 'log.retention.ms', null, 'Default of the topic config retention.ms.', { update: 'cluster-wide' }),
  config('int', 'log.roll.hours', '168', 'log.roll.ms in hours, where it is not set.', { atLeast: 1 }),
  config('int', 'log.roll.jitter.hours', '0', 'log.roll.jitter.ms in hours, where it is not set.', { atLeast: 0 }),
  config('long', 'log.roll.jitter.ms', null, 'Default of the topic config segment.jitter.ms.', {
    update: 'cluster-wide',
  }),
  config('long', 'log.roll.ms', null, 'Default of the topic config segment.ms.', { update: 'cluster-wide' }),
  config('int', 'log.segment.bytes', '1073741824', 'Default of the topic config segment.bytes.', {
    atLeast: 1048576,
    update: 'cluster-wide',
  }),
  config('long', 'log.segment.delete.delay.ms', '60000', 'Default of the topic config file.delete.delay.ms.', {
    atLeast: 0,
    update: 'cluster-wide',
  }),
  config(
    'int',
    'max.decompressed.message.bytes',
    '2147483639',
    'Default of the topic config max.decompressed.message.bytes.',
    { atLeast: 1, atMost: 2147483639, update: 'cluster-wide' },
  ),
  config('int', 'message.max.bytes', '1048588', 'Default of the topic config max.message.bytes.', {
    atLeast: 0,
    update: 'cluster-wide',
  }),
  config(
    'int',
    'min.insync.replicas',
    '1',
    'Default of the topic config min.insync.replicas. Unset: 2 for topics of three or more copies, else 1.',
    { atLeast: 1, update: 'cluster-wide' },
  ),
  config('int', 'num.recovery.threads.per.data.dir', '2', 'Logs recovered at a time after an unclean stop.', {
    atLeast: 1,
    update: 'cluster-wide',
    ignored: 'own-way',
  }),
  config(
    'int',
    'producer.id.expiration.check.interval.ms',
    '600000',
    'How often expired producer ids are looked for.',
    { atLeast: 1, internal: true, ignored: 'own-way' },
  ),
  config(
    'int',
    'producer.id.expiration.ms',
    '86400000',
    'A producer that has sent nothing for this long is forgotten.',
    { atLeast: 1, update: 'cluster-wide' },
  ),
  config(
    'boolean',
    'unclean.leader.election.enable',
    'false',
    'Default of the topic config unclean.leader.election.enable.',
    { update: 'cluster-wide' },
  ),
]
