/** Configs of topics and brokers. */
import { until } from '../../support/process.ts'
import type { Case } from '../case.ts'
import type { Context } from '../context.ts'
import type { Config } from '../protocol.ts'
import { tell } from './tell.ts'
import { byText } from './values.ts'

/** By name, so that one that only one server has is one difference. */
function byName(configs: readonly Config[]): Record<string, Omit<Config, 'name'>> {
  return Object.fromEntries([...configs].sort(byText(({ name }) => name)).map(({ name, ...rest }) => [name, rest]))
}

async function configsOf(context: Context, kind: 'topic' | 'broker', name: string) {
  return byName((await (await context.adapter()).ask('describeConfigs', { kind, name })).configs)
}

/** Settings of a broker that mean the same to both; the others are of threads and buffers that only one has. */
const brokerConfigs = [
  'auto.create.topics.enable',
  'compression.type',
  'default.replication.factor',
  'delete.topic.enable',
  'group.max.session.timeout.ms',
  'group.min.session.timeout.ms',
  'log.cleaner.delete.retention.ms',
  'log.cleanup.policy',
  'log.message.timestamp.type',
  'log.retention.bytes',
  'log.retention.ms',
  'log.segment.bytes',
  'message.max.bytes',
  'min.insync.replicas',
  'num.partitions',
  'offsets.retention.minutes',
  'offsets.topic.num.partitions',
  'unclean.leader.election.enable',
]

const ofTopic: Case = {
  name: 'describe-topic-configs',
  title: 'all configs of a topic: names, values, where they come from',
  needs: ['describeConfigs'],
  async run(context) {
    return configsOf(context, 'topic', await context.topic('t', 1, { 'retention.ms': '123456' }))
  },
}

const ofBroker: Case = {
  name: 'describe-broker-configs',
  title: 'configs of a broker',
  needs: ['describeConfigs'],
  async run(context) {
    const all = await configsOf(context, 'broker', '1')
    return Object.fromEntries(brokerConfigs.map((name) => [name, all[name]]))
  },
}

const ofUnknown: Case = {
  name: 'describe-unknown-configs',
  title: 'configs of a topic that does not exist',
  needs: ['describeConfigs'],
  async run(context) {
    const adapter = await context.adapter()
    return tell(() => adapter.ask('describeConfigs', { kind: 'topic', name: context.name('missing') }))
  },
}

const alter: Case = {
  name: 'alter-configs',
  title: 'configs are set, changed and taken away',
  needs: ['alterConfigs', 'describeConfigs'],
  async run(context) {
    const topic = await context.topic('t', 1, { 'retention.ms': '123456', 'max.message.bytes': '2000000' })
    const adapter = await context.adapter()
    const set = { 'retention.ms': '654321', 'cleanup.policy': 'compact,delete' }
    await adapter.ask('alterConfigs', { kind: 'topic', name: topic, set, remove: ['max.message.bytes'] })
    // A Kafka's broker hears of it after its controller has answered: who reads at once looks again.
    const now = await until(
      'the change shows',
      async () => {
        const configs = await configsOf(context, 'topic', topic)
        return configs['retention.ms']?.value === '654321' ? configs : null
      },
      { timeoutMs: 15_000, everyMs: 20 },
    )
    return ['retention.ms', 'cleanup.policy', 'max.message.bytes'].map((name) => now[name])
  },
}

function badAlter(name: string, title: string, set: Record<string, string>, exists = true): Case {
  return {
    name: `alter-${name}`,
    title,
    needs: ['alterConfigs'],
    async run(context) {
      const topic = exists ? await context.topic('t') : context.name('missing')
      const adapter = await context.adapter()
      return tell(() => adapter.ask('alterConfigs', { kind: 'topic', name: topic, set, remove: [] }))
    },
  }
}

export const configCases: readonly Case[] = [
  ofTopic,
  ofBroker,
  ofUnknown,
  alter,
  badAlter('bad-value', 'a config is set to a value that is none', { 'retention.ms': 'soon' }),
  badAlter('unknown-config', 'a config that does not exist is set', { 'no.such.config': '1' }),
  badAlter('unknown-topic', 'a config of a topic that does not exist is set', { 'retention.ms': '1' }, false),
]
