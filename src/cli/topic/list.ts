import { withCluster } from '../connect.ts'
import { print, table } from '../output.ts'
import type { TopicFlags } from './command.ts'

export async function listTopics(flags: TopicFlags): Promise<void> {
  await withCluster(flags, async ({ admin }) => {
    const topics = await admin.listTopics({ internal: flags.internal ?? false })
    topics.sort((left, right) => (left.name < right.name ? -1 : 1))
    const shown = topics.map(({ name, topicId, isInternal, partitions }) => ({
      name,
      topicId,
      internal: isInternal,
      partitions: partitions.length,
      replicas: partitions[0]?.replicas.length ?? 0,
      leaderless: partitions.filter(({ leader }) => leader < 0).length,
      underReplicated: partitions.filter(({ isr, replicas }) => isr.length < replicas.length).length,
    }))
    const rows = shown.map((topic) => [
      topic.name,
      topic.partitions,
      topic.replicas,
      topic.leaderless,
      topic.underReplicated,
    ])
    const lines = table(['TOPIC', 'PARTITIONS', 'REPLICAS', 'LEADERLESS', 'UNDER-REPLICATED'], rows)
    await print(flags.format, shown, topics.length === 0 ? ['no topics'] : lines)
  })
}
