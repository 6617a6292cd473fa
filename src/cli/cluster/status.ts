import { withCluster } from '../connect.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
import { print } from '../output.ts'
import { counted } from '../quantity.ts'
import type { ClusterFlags } from './command.ts'
import { type ClusterFacts, gatherFacts } from './facts.ts'
import { problemsOf } from './problems.ts'

/** Lines of problems for people; programs get all. */
const SHOWN_MAX = 30

export async function showStatus(flags: ClusterFlags): Promise<void> {
  await withCluster(flags, async ({ admin }) => {
    const facts = await gatherFacts(admin, Date.now())
    const problems = problemsOf(facts)
    const { cluster, partitions, reassignments } = facts
    const topics = new Set(partitions.map(({ topic }) => topic)).size
    const lines = [
      `cluster ${cluster.clusterId}: ${counted(cluster.brokers.length, 'node')}, ${counted(topics, 'topic')}, ${counted(partitions.length, 'partition')}`,
      `controller ${controllerOf(facts)}`,
      ...(reassignments.length === 0 ? [] : [`${counted(reassignments.length, 'partition')} being moved`]),
      ...(problems.length === 0 ? ['all is well'] : problems.slice(0, SHOWN_MAX).map(({ text }) => text)),
      ...(problems.length > SHOWN_MAX
        ? [`and ${counted(problems.length - SHOWN_MAX, 'more problem')} (--format json has all)`]
        : []),
    ]
    const json = {
      clusterId: cluster.clusterId,
      nodes: cluster.brokers.length,
      topics,
      partitions: partitions.length,
      controller: facts.quorum?.leaderId ?? null,
      reassignments: reassignments.length,
      healthy: problems.length === 0,
      problems,
    }
    await print(flags.format, json, lines)
    if (problems.length > 0) throw new CommandError(ExitCode.failed, counted(problems.length, 'problem'))
  })
}

function controllerOf({ quorum }: ClusterFacts): string {
  if (quorum === null) return 'none'
  return `${quorum.leaderId} of ${quorum.voters
    .map(({ nodeId }) => nodeId)
    .toSorted((left, right) => left - right)
    .join(', ')}, epoch ${quorum.leaderEpoch}`
}
