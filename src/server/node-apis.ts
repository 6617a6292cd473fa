import type { BrokerContext } from '../controller/config-view.ts'
import { supportedFeatures } from '../controller/features.ts'
import type { GroupCoordinator } from '../coordinator/group-coordinator.ts'
import type { DescribeQuorumRequest, DescribeQuorumResponse } from '../protocol/apis/describe-quorum.ts'
import type { ReplicaManager } from '../replica/replica-manager.ts'
import { AutoTopics } from './auto-topics.ts'
import type { ServedApi } from './dispatch/served-api.ts'
import type { Endpoints } from './endpoints.ts'
import { apiVersions } from './handlers/api-versions.ts'
import { controllerApis } from './handlers/controller-apis.ts'
import { describeCluster, describeControllers } from './handlers/describe-cluster.ts'
import { describeConfigs } from './handlers/describe-configs.ts'
import { describeQuorum } from './handlers/describe-quorum.ts'
import { describeTopicPartitions } from './handlers/describe-topic-partitions.ts'
import { findCoordinator } from './handlers/find-coordinator.ts'
import { groupApis } from './handlers/group-apis.ts'
import { initProducerId } from './handlers/init-producer-id.ts'
import { listConfigResources } from './handlers/list-config-resources.ts'
import { ROOT_LOGGER } from './handlers/logger-levels.ts'
import { metadata } from './handlers/metadata.ts'
import { replicaApis } from './handlers/replica-apis.ts'
import type { ControllerChannel } from './controller-channel.ts'
import { ProducerIdBlocks } from './producer-id-blocks.ts'
import type { MetadataSource } from './services.ts'

export interface NodeApiParts {
  readonly source: MetadataSource
  readonly endpoints: Endpoints
  readonly broker: BrokerContext
  readonly channel: ControllerChannel
  describeQuorum(request: DescribeQuorumRequest): DescribeQuorumResponse
  /** Level of the feature that is no part of the image. */
  kraftVersion(): number
  readonly replicas: ReplicaManager
  readonly groups: GroupCoordinator
  brokerEpoch(): number
  /** Resolves when this node has applied all metadata that is committed now. */
  caughtUp(): Promise<void>
  readonly logLevel: { get(): string; set(level: string): void }
}

/** What stands here is served and advertised, and nothing else. */
export interface NodeApis {
  /** On the listeners for clients and brokers. */
  readonly broker: readonly ServedApi[]
  /** On the listener of the quorum. */
  readonly controller: readonly ServedApi[]
}

export function nodeApis(parts: NodeApiParts): NodeApis {
  const { source, endpoints, broker, channel, logLevel } = parts
  const topics = new AutoTopics({ source, broker, channel, caughtUp: () => parts.caughtUp() })
  const producerIds = new ProducerIdBlocks(channel, () => ({
    brokerId: source.nodeId,
    brokerEpoch: parts.brokerEpoch(),
  }))
  const decided = controllerApis({
    channel,
    loggers: { nodeId: source.nodeId, setLevel: (level) => logLevel.set(level) },
    caughtUp: () => parts.caughtUp(),
  })
  const shared: ServedApi[] = [
    ...decided,
    describeConfigs(source, broker, () => new Map([[ROOT_LOGGER, logLevel.get()]])),
    describeQuorum((request) => parts.describeQuorum(request)),
  ]
  const forClients: ServedApi[] = [
    ...shared,
    ...replicaApis(parts.replicas),
    ...groupApis(parts.groups),
    metadata(source, endpoints, topics),
    describeCluster(source, endpoints),
    describeTopicPartitions(source, endpoints),
    listConfigResources(source),
    findCoordinator(source, endpoints, topics),
    initProducerId(producerIds),
  ]
  const forControllers: ServedApi[] = [
    ...shared,
    describeControllers(source, () => parts.describeQuorum({ topics: [] }).nodes),
  ]
  return { broker: withVersions(forClients, parts), controller: withVersions(forControllers, parts) }
}

function withVersions(apis: ServedApi[], { source, kraftVersion }: NodeApiParts): readonly ServedApi[] {
  const { clusterId, nodeId } = source
  apis.push(apiVersions({ clusterId, nodeId, apis, features: () => features(source, kraftVersion()) }))
  return apis
}

function features(source: MetadataSource, kraftVersion: number) {
  const { features: levels, position } = source.image()
  return {
    supported: supportedFeatures.map(({ name, min, max }) => ({ name, minVersion: min, maxVersion: max })),
    finalized: [...levels, ['kraft.version', kraftVersion] as const].map(([name, level]) => ({ name, level })),
    epoch: position.offset,
  }
}
