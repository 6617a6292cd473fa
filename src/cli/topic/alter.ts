import type { Admin, ConfigChange } from '../../client/admin.ts'
import { withCluster } from '../connect.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
import { print } from '../output.ts'
import type { TopicFlags } from './command.ts'
import { parseCount, parseSettings } from './settings.ts'

export async function alterTopic(name: string, flags: TopicFlags): Promise<void> {
  const partitions = parseCount('--partitions', flags.partitions)
  const changes: ConfigChange[] = [
    ...Object.entries(parseSettings(flags.config)).map(([key, value]) => ({
      name: key,
      operation: 'set' as const,
      value,
    })),
    ...(flags.deleteConfig ?? []).map((key) => ({ name: key, operation: 'delete' as const })),
  ]
  if (partitions === undefined && changes.length === 0) {
    throw new CommandError(ExitCode.usage, 'nothing to change: give --config, --delete-config or --partitions')
  }
  await withCluster(flags, async ({ admin }) => {
    await refuseUnknown(admin, name, flags.deleteConfig ?? [])
    if (changes.length > 0) await admin.alterConfigs({ kind: 'topic', name }, changes)
    if (partitions !== undefined) {
      const [result] = await admin.createPartitions([{ name, partitions }])
      if (result?.error) throw result.error
    }
    const lines = [
      ...changes.map((change) =>
        change.operation === 'set' ? `${change.name}=${change.value}` : `${change.name} back to its default`,
      ),
      ...(partitions === undefined ? [] : [`${partitions} partitions`]),
    ]
    await print(
      flags.format,
      { name, changes, partitions: partitions ?? null },
      lines.map((line) => `${name}: ${line}`),
    )
  })
}

/** A cluster takes any key away without a word, so a mistyped one would look as if it had been done. */
async function refuseUnknown(admin: Admin, name: string, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return
  const [topic] = await admin.describeConfigs([{ kind: 'topic', name }])
  const unknown = keys.find((key) => topic?.configs.every((config) => config.name !== key))
  if (unknown !== undefined) throw new CommandError(ExitCode.failed, `topic ${name} has no setting ${unknown}`)
}
