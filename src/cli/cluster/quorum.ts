import type { QuorumReplica } from '../../client/cluster-admin.ts'
import { withCluster } from '../connect.ts'
import { print, table } from '../output.ts'
import type { ClusterFlags } from './command.ts'
import { duration } from './problems.ts'

export async function showQuorum(flags: ClusterFlags): Promise<void> {
  await withCluster(flags, async ({ admin }) => {
    const quorum = await admin.cluster.describeQuorum()
    const nowMs = Date.now()
    const endOffset = quorum.voters.find(({ nodeId }) => nodeId === quorum.leaderId)?.endOffset ?? -1
    const row = (replica: QuorumReplica & { readonly address?: string | null }, role: string) => [
      replica.nodeId,
      role,
      replica.endOffset,
      replica.endOffset < 0 ? '-' : Math.max(0, endOffset - replica.endOffset),
      replica.lastFetchMs < 0 ? '-' : `${duration(nowMs - replica.lastFetchMs)} ago`,
      replica.address ?? '-',
      replica.directoryId,
    ]
    const rows = [
      ...quorum.voters.toSorted(byId).map((voter) => row(voter, voter.nodeId === quorum.leaderId ? 'leader' : 'voter')),
      ...quorum.observers.toSorted(byId).map((observer) => row(observer, 'observer')),
    ]
    await print(flags.format, quorum, [
      `controller ${quorum.leaderId}, epoch ${quorum.leaderEpoch}, committed up to ${quorum.highWatermark}`,
      ...table(['NODE', 'ROLE', 'END', 'BEHIND', 'HEARD', 'ADDRESS', 'DIRECTORY'], rows),
    ])
  })
}

function byId(left: QuorumReplica, right: QuorumReplica): number {
  return left.nodeId - right.nodeId
}
