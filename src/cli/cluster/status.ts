import { withCluster } from '../connect.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
import { print } from '../output.ts'
import { counted, formatBytes } from '../quantity.ts'
import type { ClusterFlags } from './command.ts'
import { type ClusterFacts, gatherFacts } from './facts.ts'
import { duration, problemsOf } from './problems.ts'

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
      ...setAside(facts),
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
      setAside: facts.folders.map(({ nodeId, path, setAside }) => ({ nodeId, path, ...setAside })),
      healthy: problems.length === 0,
      problems,
    }
    await print(flags.format, json, lines)
    if (problems.length > 0) throw new CommandError(ExitCode.failed, counted(problems.length, 'problem'))
  })
}

/** Nothing is wrong any more where it was; but somebody may want to look at what it was. */
function setAside({ folders, nowMs }: ClusterFacts): string[] {
  return folders
    .filter(({ setAside: { count } }) => count > 0)
    .map(({ nodeId, path, setAside: { count, bytes, untilMs } }) => {
      const goes = untilMs < 0 ? '' : `, the oldest of them for ${duration(untilMs - nowMs)} more`
      const what = counted(count, 'directory', 'directories')
      return `node ${nodeId} keeps ${what} of partitions that nobody knows or that were damaged (${formatBytes(bytes)}, *-stray in ${path})${goes}`
    })
}

function controllerOf({ quorum }: ClusterFacts): string {
  if (quorum === null) return 'none'
  return `${quorum.leaderId} of ${quorum.voters
    .map(({ nodeId }) => nodeId)
    .toSorted((left, right) => left - right)
    .join(', ')}, epoch ${quorum.leaderEpoch}`
}
