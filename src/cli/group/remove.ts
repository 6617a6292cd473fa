import { withCluster } from '../connect.ts'
import { failWith } from '../exit-code.ts'
import { print } from '../output.ts'
import { counted } from '../quantity.ts'
import { refuseMissing } from './missing.ts'
import type { GroupFlags } from './command.ts'

export async function removeGroups(groupIds: readonly string[], flags: GroupFlags): Promise<void> {
  await withCluster(flags, async ({ admin }) => {
    if (!flags.yes) {
      // One that is not there has nothing to lose, and --yes would fail.
      refuseMissing(await admin.groups.describe(groupIds))
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
    const errors = results.map(({ error }) => error)
    const removed = errors.every((error) => error === null)
    const shown = results.map(({ groupId, error }) => ({
      groupId,
      removed: error === null,
      ...(error === null ? {} : { error: error.code, message: error.message }),
    }))
    const lines = results.flatMap(({ groupId, error }) => (error === null ? [`removed ${groupId}`] : []))
    await print(flags.format, { removed, groups: shown }, lines)
    failWith(errors)
  })
}
