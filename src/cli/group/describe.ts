import type { GroupDescription } from '../../client/group-admin.ts'
import { withCluster } from '../connect.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
import { print, table } from '../output.ts'
import { formatCount } from '../quantity.ts'
import type { GroupFlags } from './command.ts'
import { lagOf, type PartitionLag } from '../../client/group-lag.ts'

export async function describeGroups(groupIds: readonly string[], flags: GroupFlags): Promise<void> {
  await withCluster(flags, async ({ admin }) => {
    const groups = await admin.groups.describe(groupIds)
    const missing = groups.filter(({ state }) => state === 'Dead')
    const present = groups.filter(({ state }) => state !== 'Dead')
    const lags = await Promise.all(present.map((group) => lagOf(admin, group)))
    const json = present.map((group, index) => ({ ...group, partitions: lags[index] }))
    const lines = present.flatMap((group, index) => [...(index > 0 ? [''] : []), ...linesOf(group, lags[index] ?? [])])
    if (present.length > 0) await print(flags.format, json, lines)
    if (missing.length > 0) {
      throw new CommandError(ExitCode.failed, `no such group: ${missing.map(({ groupId }) => groupId).join(', ')}`)
    }
  })
}

function linesOf(group: GroupDescription, partitions: readonly PartitionLag[]): string[] {
  const total = partitions.reduce((sum, { lag }) => sum + lag, 0)
  const members = `${group.members.length} ${group.members.length === 1 ? 'member' : 'members'}`
  const head = `${group.groupId}  ${group.state}, ${members}${group.protocol === '' ? '' : `, ${group.protocol}`}, lag ${formatCount(total)}`
  const rows = partitions.map(({ topic, partition, committed, endOffset, lag, memberId, clientId, host }) => [
    topic,
    partition,
    committed ?? '-',
    endOffset,
    lag,
    memberId === null ? '-' : `${clientId}${host}`,
    memberId ?? '-',
  ])
  const heads = ['TOPIC', 'PARTITION', 'COMMITTED', 'END', 'LAG', 'CLIENT', 'MEMBER']
  return [head, ...(rows.length === 0 ? [] : table(heads, rows).map((line) => `  ${line}`))]
}
