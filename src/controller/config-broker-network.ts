import { type ConfigDef, config, INT_MAX } from './config-def.ts'

/** Listeners, sockets, limits, quotas, metrics. */
export const networkConfigDefs: readonly ConfigDef[] = [
  config(
    'list',
    'advertised.listeners',
    null,
    'Addresses that clients are told to use. Unset: each client is told the address on which it reached us.',
  ),
  config('class', 'alter.config.policy.class.name', null, 'Java class that may refuse config changes.', {
    ignored: 'jvm',
  }),
  config(
    'int',
    'alter.log.dirs.replication.quota.window.num',
    '11',
    'Windows over which the rate of moves between directories is measured.',
    { atLeast: 1, ignored: 'not-served' },
  ),
  config('int', 'alter.log.dirs.replication.quota.window.size.seconds', '1', 'Length of each of these windows.', {
    atLeast: 1,
    ignored: 'not-served',
  }),
  config('int', 'background.threads', '10', 'Threads for background work.', {
    atLeast: 1,
    update: 'cluster-wide',
    ignored: 'jvm',
  }),
  config('class', 'client.quota.callback.class', null, 'Java class that decides client quotas.', { ignored: 'jvm' }),
  config('long', 'connections.max.idle.ms', '600000', 'A connection without a request for this long is closed.'),
  config('class', 'create.topic.policy.class.name', null, 'Java class that may refuse new topics.', { ignored: 'jvm' }),
  config(
    'int',
    'delete.records.purgatory.purge.interval.requests',
    '1',
    'Bookkeeping of waiting DeleteRecords requests.',
    { ignored: 'jvm' },
  ),
  config('int', 'fetch.max.bytes', '57671680', 'Most bytes in the answer to one Fetch, whatever the client asks for.', {
    atLeast: 1024,
  }),
  config('int', 'fetch.purgatory.purge.interval.requests', '1000', 'Bookkeeping of waiting Fetch requests.', {
    ignored: 'jvm',
  }),
  config('string', 'inter.broker.listener.name', null, 'Listener on which brokers talk to each other.'),
  config('int', 'kafka.metrics.polling.interval.secs', '10', 'How often Java metrics reporters are polled.', {
    atLeast: 1,
    ignored: 'jvm',
  }),
  config('list', 'kafka.metrics.reporters', '', 'Java classes that report metrics.', { ignored: 'jvm' }),
  config(
    'string',
    'listener.security.protocol.map',
    'SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT',
    'Security protocol of each listener name.',
    { update: 'per-broker' },
  ),
  config(
    'list',
    'listeners',
    'PLAINTEXT://:9092',
    'Addresses on which this node listens, each with its listener name.',
    { update: 'per-broker' },
  ),
  config('int', 'max.connection.creation.rate', INT_MAX, 'Most new connections a second.', {
    atLeast: 0,
    update: 'cluster-wide',
  }),
  config('int', 'max.connections', INT_MAX, 'Most connections at a time.', { atLeast: 0, update: 'cluster-wide' }),
  config('int', 'max.connections.per.ip', INT_MAX, 'Most connections from one address.', {
    atLeast: 0,
    update: 'cluster-wide',
  }),
  config(
    'string',
    'max.connections.per.ip.overrides',
    '',
    'Exceptions from max.connections.per.ip: address:number pairs.',
    { update: 'cluster-wide' },
  ),
  config('int', 'max.incremental.fetch.session.cache.slots', '1000', 'Most fetch sessions at a time.', { atLeast: 0 }),
  config(
    'int',
    'max.request.partition.size.limit',
    '2000',
    'Most partitions in the answer to one DescribeTopicPartitions.',
    { atLeast: 1 },
  ),
  config(
    'list',
    'metric.reporters',
    'org.apache.kafka.common.metrics.JmxReporter',
    'Java classes that report metrics.',
    { update: 'cluster-wide', ignored: 'jvm' },
  ),
  config('int', 'metrics.num.samples', '2', 'Samples behind each Java metric.', { atLeast: 1, ignored: 'jvm' }),
  config('string', 'metrics.recording.level', 'INFO', 'How many Java metrics are kept.', { ignored: 'jvm' }),
  config('long', 'metrics.sample.window.ms', '30000', 'Time window of a sample of a Java metric.', {
    atLeast: 1,
    ignored: 'jvm',
  }),
  config('int', 'num.io.threads', '8', 'Threads that handle requests.', {
    atLeast: 1,
    update: 'cluster-wide',
    ignored: 'jvm',
  }),
  config('int', 'num.network.threads', '3', 'Threads that read and write sockets.', {
    atLeast: 1,
    update: 'cluster-wide',
    ignored: 'jvm',
  }),
  config('int', 'producer.purgatory.purge.interval.requests', '1000', 'Bookkeeping of waiting Produce requests.', {
    ignored: 'jvm',
  }),
  config(
    'long',
    'queued.max.request.bytes',
    '-1',
    'Most bytes of requests in work; beyond it sockets are not read. -1: the node’s own bound.',
  ),
  config('int', 'queued.max.requests', '500', 'Most requests waiting for a thread.', { atLeast: 1, ignored: 'jvm' }),
  config('int', 'quota.window.num', '11', 'Windows over which client rates are measured.', {
    atLeast: 1,
    ignored: 'not-served',
  }),
  config('int', 'quota.window.size.seconds', '1', 'Length of each of these windows.', {
    atLeast: 1,
    ignored: 'not-served',
  }),
  config('int', 'replication.quota.window.num', '11', 'Windows over which replication is measured for throttling.', {
    atLeast: 1,
    ignored: 'not-served',
  }),
  config('int', 'replication.quota.window.size.seconds', '1', 'Length of each of these windows.', {
    atLeast: 1,
    ignored: 'not-served',
  }),
  config('int', 'request.timeout.ms', '30000', 'How long this node waits for an answer of another.'),
  config('long', 'socket.connection.setup.timeout.max.ms', '30000', 'Longest wait for a connection to another node.', {
    ignored: 'own-way',
  }),
  config('long', 'socket.connection.setup.timeout.ms', '10000', 'First wait for a connection to another node.', {
    ignored: 'own-way',
  }),
  config('int', 'socket.listen.backlog.size', '50', 'Connections that may wait to be accepted.', {
    atLeast: 1,
    ignored: 'jvm',
  }),
  config('int', 'socket.receive.buffer.bytes', '102400', 'Receive buffer of a socket; -1 is the system’s.', {
    ignored: 'jvm',
  }),
  config('int', 'socket.request.max.bytes', '104857600', 'Largest request; a larger one closes the connection.', {
    atLeast: 1,
  }),
  config('int', 'socket.send.buffer.bytes', '102400', 'Send buffer of a socket; -1 is the system’s.', {
    ignored: 'jvm',
  }),
  config('int', 'telemetry.max.bytes', '1048576', 'Largest push of client metrics, after compression.', {
    atLeast: 1,
    ignored: 'not-served',
  }),
]
