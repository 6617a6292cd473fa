import { withCluster } from '../connect.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
import { print } from '../output.ts'
import { counted } from '../quantity.ts'
import type { GroupFlags } from './command.ts'

export async function removeGroups(groupIds: readonly string[], flags: GroupFlags): Promise<void> {
  await withCluster(flags, async ({ admin }) => {
    if (!flags.yes) {
      const losses = await Promise.all(
        groupIds.map(async (groupId) => ({ groupId, offsets: (await admin.groups.offsets(groupId)).size })),
      )
      const lines = losses.map(
        ({ groupId, offsets }) => `${groupId}: its offsets of ${counted(offsets, 'partition')} would be lost`,
      )
      await print(flags.format, { removed: false, groups: losses }, [...lines, 'nothing was done; add --yes to remove'])
      return
    }
    const results = await admin.groups.delete(groupIds)
    const failed = results.filter(({ error }) => error !== null)
    const shown = results.map(({ groupId, error }) => ({
      groupId,
      removed: error === null,
      ...(error === null ? {} : { error: error.code }),
    }))
    const lines = results.map(({ groupId, error }) => error?.message ?? `removed ${groupId}`)
    await print(flags.format, { removed: true, groups: shown }, lines)
    if (failed.length > 0)
      throw new CommandError(ExitCode.failed, `${failed.length} of ${counted(groupIds.length, 'group')} not removed`)
  })
}
