import { ErrorCode } from '../../protocol/errors.ts'
import { withCluster } from '../connect.ts'
import { failWith } from '../exit-code.ts'
import { print } from '../output.ts'
import { counted } from '../quantity.ts'
import type { TopicFlags } from './command.ts'
import { parseCount, parseSettings } from './settings.ts'

export async function createTopics(names: readonly string[], flags: TopicFlags): Promise<void> {
  const partitions = parseCount('--partitions', flags.partitions)
  const replicationFactor = parseCount('--replicas', flags.replicas)
  const wanted = {
    ...(partitions === undefined ? {} : { partitions }),
    ...(replicationFactor === undefined ? {} : { replicationFactor }),
    configs: parseSettings(flags.config),
  }
  await withCluster(flags, async ({ admin }) => {
    const created = await admin.createTopics(names.map((name) => ({ name, ...wanted })))
    const isThere = (errorCode: number | undefined) => errorCode === ErrorCode.TOPIC_ALREADY_EXISTS
    const failed = created.filter(({ error }) => error !== null && !(flags.ifNotExists && isThere(error.errorCode)))
    const shown = created.map(({ name, error, note, topicId, partitions: count, replicationFactor: copies }) =>
      error === null
        ? { name, created: true, topicId, partitions: count, replicas: copies, ...(note === null ? {} : { note }) }
        : { name, created: false, error: error.code, message: error.message },
    )
    const lines = created.flatMap(({ name, error, note, partitions: count, replicationFactor: copies }) => {
      const made = `created ${name}: ${counted(count, 'partition')}, ${counted(copies, 'copy', 'copies')} of each`
      if (error === null) return [note === null ? made : `${made}. ${note}`]
      return failed.some((topic) => topic.name === name) ? [] : [`${name} exists already`]
    })
    await print(flags.format, shown, lines)
    failWith(failed.map(({ error }) => error))
  })
}
