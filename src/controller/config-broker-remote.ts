import { type ConfigDef, config, LONG_MAX } from './config-def.ts'

/** Tiered storage. */
export const remoteConfigDefs: readonly ConfigDef[] = [
  config(
    'boolean',
    'follower.fetch.last.tiered.offset.enable',
    'false',
    'A new follower of a tiered partition begins at the last uploaded offset.',
    { update: 'cluster-wide', ignored: 'not-served' },
  ),
  config('long', 'log.local.retention.bytes', '-2', 'Default of the topic config local.retention.bytes.', {
    atLeast: -2,
    update: 'cluster-wide',
  }),
  config('long', 'log.local.retention.ms', '-2', 'Default of the topic config local.retention.ms.', {
    atLeast: -2,
    update: 'cluster-wide',
  }),
  config('long', 'log.remote.copy.lag.bytes', '-1', 'Default of the topic config remote.copy.lag.bytes.', {
    atLeast: -1,
    update: 'cluster-wide',
  }),
  config('long', 'log.remote.copy.lag.ms', '0', 'Default of the topic config remote.copy.lag.ms.', {
    atLeast: -1,
    update: 'cluster-wide',
  }),
  config('int', 'remote.fetch.max.wait.ms', '500', 'How long a Fetch waits for the tiered store.', {
    atLeast: 1,
    update: 'cluster-wide',
    ignored: 'not-served',
  }),
  config(
    'long',
    'remote.list.offsets.request.timeout.ms',
    '30000',
    'How long ListOffsets waits for the tiered store.',
    { atLeast: 1, update: 'cluster-wide', ignored: 'not-served' },
  ),
  config(
    'long',
    'remote.log.index.file.cache.total.size.bytes',
    '1073741824',
    'Disk space for indexes fetched from the tiered store.',
    { atLeast: 1, update: 'cluster-wide', ignored: 'not-served' },
  ),
  config(
    'long',
    'remote.log.index.file.cache.ttl.ms',
    '900000',
    'How long unused indexes from the tiered store are kept.',
    { atLeast: -1, internal: true, ignored: 'not-served' },
  ),
  config('int', 'remote.log.manager.copier.thread.pool.size', '10', 'Threads that upload to the tiered store.', {
    atLeast: 1,
    update: 'cluster-wide',
    ignored: 'jvm',
  }),
  config(
    'long',
    'remote.log.manager.copy.max.bytes.per.second',
    LONG_MAX,
    'Most bytes a second uploaded to the tiered store.',
    { atLeast: 1, update: 'cluster-wide', ignored: 'not-served' },
  ),
  config('int', 'remote.log.manager.copy.quota.window.num', '11', 'Windows over which the upload rate is measured.', {
    atLeast: 1,
    ignored: 'not-served',
  }),
  config('int', 'remote.log.manager.copy.quota.window.size.seconds', '1', 'Length of each of these windows.', {
    atLeast: 1,
    ignored: 'not-served',
  }),
  config(
    'int',
    'remote.log.manager.expiration.thread.pool.size',
    '10',
    'Threads that expire segments of the tiered store.',
    { atLeast: 1, update: 'cluster-wide', ignored: 'jvm' },
  ),
  config(
    'long',
    'remote.log.manager.fetch.max.bytes.per.second',
    LONG_MAX,
    'Most bytes a second fetched from the tiered store.',
    { atLeast: 1, update: 'cluster-wide', ignored: 'not-served' },
  ),
  config('int', 'remote.log.manager.fetch.quota.window.num', '11', 'Windows over which the fetch rate is measured.', {
    atLeast: 1,
    ignored: 'not-served',
  }),
  config('int', 'remote.log.manager.fetch.quota.window.size.seconds', '1', 'Length of each of these windows.', {
    atLeast: 1,
    ignored: 'not-served',
  }),
  config('int', 'remote.log.manager.follower.thread.pool.size', '2', 'Threads for followers of tiered partitions.', {
    atLeast: 1,
    update: 'cluster-wide',
    ignored: 'jvm',
  }),
  config(
    'long',
    'remote.log.manager.task.interval.ms',
    '30000',
    'How often the tiering of each partition is looked at.',
    { atLeast: 1, ignored: 'not-served' },
  ),
  config(
    'long',
    'remote.log.manager.task.retry.backoff.max.ms',
    '30000',
    'Longest wait before failed tiering work is tried again.',
    { atLeast: 1, internal: true, ignored: 'not-served' },
  ),
  config(
    'long',
    'remote.log.manager.task.retry.backoff.ms',
    '500',
    'First wait before failed tiering work is tried again.',
    { atLeast: 1, internal: true, ignored: 'not-served' },
  ),
  config('double', 'remote.log.manager.task.retry.jitter', '0.2', 'Random part of that wait.', {
    atLeast: 0,
    atMost: 0.5,
    internal: true,
    ignored: 'not-served',
  }),
  config('int', 'remote.log.manager.thread.pool.size', '2', 'Threads for tiering work.', {
    atLeast: 1,
    ignored: 'jvm',
  }),
  config(
    'int',
    'remote.log.metadata.custom.metadata.max.bytes',
    '128',
    'Most bytes of a store’s own data with a segment.',
    { atLeast: 0, ignored: 'not-served' },
  ),
  config(
    'string',
    'remote.log.metadata.manager.class.name',
    'org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager',
    'Java class that keeps the metadata of tiered segments.',
    { filled: true, ignored: 'jvm' },
  ),
  config('string', 'remote.log.metadata.manager.class.path', null, 'Where that Java class is found.', {
    ignored: 'jvm',
  }),
  config(
    'string',
    'remote.log.metadata.manager.impl.prefix',
    'rlmm.config.',
    'Prefix of the keys for that Java class.',
    { filled: true, ignored: 'jvm' },
  ),
  config('string', 'remote.log.metadata.manager.listener.name', null, 'Listener that this Java class uses.', {
    filled: true,
    ignored: 'jvm',
  }),
  config('int', 'remote.log.reader.max.pending.tasks', '100', 'Reads from the tiered store that may wait.', {
    atLeast: 1,
    ignored: 'not-served',
  }),
  config('int', 'remote.log.reader.threads', '10', 'Threads that read from the tiered store.', {
    atLeast: 1,
    update: 'cluster-wide',
    ignored: 'jvm',
  }),
  config('string', 'remote.log.storage.manager.class.name', null, 'Java class that reaches the tiered store.', {
    filled: true,
    ignored: 'jvm',
  }),
  config('string', 'remote.log.storage.manager.class.path', null, 'Where that Java class is found.', {
    ignored: 'jvm',
  }),
  config('string', 'remote.log.storage.manager.impl.prefix', 'rsm.config.', 'Prefix of the keys for that Java class.', {
    filled: true,
    ignored: 'jvm',
  }),
  config('boolean', 'remote.log.storage.system.enable', 'false', 'Serve tiered topics.', { ignored: 'not-served' }),
]
