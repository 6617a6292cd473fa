import { withCluster } from '../connect.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
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
    const failed = results.filter(({ error }) => error !== null)
    const shown = results.map(({ name, error }) => ({
      name,
      removed: error === null,
      ...(error === null ? {} : { error: error.code }),
    }))
    await print(
      flags.format,
      { removed: true, topics: shown },
      results.map(({ name, error }) => error?.message ?? `removed ${name}`),
    )
    if (failed.length > 0)
      throw new CommandError(ExitCode.failed, `${failed.length} of ${counted(names.length, 'topic')} not removed`)
  })
}
