import { type ConfigDef, config } from './config-def.ts'

const interval = { atLeast: 0 }
const positive = { atLeast: 1 }
const later = { atLeast: 1, ignored: 'not-served' } as const

/** All configs of a group resource in Kafka 4.4.0. None is about classic groups: those members bring their own timeouts. */
export const groupConfigDefs: readonly ConfigDef[] = [
  config(
    'int',
    'consumer.assignment.interval.ms',
    '1000',
    'Shortest time between two assignments of a consumer group.',
    interval,
  ),
  config('boolean', 'consumer.assignor.offload.enable', 'true', 'Compute assignments aside.', { internal: true }),
  config('int', 'consumer.heartbeat.interval.ms', '5000', 'How often members of a consumer group report.', positive),
  config(
    'int',
    'consumer.session.timeout.ms',
    '45000',
    'After this silence a member of a consumer group is out.',
    positive,
  ),
  config(
    'boolean',
    'errors.deadletterqueue.copy.record.enable',
    'false',
    'Copy the whole record to the dead letter topic.',
    {
      ignored: 'not-served',
    },
  ),
  config('string', 'errors.deadletterqueue.topic.name', '', 'Where a share group puts records that it gave up on.', {
    ignored: 'not-served',
  }),
  config(
    'int',
    'share.assignment.interval.ms',
    '1000',
    'Shortest time between two assignments of a share group.',
    interval,
  ),
  config('boolean', 'share.assignor.offload.enable', 'true', 'Compute assignments aside.', { internal: true }),
  config(
    'string',
    'share.auto.offset.reset',
    'latest',
    'Where a new share group begins: latest, earliest or by_duration:PnDTnHnMn.nS.',
    {
      check: shareOffsetReset,
      ignored: 'not-served',
    },
  ),
  config('int', 'share.delivery.count.limit', '5', 'How often a record is delivered before it is given up.', {
    atLeast: 2,
    ignored: 'not-served',
  }),
  config('int', 'share.heartbeat.interval.ms', '5000', 'How often members of a share group report.', later),
  config(
    'string',
    'share.isolation.level',
    'read_uncommitted',
    'Whether a share group sees records of undecided transactions.',
    {
      oneOf: ['read_committed', 'read_uncommitted'],
      ignored: 'not-served',
    },
  ),
  config(
    'int',
    'share.partition.max.record.locks',
    '2000',
    'Records of one partition that a share group may hold at a time.',
    {
      atLeast: 100,
      ignored: 'not-served',
    },
  ),
  config('int', 'share.record.lock.duration.ms', '30000', 'How long a delivered record stays with its consumer.', {
    atLeast: 1000,
    ignored: 'not-served',
  }),
  config('boolean', 'share.renew.acknowledge.enable', 'true', 'Consumers may ask for more time with a record.', {
    ignored: 'not-served',
  }),
  config('int', 'share.session.timeout.ms', '45000', 'After this silence a member of a share group is out.', later),
  config('long', 'streams.acceptable.recovery.lag', '10000', 'Lag at which a replica counts as caught up.', {
    atLeast: 0,
    internal: true,
  }),
  config(
    'int',
    'streams.assignment.interval.ms',
    '1000',
    'Shortest time between two assignments of a streams group.',
    interval,
  ),
  config('string', 'streams.assignor.name', null, 'How tasks of a streams group are spread.', {
    ignored: 'not-served',
  }),
  config('boolean', 'streams.assignor.offload.enable', 'true', 'Compute assignments aside.', { internal: true }),
  config('int', 'streams.heartbeat.interval.ms', '5000', 'How often members of a streams group report.', later),
  config('int', 'streams.initial.rebalance.delay.ms', '3000', 'How long a new streams group waits for more members.', {
    atLeast: 0,
    ignored: 'not-served',
  }),
  config('int', 'streams.num.standby.replicas', '0', 'Standby copies of each task’s state.', {
    atLeast: 0,
    ignored: 'not-served',
  }),
  config('int', 'streams.num.warmup.replicas', '2', 'Copies that may warm up at a time.', {
    atLeast: 0,
    internal: true,
  }),
  config('list', 'streams.rack.aware.assignment.tags', '', 'Client tags over which standby tasks are spread.', {
    ignored: 'not-served',
  }),
  config('int', 'streams.session.timeout.ms', '45000', 'After this silence a member of a streams group is out.', later),
  config('int', 'streams.task.offset.interval.ms', '60000', 'How often members report task offsets.', {
    atLeast: 1,
    internal: true,
  }),
]

function shareOffsetReset(value: string, name: string): string | null {
  if (value === 'latest' || value === 'earliest') return null
  const duration = /^by_duration:P(?!$)(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?$/
  if (duration.test(value)) return null
  const allowed = "either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'"
  return `Invalid value \`${value}\` for configuration ${name}. The value must be ${allowed}.`
}

/** The broker keys that give group configs their defaults; those not named here have the broker key of their own name. */
export const groupSynonyms: ReadonlyMap<string, string> = new Map([
  ...groupConfigDefs
    .filter(({ name }) => /^(consumer|share|streams)\./.test(name))
    .filter(({ name }) => !/auto\.offset\.reset|isolation\.level|renew\.acknowledge/.test(name))
    .map(({ name }): [string, string] => [name, `group.${name}`]),
  ['streams.assignor.name', 'group.streams.assignors'],
])

/** All configs of a client metrics subscription (KIP-714). */
export const clientMetricsConfigDefs: readonly ConfigDef[] = [
  config('int', 'interval.ms', '300000', 'How often matching clients push their metrics.', { ignored: 'not-served' }),
  config('list', 'match', '', 'Which clients: selector=regular expression pairs; all when empty.', {
    ignored: 'not-served',
  }),
  config('list', 'metrics', '', 'Prefixes of the metrics that are pushed; * is all.', { ignored: 'not-served' }),
]
