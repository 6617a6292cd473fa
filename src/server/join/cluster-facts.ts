import type { Env } from '../../env/env.ts'
import type { Address } from '../../env/net.ts'
import { METADATA_TOPIC } from '../../model/ids.ts'
import { ApiVersions } from '../../protocol/apis/api-versions.ts'
import { DescribeCluster, type DescribeClusterResponse } from '../../protocol/apis/describe-cluster.ts'
import { DescribeQuorum, type DescribeQuorumResponse } from '../../protocol/apis/describe-quorum.ts'
import { Metadata } from '../../protocol/apis/metadata.ts'
import { ErrorCode } from '../../protocol/errors.ts'
import { BrokerConnection } from '../../rpc/connection.ts'
import { BrokerError, UnsupportedVersionError } from '../../rpc/errors.ts'

/** What a node must know of a cluster before it can be one of it. */
export interface ClusterFacts {
  readonly clusterId: string
  /** Where the controllers listen. */
  readonly controllers: readonly Address[]
  readonly voterIds: ReadonlySet<number>
  /** Whether another controller can be added to the quorum (KIP-853). */
  readonly votersCanChange: boolean
  /** Ids that belong to somebody. */
  readonly nodeIds: ReadonlySet<number>
}

const OPTIONS = { clientId: 'millrace-join', connectTimeoutMs: 2000, requestTimeoutMs: 5000 }
const BROKERS = 1
const CONTROLLERS = 2
const SOFTWARE = { clientSoftwareName: 'millrace', clientSoftwareVersion: '0.1.0' }

/** Asks the cluster at `address`, which may be any listener of any node of it. Rejects with a `ClientError`. */
export async function askCluster(env: Env, address: Address): Promise<ClusterFacts> {
  const answer = await askNode(env, address)
  if (answer.quorum !== null) return factsOf(answer, answer.quorum)
  // A controller that does not lead knows who does, and only that one knows all the others.
  const { brokers, controllerId } = answer.described
  const leader = brokers.find(({ brokerId }) => brokerId === controllerId)
  if (leader === undefined) throw new BrokerError(ErrorCode.LEADER_NOT_AVAILABLE, 'the quorum at this address')
  const second = await askNode(env, { host: leader.host, port: leader.port })
  if (second.quorum === null) throw new BrokerError(ErrorCode.NOT_LEADER_OR_FOLLOWER, 'the quorum at this address')
  return factsOf(second, second.quorum)
}

interface NodeAnswer {
  readonly described: DescribeClusterResponse
  /** Null: another controller leads. */
  readonly quorum: DescribeQuorumResponse | null
  readonly kraftVersion: number
}

async function askNode({ net, timers }: Env, address: Address): Promise<NodeAnswer> {
  const connection = await BrokerConnection.open(net, timers, address, OPTIONS)
  try {
    const endpointType = serves(connection, Metadata) ? BROKERS : CONTROLLERS
    const described = await connection.request(DescribeCluster, (version) => ({
      includeClusterAuthorizedOperations: false,
      ...(version >= 1 ? { endpointType } : {}),
      ...(version >= 2 ? { includeFencedBrokers: endpointType === BROKERS } : {}),
    }))
    refuseErrors('DescribeCluster', described)
    const asked = { topics: [{ topicName: METADATA_TOPIC, partitions: [{ partitionIndex: 0 }] }] }
    const quorum = await connection.request(DescribeQuorum, asked, { versions: [2, 2] })
    refuseErrors('DescribeQuorum', quorum)
    const { finalizedFeatures } = await connection.request(ApiVersions, SOFTWARE)
    const kraftVersion = finalizedFeatures.find(({ name }) => name === 'kraft.version')?.maxVersionLevel ?? 0
    return { described, quorum: leads(quorum) ? quorum : null, kraftVersion }
  } finally {
    connection.close()
  }
}

function serves(connection: BrokerConnection, api: typeof Metadata): boolean {
  try {
    connection.versionOf(api)
    return true
  } catch (error) {
    if (error instanceof UnsupportedVersionError) return false
    throw error
  }
}

function refuseErrors(what: string, { errorCode, errorMessage }: { errorCode: number; errorMessage: string | null }) {
  if (errorCode === ErrorCode.NONE || errorCode === ErrorCode.NOT_LEADER_OR_FOLLOWER) return
  throw new BrokerError(errorCode, what, { message: errorMessage })
}

function partitionOf({ topics }: DescribeQuorumResponse) {
  return topics[0]?.partitions[0]
}

function leads(quorum: DescribeQuorumResponse): boolean {
  return quorum.errorCode === ErrorCode.NONE && partitionOf(quorum)?.errorCode === ErrorCode.NONE
}

function factsOf({ described, kraftVersion }: NodeAnswer, quorum: DescribeQuorumResponse): ClusterFacts {
  const { currentVoters = [], observers = [] } = partitionOf(quorum) ?? {}
  const voters = quorum.nodes.filter(({ nodeId }) => currentVoters.some(({ replicaId }) => replicaId === nodeId))
  return {
    clusterId: described.clusterId,
    controllers: voters.flatMap(({ listeners }) => listeners.slice(0, 1).map(({ host, port }) => ({ host, port }))),
    voterIds: new Set(currentVoters.map(({ replicaId }) => replicaId)),
    votersCanChange: kraftVersion > 0,
    nodeIds: new Set([
      ...described.brokers.map(({ brokerId }) => brokerId),
      ...[...currentVoters, ...observers].map(({ replicaId }) => replicaId),
    ]),
  }
}
