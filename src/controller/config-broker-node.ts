import { type ConfigDef, config, LONG_MAX } from './config-def.ts'

const RACK_AWARE = 'org.apache.kafka.common.replica.RackAwareReplicaSelector'

/** Who this node is, its quorum and metadata log, topics, replication. */
export const nodeConfigDefs: readonly ConfigDef[] = [
  config(
    'boolean',
    'auto.create.topics.enable',
    'false',
    'Create a topic when a client first asks for it. Off by default: a mistyped name must not become a topic.',
  ),
  config(
    'boolean',
    'auto.leader.rebalance.enable',
    'true',
    'Give leadership back to the preferred replica of each partition in the background.',
  ),
  config('int', 'broker.heartbeat.interval.ms', '500', 'How often a broker reports to the controller.'),
  config('int', 'broker.id', '-1', 'Older name of node.id.'),
  config('string', 'broker.rack', null, 'Zone of this broker. Copies of a partition are spread over zones first.'),
  config(
    'int',
    'broker.session.timeout.ms',
    '3000',
    'After this silence the controller takes a broker for dead and moves its leaderships.',
  ),
  config('boolean', 'controlled.shutdown.enable', 'true', 'Hand over leaderships before a stop.', {
    ignored: 'own-way',
  }),
  config(
    'list',
    'controller.listener.names',
    null,
    'Names of the listeners on which controllers talk, the first one for connecting.',
  ),
  config(
    'long',
    'controller.performance.always.log.threshold.ms',
    '2000',
    'Controller work slower than this is always logged.',
    { atLeast: 0, internal: true, ignored: 'jvm' },
  ),
  config(
    'long',
    'controller.performance.sample.period.ms',
    '60000',
    'How often the controller’s performance is logged.',
    { atLeast: 100, internal: true, ignored: 'jvm' },
  ),
  config(
    'int',
    'controller.quorum.append.linger.ms',
    '25',
    'How long a controller may wait for more records before it writes a batch.',
    { atLeast: 0, ignored: 'own-way' },
  ),
  config(
    'boolean',
    'controller.quorum.auto.join.enable',
    'false',
    'A controller that is not a voter asks to become one.',
  ),
  config('list', 'controller.quorum.bootstrap.servers', '', 'Addresses through which the controllers are found.'),
  config('int', 'controller.quorum.election.backoff.max.ms', '1000', 'Longest random wait before another election.', {
    atLeast: 0,
  }),
  config('int', 'controller.quorum.election.timeout.ms', '400', 'How long a candidate waits for votes.', {
    atLeast: 0,
  }),
  config('int', 'controller.quorum.fetch.max.bytes', '1048576', 'Most bytes of the metadata log in one fetch.', {
    atLeast: 1,
  }),
  config(
    'int',
    'controller.quorum.fetch.snapshot.max.bytes',
    '1048576',
    'Most bytes of a metadata snapshot in one fetch.',
    { atLeast: 1 },
  ),
  config(
    'int',
    'controller.quorum.fetch.timeout.ms',
    '1000',
    'After this silence of the leader a controller stands for election.',
    { atLeast: 0 },
  ),
  config(
    'int',
    'controller.quorum.request.timeout.ms',
    '1000',
    'How long a controller waits for an answer of another.',
    { atLeast: 0 },
  ),
  config(
    'int',
    'controller.quorum.retry.backoff.ms',
    '20',
    'Wait before a failed request to a controller is sent again.',
    { atLeast: 0 },
  ),
  config(
    'boolean',
    'controller.quorum.moved',
    'false',
    'The data folder was moved here, and nothing uses what it was copied from: this voter takes part at once, also where no leader is there to confirm its new address. Never set it while the original may run.',
  ),
  config(
    'list',
    'controller.quorum.voters',
    '',
    'Fixed set of voters, id@host:port each. Leave it unset for voters that can change.',
  ),
  config('int', 'controller.quota.window.num', '11', 'Windows over which the rate of topic changes is measured.', {
    atLeast: 1,
    ignored: 'not-served',
  }),
  config('int', 'controller.quota.window.size.seconds', '1', 'Length of each of these windows.', {
    atLeast: 1,
    ignored: 'not-served',
  }),
  config('int', 'controller.socket.timeout.ms', '30000', 'How long a broker waits for the controller.', {
    ignored: 'own-way',
  }),
  config('list', 'cordoned.log.dirs', '', 'Data directories that take no new partitions; * is all.', {
    update: 'per-broker',
  }),
  config(
    'int',
    'default.replication.factor',
    '1',
    'Copies of a topic made without a number of its own. Unset: 3 as soon as there are three brokers, until then one on each.',
  ),
  config('boolean', 'delete.topic.enable', 'true', 'Allow topics to be deleted.'),
  config('list', 'early.start.listeners', null, 'Listeners that open before the node is ready.', {
    ignored: 'not-served',
  }),
  config(
    'int',
    'initial.broker.registration.timeout.ms',
    '60000',
    'A broker that cannot register within this time gives up.',
    { ignored: 'own-way' },
  ),
  config(
    'long',
    'internal.metadata.delete.delay.millis',
    '60000',
    'How long a deleted piece of the metadata log stays on disk.',
    { internal: true, ignored: 'own-way' },
  ),
  config('int', 'internal.metadata.log.segment.bytes', null, 'metadata.log.segment.bytes without its lower bound.', {
    internal: true,
    ignored: 'own-way',
  }),
  config('int', 'internal.metadata.max.batch.size.in.bytes', '8388608', 'Largest batch of metadata records.', {
    internal: true,
    ignored: 'own-way',
  }),
  config(
    'long',
    'follower.replication.throttled.rate',
    LONG_MAX,
    'Bytes a second that throttled followers may fetch.',
    { atLeast: 0, update: 'cluster-wide', dynamicOnly: true },
  ),
  config(
    'long',
    'leader.replication.throttled.rate',
    LONG_MAX,
    'Bytes a second at which throttled replicas are served.',
    { atLeast: 0, update: 'cluster-wide', dynamicOnly: true },
  ),
  config(
    'long',
    'leader.imbalance.check.interval.seconds',
    '300',
    'How often leaderships are given back to preferred replicas.',
    { atLeast: 1 },
  ),
  config('list', 'log.dir', '/tmp/kafka-logs', 'Data directory when log.dirs is unset.'),
  config(
    'long',
    'log.dir.failure.timeout.ms',
    '30000',
    'A node that cannot report a failed data directory within this time stops.',
    { atLeast: 1, ignored: 'own-way' },
  ),
  config('list', 'log.dirs', null, 'Data directories. One is served.'),
  config('string', 'metadata.log.dir', null, 'Directory of the metadata log; the first data directory when unset.'),
  config(
    'long',
    'metadata.log.max.record.bytes.between.snapshots',
    '20971520',
    'A metadata snapshot is taken after this many bytes of new records.',
    { atLeast: 1 },
  ),
  config(
    'long',
    'metadata.log.max.snapshot.interval.ms',
    '3600000',
    'A metadata snapshot is taken at least this often; 0: by bytes only.',
    { atLeast: 0 },
  ),
  config(
    'int',
    'metadata.log.segment.bytes',
    '1073741824',
    'Size at which a new segment of the metadata log is begun.',
    { atLeast: 8388608 },
  ),
  config('long', 'metadata.log.segment.ms', '604800000', 'Age at which a new segment of the metadata log is begun.', {
    ignored: 'own-way',
  }),
  config(
    'int',
    'metadata.max.idle.interval.ms',
    '500',
    'How often an idle controller writes an empty record; 0: never.',
    { atLeast: 0, ignored: 'not-served' },
  ),
  config(
    'long',
    'metadata.max.retention.bytes',
    '104857600',
    'Size of metadata log and snapshots beyond which the oldest are removed.',
    { ignored: 'own-way' },
  ),
  config(
    'long',
    'metadata.max.retention.ms',
    '604800000',
    'Age beyond which metadata snapshots and log segments are removed.',
    { ignored: 'own-way' },
  ),
  config('int', 'node.id', null, 'Number of this node, unique in the cluster.', { atLeast: 0 }),
  config('int', 'num.partitions', '1', 'Partitions of a topic made without a number of its own.', { atLeast: 1 }),
  config('int', 'num.replica.alter.log.dirs.threads', null, 'Threads that move replicas between data directories.', {
    ignored: 'jvm',
  }),
  config('int', 'num.replica.fetchers', '1', 'Connections over which a follower fetches from each leader.', {
    atLeast: 1,
    update: 'cluster-wide',
    ignored: 'jvm',
  }),
  config('list', 'process.roles', null, 'What this node is: broker, controller, or both.', {
    oneOf: ['broker', 'controller'],
  }),
  config(
    'long',
    'replica.alter.log.dirs.io.max.bytes.per.second',
    LONG_MAX,
    'Bytes a second for moves between data directories.',
    { atLeast: 0, update: 'cluster-wide', dynamicOnly: true, ignored: 'own-way' },
  ),
  config('int', 'replica.fetch.backoff.ms', '1000', 'Wait of a follower after a failed fetch.', {
    atLeast: 0,
    ignored: 'own-way',
  }),
  config(
    'int',
    'replica.fetch.max.bytes',
    '1048576',
    'Bytes a follower fetches of one partition; a larger batch still comes whole.',
    { atLeast: 0 },
  ),
  config('int', 'replica.fetch.min.bytes', '1', 'Bytes for which a follower’s fetch waits.'),
  config('int', 'replica.fetch.response.max.bytes', '10485760', 'Bytes in the answer to a follower’s fetch.', {
    atLeast: 0,
  }),
  config('int', 'replica.fetch.wait.max.ms', '500', 'How long a follower’s fetch may wait for new records.'),
  config('long', 'replica.high.watermark.checkpoint.interval.ms', '5000', 'How often high watermarks are noted down.'),
  config(
    'long',
    'replica.lag.time.max.ms',
    '30000',
    'A follower that has not caught up for this long leaves the in-sync replicas.',
  ),
  config('string', 'replica.selector.class', null, 'Set: consumers read from the replica in their own zone.', {
    check: (value, name) =>
      value === RACK_AWARE ? null : `${name} is ${value}; the one selector that there is here is ${RACK_AWARE}`,
  }),
  config('int', 'replica.socket.receive.buffer.bytes', '65536', 'Socket buffer of a follower.', { ignored: 'jvm' }),
  config('int', 'replica.socket.timeout.ms', '30000', 'How long a follower waits for an answer.', {
    ignored: 'own-way',
  }),
  config('long', 'server.max.startup.time.ms', LONG_MAX, 'A node that is not ready within this time gives up.', {
    atLeast: 0,
    internal: true,
    ignored: 'not-served',
  }),
  config('long', 'unclean.leader.election.interval.ms', '300000', 'How often unclean elections are looked for.', {
    atLeast: 1,
    internal: true,
  }),
  config('boolean', 'unstable.api.versions.enable', 'false', 'Serve API versions that are still in work.', {
    internal: true,
    ignored: 'not-served',
  }),
  config('boolean', 'unstable.feature.versions.enable', 'false', 'Allow feature levels that are still in work.', {
    internal: true,
    ignored: 'not-served',
  }),
]
