import { withCluster } from '../connect.ts'
import { print, table } from '../output.ts'
import type { GroupFlags } from './command.ts'

export async function listGroups(flags: GroupFlags): Promise<void> {
  await withCluster(flags, async ({ admin }) => {
    const groups = await admin.groups.list()
    groups.sort((left, right) => (left.groupId < right.groupId ? -1 : 1))
    const rows = groups.map(({ groupId, state, type, protocolType }) => [groupId, state, type, protocolType])
    const lines = groups.length === 0 ? ['no groups'] : table(['GROUP', 'STATE', 'TYPE', 'PROTOCOL'], rows)
    await print(flags.format, groups, lines)
  })
}
