import { withCluster } from '../connect.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
import { print } from '../output.ts'
import { counted } from '../quantity.ts'
import type { ClusterFlags } from './command.ts'
import { nameOf } from './facts.ts'
import { partitionsNamed } from './targets.ts'

const NOT_NEEDED = 'ELECTION_NOT_NEEDED'

export async function elect(names: readonly string[], flags: ClusterFlags): Promise<void> {
  const unclean = flags.unclean === true
  await withCluster(flags, async ({ admin }) => {
    const all = await admin.cluster.partitions()
    const named = names.length === 0 ? all : partitionsNamed(names, all)
    const needy = named.filter(({ leader, replicas }) => (unclean ? leader < 0 : leader !== replicas[0]))
    const list = needy.map(nameOf)
    if (needy.length === 0) {
      const lines = [unclean ? 'every partition has a leader' : 'every partition is led by its preferred replica']
      return print(flags.format, { elected: [], failed: [] }, lines)
    }
    if (unclean && !flags.yes) {
      const warning = `acknowledged records of ${counted(needy.length, 'partition')} may be lost; nothing was done; add --yes to elect`
      return print(flags.format, { elected: [], wouldElect: list }, [...list, warning])
    }
    const results = await admin.cluster.electLeaders(needy, { unclean })
    const failed = results.entries().flatMap(([key, error]) => {
      return error === null || error.code === NOT_NEEDED
        ? []
        : [{ partition: nameOf(key), error: error.code, message: error.message }]
    })
    const elected = list.filter((name) => !failed.some(({ partition }) => partition === name))
    const lines = [...failed.map(({ message }) => message), `${counted(elected.length, 'leader')} elected`]
    await print(flags.format, { elected, failed: failed.map(({ partition, error }) => ({ partition, error })) }, lines)
    if (failed.length > 0)
      throw new CommandError(
        ExitCode.failed,
        `${failed.length} of ${counted(needy.length, 'partition')} without an election`,
      )
  })
}
