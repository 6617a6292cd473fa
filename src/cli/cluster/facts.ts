import type { Admin, ClusterDescription, LogDirDescription } from '../../client/admin.ts'
import type { PartitionState, QuorumDescription, Reassignment } from '../../client/cluster-admin.ts'
import { BrokerError, ClientError } from '../../rpc/errors.ts'

/** Everything that is known about the cluster at one moment. */
export interface ClusterFacts {
  readonly cluster: ClusterDescription
  /** Null: nobody leads it, or it did not say. */
  readonly quorum: QuorumDescription | null
  readonly partitions: readonly PartitionState[]
  readonly reassignments: readonly Reassignment[]
  /** Of the nodes that answered. */
  readonly folders: readonly LogDirDescription[]
  /** Nodes that serve, as the controller knows, and did not answer here. */
  readonly unreached: readonly number[]
  /** `min.insync.replicas` of topics that have a partition with copies missing. */
  readonly minInSync: ReadonlyMap<string, number>
  /** Wall clock. */
  readonly nowMs: number
}

export async function gatherFacts(admin: Admin, nowMs: number): Promise<ClusterFacts> {
  const [cluster, partitions, quorum, folders] = await Promise.all([
    admin.describeCluster(),
    admin.cluster.partitions(),
    orNull(admin.cluster.describeQuorum()),
    admin.describeLogDirs().catch(ignoreClientErrors),
  ])
  const lacking = partitions.filter(({ isr, replicas }) => isr.length < replicas.length)
  const [told, minInSync, reassignments] = await Promise.all([
    withLaggards(admin, partitions, lacking),
    minInSyncOf(admin, [...new Set(lacking.map(({ topic }) => topic))]),
    quorum === null ? [] : admin.cluster.reassignments(),
  ])
  const answered = new Set(folders?.map(({ nodeId }) => nodeId))
  const serving = cluster.brokers.filter(({ isFenced }) => !isFenced).map(({ nodeId }) => nodeId)
  // Null: somebody refused to say, which is no reason to doubt that they are there.
  const unreached = folders === null ? [] : serving.filter((nodeId) => !answered.has(nodeId))
  return { cluster, quorum, partitions: told, reassignments, folders: folders ?? [], unreached, minInSync, nowMs }
}

async function orNull<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked
  } catch (error) {
    // The node answers, and has nobody to ask.
    if (error instanceof BrokerError) return null
    throw error
  }
}

/** Who is behind, and since when, only the leader of a partition knows. */
async function withLaggards(
  admin: Admin,
  all: readonly PartitionState[],
  lacking: readonly PartitionState[],
): Promise<PartitionState[]> {
  const told = new Map<string, PartitionState>()
  const leaders = new Set(lacking.map(({ leader }) => leader).filter((leader) => leader >= 0))
  await Promise.all(
    [...leaders].map(async (leader) => {
      const topics = [...new Set(lacking.filter((each) => each.leader === leader).map(({ topic }) => topic))]
      const states = await admin.cluster.partitions(topics, leader).catch(ignoreClientErrors)
      for (const state of states ?? []) if (state.leader === leader) told.set(nameOf(state), state)
    }),
  )
  return all.map((state) => told.get(nameOf(state)) ?? state)
}

function ignoreClientErrors(error: unknown): null {
  if (error instanceof ClientError) return null
  throw error
}

async function minInSyncOf(admin: Admin, topics: readonly string[]): Promise<Map<string, number>> {
  const described = await admin.describeConfigs(topics.map((name) => ({ kind: 'topic' as const, name })))
  return new Map(
    described.map(({ name, configs }) => {
      return [name, Number(configs.find((config) => config.name === 'min.insync.replicas')?.value ?? 1)]
    }),
  )
}

export function nameOf({ topic, partition }: { readonly topic: string; readonly partition: number }): string {
  return `${topic}-${partition}`
}
