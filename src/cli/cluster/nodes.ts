import type { LogDirDescription } from '../../client/admin.ts'
import { withCluster } from '../connect.ts'
import { print, table } from '../output.ts'
import { formatBytes } from '../quantity.ts'
import type { ClusterFlags } from './command.ts'
import { type ClusterFacts, gatherFacts } from './facts.ts'

export async function showNodes(flags: ClusterFlags): Promise<void> {
  await withCluster(flags, async ({ admin }) => {
    const [facts, folders] = await Promise.all([gatherFacts(admin, Date.now()), admin.describeLogDirs()])
    const nodes = nodesOf(facts, folders)
    const rows = nodes.map((node) => [
      node.nodeId,
      node.state,
      node.roles.join('+'),
      node.zone ?? '-',
      node.address ?? '-',
      node.leads,
      node.replicas,
      node.outOfSync,
      node.bytes === null ? '-' : formatBytes(node.bytes),
    ])
    const heads = ['NODE', 'STATE', 'ROLES', 'ZONE', 'ADDRESS', 'LEADS', 'COPIES', 'OUT OF SYNC', 'SIZE']
    await print(flags.format, nodes, table(heads, rows))
  })
}

function nodesOf({ cluster, quorum, partitions }: ClusterFacts, folders: readonly LogDirDescription[]) {
  const voters = new Map((quorum?.voters ?? []).map((voter) => [voter.nodeId, voter]))
  const brokers = new Map(cluster.brokers.map((broker) => [broker.nodeId, broker]))
  const ids = [...new Set([...brokers.keys(), ...voters.keys()])].sort((left, right) => left - right)
  return ids.map((nodeId) => {
    const broker = brokers.get(nodeId)
    const voter = voters.get(nodeId)
    const copies = partitions.filter(({ replicas }) => replicas.includes(nodeId))
    const own = folders.filter((folder) => folder.nodeId === nodeId)
    return {
      nodeId,
      state: stateOf(broker),
      roles: [...(broker === undefined ? [] : ['broker']), ...(voter === undefined ? [] : ['controller'])],
      zone: broker?.rack ?? null,
      address: broker === undefined ? (voter?.address ?? null) : `${broker.host}:${broker.port}`,
      leads: partitions.filter(({ leader }) => leader === nodeId).length,
      replicas: copies.length,
      outOfSync: copies.filter(({ isr }) => !isr.includes(nodeId)).length,
      bytes:
        own.length === 0 ? null : own.flatMap(({ replicas }) => replicas).reduce((sum, { bytes }) => sum + bytes, 0),
    }
  })
}

function stateOf(broker: ClusterFacts['cluster']['brokers'][number] | undefined): string {
  if (broker === undefined) return 'controller'
  if (broker.isFenced) return 'fenced'
  return broker.isFull ? 'full' : 'serving'
}
