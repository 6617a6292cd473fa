import type { Admin } from '../../client/admin.ts'
import { withCluster } from '../connect.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
import { print } from '../output.ts'
import { counted } from '../quantity.ts'
import type { ClusterFlags } from './command.ts'
import { type ClusterFacts, gatherFacts, nameOf } from './facts.ts'
import { carryOut } from './moves.ts'
import { planDrain } from './plan.ts'
import { allNodes, servingNodes } from './targets.ts'

export async function drain(node: string, flags: ClusterFlags): Promise<void> {
  const nodeId = Number(node)
  if (!Number.isInteger(nodeId)) throw new CommandError(ExitCode.usage, `'${node}' is no node id: a number is wanted`)
  await withCluster(flags, async ({ admin }) => {
    const facts = await gatherFacts(admin, Date.now())
    const known = new Set([...facts.cluster.brokers, ...(facts.quorum?.voters ?? [])].map((each) => each.nodeId))
    if (!known.has(nodeId)) {
      const all = [...known].sort((one, other) => one - other).join(', ')
      throw new CommandError(ExitCode.failed, `there is no node ${nodeId}, only ${all}`)
    }
    await (flags.remove ? remove(admin, nodeId, facts, flags) : empty(admin, nodeId, facts, flags))
  })
}

async function empty(admin: Admin, nodeId: number, facts: ClusterFacts, flags: ClusterFlags): Promise<void> {
  const isOther = (node: { readonly nodeId: number }) => node.nodeId !== nodeId
  const plan = planDrain(facts.partitions, {
    rest: allNodes(facts).filter(isOther),
    serving: servingNodes(facts).filter(isOther),
  })
  if ('replicas' in plan) {
    const lacking = `there is no other node for the copy of ${nameOf(plan)}`
    throw new CommandError(ExitCode.failed, `${lacking}: another one must join before node ${nodeId} can be drained`)
  }
  await carryOut(admin, plan, flags)
}

/** For good: from the voters first, as a voter that is gone counts against the majority. */
async function remove(admin: Admin, nodeId: number, facts: ClusterFacts, flags: ClusterFlags): Promise<void> {
  const held = facts.partitions.filter(({ replicas }) => replicas.includes(nodeId))
  if (held.length > 0) {
    throw new CommandError(
      ExitCode.failed,
      `node ${nodeId} still holds ${counted(held.length, 'partition')}: drain it first`,
    )
  }
  const voter = facts.quorum?.voters.find((each) => each.nodeId === nodeId)
  const broker = facts.cluster.brokers.find((each) => each.nodeId === nodeId)
  if (broker?.isFenced === false) {
    throw new CommandError(
      ExitCode.failed,
      `node ${nodeId} still serves: stop it first, else it registers again at once`,
    )
  }
  const steps = [
    ...(voter === undefined ? [] : [`controller ${nodeId} votes no more`]),
    ...(broker === undefined ? [] : [`node ${nodeId} is no broker of this cluster any more`]),
  ]
  if (!flags.yes) {
    await print(flags.format, { removed: false, steps }, [...steps, 'nothing was done; add --yes to remove it'])
    return
  }
  if (voter !== undefined) await admin.cluster.removeVoter(voter)
  if (broker !== undefined) await admin.cluster.unregisterBroker(nodeId)
  await print(flags.format, { removed: true, steps }, steps)
}
