import type { ListedGroup } from '../../client/group-admin.ts'
import { withCluster } from '../connect.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
import { print, table } from '../output.ts'
import { formatCount } from '../quantity.ts'
import { formatDuration } from '../records/time-text.ts'
import type { GroupFlags } from './command.ts'

export async function listGroups(flags: GroupFlags): Promise<void> {
  const { atRisk: onlyAtRisk = false } = flags
  await withCluster(flags, async ({ admin }) => {
    const groups = await admin.groups.list({ onlyAtRisk })
    // A broker that does not know the question has listed all it has.
    if (onlyAtRisk && groups.some(({ risk }) => risk === null)) {
      throw new CommandError(
        ExitCode.failed,
        'this cluster does not tell which groups are at risk: that is Millrace only',
      )
    }
    groups.sort((left, right) => (left.groupId < right.groupId ? -1 : 1))
    await print(flags.format, groups, onlyAtRisk ? riskLines(groups) : lines(groups))
  })
}

function lines(groups: readonly ListedGroup[]): string[] {
  if (groups.length === 0) return ['no groups']
  const rows = groups.map(({ groupId, state, type, protocolType }) => [groupId, state, type, protocolType])
  return table(['GROUP', 'STATE', 'TYPE', 'PROTOCOL'], rows)
}

function riskLines(groups: readonly ListedGroup[]): string[] {
  if (groups.length === 0) return ['no group is at risk']
  const rows = groups.map(({ groupId, state, risk }) => {
    const { partitions = 0, records = 0, leftMs = null, lostRecords = 0 } = risk ?? {}
    const left = leftMs === null ? '-' : formatDuration(leftMs)
    return [groupId, state, partitions, formatCount(records), left, formatCount(lostRecords)]
  })
  return table(['GROUP', 'STATE', 'PARTITIONS AT RISK', 'RECORDS', 'TIME LEFT', 'LOST'], rows)
}
