import type { ConfigEntry } from '../../client/admin.ts'
import type { TopicInfo } from '../../client/metadata.ts'
import type { PartitionMap } from '../../client/topic-partitions.ts'
import { withCluster } from '../connect.ts'
import { print, table } from '../output.ts'
import { counted, formatBytes } from '../quantity.ts'
import type { TopicFlags } from './command.ts'
import { type PartitionFacts, partitionFacts } from './partition-facts.ts'

/** Shown also where it has its default: what an acknowledgement means is never a detail. */
const ALWAYS_SHOWN: ReadonlySet<string> = new Set([
  'durability.mode',
  'min.insync.replicas',
  'cleanup.policy',
  'retention.ms',
])

export async function describeTopics(names: readonly string[], flags: TopicFlags): Promise<void> {
  await withCluster(flags, async ({ admin }) => {
    const topics = await admin.describeTopics(names)
    const [facts, configs] = await Promise.all([
      partitionFacts(admin, topics),
      admin.describeConfigs(names.map((name) => ({ kind: 'topic' as const, name }))),
    ])
    const shown = topics.map((topic, index) => {
      const all = configs[index]?.configs ?? []
      return { topic, settings: flags.all ? all : all.filter(isWorthShowing) }
    })
    const json = shown.map(({ topic, settings }) => jsonOf(topic, settings, facts))
    await print(
      flags.format,
      json,
      shown.flatMap(({ topic, settings }) => linesOf(topic, settings, facts)),
    )
  })
}

function isWorthShowing({ name, source }: ConfigEntry): boolean {
  return source !== 'default' || ALWAYS_SHOWN.has(name)
}

function jsonOf(topic: TopicInfo, settings: readonly ConfigEntry[], facts: PartitionMap<PartitionFacts>): unknown {
  return {
    name: topic.name,
    topicId: topic.topicId,
    internal: topic.isInternal,
    settings: Object.fromEntries(settings.map(({ name, value, source }) => [name, { value, source }])),
    partitions: topic.partitions.map(({ partition, leader, leaderEpoch, replicas, isr }) => ({
      partition,
      leader,
      leaderEpoch,
      replicas,
      isr,
      ...facts.get({ topic: topic.name, partition }),
    })),
  }
}

function linesOf(topic: TopicInfo, settings: readonly ConfigEntry[], facts: PartitionMap<PartitionFacts>): string[] {
  const all = topic.partitions.map(({ partition }) => facts.get({ topic: topic.name, partition }))
  const bytes = all.reduce((sum, fact) => sum + (fact?.bytes ?? 0), 0)
  const records = all.reduce((sum, fact) => sum + ((fact?.endOffset ?? 0) - (fact?.startOffset ?? 0)), 0)
  const rows = topic.partitions.map(({ partition, leader, leaderEpoch, replicas, isr }, index) => [
    partition,
    leader < 0 ? 'none' : leader,
    leaderEpoch,
    replicas.join(','),
    isr.join(','),
    all[index]?.startOffset ?? '-',
    all[index]?.endOffset ?? '-',
    formatBytes(all[index]?.bytes ?? 0),
  ])
  return [
    `${topic.name}  ${counted(topic.partitions.length, 'partition')}, ${counted(records, 'offset')} in use, ${formatBytes(bytes)} a copy, id ${topic.topicId}`,
    ...settings.map(
      ({ name, value, source }) => `  ${name}=${value ?? '(hidden)'}${source === 'default' ? '' : `  (${source})`}`,
    ),
    ...table(['PARTITION', 'LEADER', 'EPOCH', 'REPLICAS', 'IN SYNC', 'START', 'END', 'SIZE'], rows).map(
      (line) => `  ${line}`,
    ),
  ]
}
