import { withCluster } from '../connect.ts'
import { failWith } from '../exit-code.ts'
import { print } from '../output.ts'
import { counted, formatBytes } from '../quantity.ts'
import type { TopicFlags } from './command.ts'
import { partitionFacts } from './partition-facts.ts'

export async function removeTopics(names: readonly string[], flags: TopicFlags): Promise<void> {
  await withCluster(flags, async ({ admin }) => {
    if (!flags.yes) {
      const topics = await admin.describeTopics(names)
      const facts = await partitionFacts(admin, topics)
      const losses = topics.map(({ name, partitions }) => {
        const all = partitions.map(({ partition }) => facts.get({ topic: name, partition }))
        return {
          name,
          offsets: all.reduce((sum, fact) => sum + ((fact?.endOffset ?? 0) - (fact?.startOffset ?? 0)), 0),
          bytes: all.reduce((sum, fact) => sum + (fact?.bytes ?? 0), 0),
        }
      })
      const lines = losses.map(
        ({ name, offsets, bytes }) => `${name}: ${counted(offsets, 'record')}, ${formatBytes(bytes)} would be lost`,
      )
      await print(flags.format, { removed: false, topics: losses }, [...lines, 'nothing was done; add --yes to remove'])
      return
    }
    const results = await admin.deleteTopics(names)
    const errors = results.map(({ error }) => error)
    const removed = errors.every((error) => error === null)
    const shown = results.map(({ name, error }) => ({
      name,
      removed: error === null,
      ...(error === null ? {} : { error: error.code, message: error.message }),
    }))
    await print(
      flags.format,
      { removed, topics: shown },
      results.flatMap(({ name, error }) => (error === null ? [`removed ${name}`] : [])),
    )
    failWith(errors)
  })
}
