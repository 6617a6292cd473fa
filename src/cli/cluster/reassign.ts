import type { Admin } from '../../client/admin.ts'
import type { PartitionState } from '../../client/cluster-admin.ts'
import { withCluster } from '../connect.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
import { print, table } from '../output.ts'
import { counted, formatCount } from '../quantity.ts'
import type { ClusterFlags } from './command.ts'
import { type ClusterFacts, gatherFacts, nameOf } from './facts.ts'
import { carryOut } from './moves.ts'
import { planMoves } from './plan.ts'
import { nodesNamed, partitionsNamed, servingNodes } from './targets.ts'

export async function reassign(names: readonly string[], flags: ClusterFlags): Promise<void> {
  if (names.length > 0 && !flags.cancel && flags.to === undefined) {
    throw new CommandError(ExitCode.usage, 'say where to: --to 1,2,3, or --cancel')
  }
  await withCluster(flags, async ({ admin }) => {
    const facts = await gatherFacts(admin, Date.now())
    if (flags.cancel) return cancel(admin, names, facts, flags)
    if (flags.to === undefined) return showProgress(facts, flags)
    if (names.length === 0) throw new CommandError(ExitCode.usage, 'say which topics or partitions')
    const targets = nodesNamed(
      flags.to,
      servingNodes(facts).map(({ nodeId }) => nodeId),
    )
    const nodes = servingNodes(facts).filter(({ nodeId }) => targets.includes(nodeId))
    const moves = planMoves(partitionsNamed(names, facts.partitions), nodes)
    if (moves === null)
      throw new CommandError(ExitCode.failed, `${counted(nodes.length, 'node')} cannot hold so many copies`)
    await carryOut(admin, moves, flags)
  })
}

async function showProgress({ reassignments, partitions }: ClusterFacts, flags: ClusterFlags): Promise<void> {
  const states = new Map(partitions.map((state) => [nameOf(state), state]))
  const shown = reassignments.map((each) => ({ ...each, behindRecords: behind(states.get(nameOf(each)), each.adding) }))
  const rows = shown.map(({ adding, removing, replicas, behindRecords, ...name }) => [
    nameOf(name),
    replicas.join(','),
    adding.join(',') || '-',
    removing.join(',') || '-',
    behindRecords === null ? '-' : formatCount(behindRecords),
  ])
  const lines =
    rows.length === 0
      ? ['nothing is being moved']
      : table(['PARTITION', 'REPLICAS', 'ADDING', 'REMOVING', 'BEHIND'], rows)
  await print(flags.format, shown, lines)
}

/** Records that the new copies still lack; null when the leader does not say. */
function behind(state: PartitionState | undefined, adding: readonly number[]): number | null {
  const laggards = state?.laggards.filter(({ nodeId }) => adding.includes(nodeId)) ?? []
  return laggards.length === 0 ? null : Math.max(...laggards.map(({ behindRecords }) => behindRecords))
}

async function cancel(
  admin: Admin,
  names: readonly string[],
  { reassignments, partitions }: ClusterFacts,
  flags: ClusterFlags,
): Promise<void> {
  const moving = new Set(reassignments.map(nameOf))
  const chosen = (names.length === 0 ? partitions : partitionsNamed(names, partitions)).filter((each) =>
    moving.has(nameOf(each)),
  )
  const list = chosen.map(nameOf)
  if (chosen.length === 0) return print(flags.format, { cancelled: [] }, ['nothing is being moved'])
  if (!flags.yes) {
    return print(flags.format, { cancelled: [], wouldCancel: list }, [
      ...list,
      'nothing was done; add --yes to give these moves up',
    ])
  }
  const results = await admin.cluster.reassign(
    chosen.map(({ topic, partition }) => ({ topic, partition, replicas: null })),
  )
  const failed = results.values().filter((error) => error !== null)
  await print(flags.format, { cancelled: list }, [
    ...list.map((name) => `${name} stays where it was`),
    ...failed.map(({ message }) => message),
  ])
  if (failed.length > 0) throw new CommandError(ExitCode.failed, `${failed.length} not given up`)
}
