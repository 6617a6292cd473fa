import type { BrokerContext } from '../controller/config-view.ts'
import { supportedFeatures } from '../controller/features.ts'
import type { GroupCoordinator } from '../coordinator/group-coordinator.ts'
import { METADATA_TOPIC } from '../model/ids.ts'
import { BrokerHeartbeat } from '../protocol/apis/broker-heartbeat.ts'
import type { Quorum } from '../quorum/quorum.ts'
import type { ReplicaManager } from '../replica/replica-manager.ts'
import { AutoTopics } from './auto-topics.ts'
import type { ServedApi } from './dispatch/served-api.ts'
import type { Endpoints } from './endpoints.ts'
import type { BrokerWatch } from './forward/broker-watch.ts'
import type { ControllerLink } from './forward/controller-link.ts'
import type { ControllerSide } from './forward/controller-side.ts'
import { apiVersions } from './handlers/api-versions.ts'
import { decidedApis, forwardedApis } from './handlers/controller-apis.ts'
import { describeCluster, describeControllers, type SelfFacts } from './handlers/describe-cluster.ts'
import { describeConfigs } from './handlers/describe-configs.ts'
import { describeQuorum } from './handlers/describe-quorum.ts'
import { describeTopicPartitions } from './handlers/describe-topic-partitions.ts'
import { envelope } from './handlers/envelope.ts'
import { findCoordinator } from './handlers/find-coordinator.ts'
import { groupApis } from './handlers/group-apis.ts'
import { initProducerId } from './handlers/init-producer-id.ts'
import { listConfigResources } from './handlers/list-config-resources.ts'
import { ROOT_LOGGER } from './handlers/logger-levels.ts'
import { metadata } from './handlers/metadata.ts'
import { quorumApis } from './handlers/quorum-apis.ts'
import { replicaApis } from './handlers/replica-apis.ts'
import { ProducerIdBlocks } from './producer-id-blocks.ts'
import type { GroupLags } from './lag/group-lags.ts'
import type { MetadataSource } from './services.ts'

interface CommonParts {
  readonly source: MetadataSource
  readonly broker: BrokerContext
  /** Level of the feature that is no part of the image. */
  kraftVersion(): number
  readonly logLevel?: { get(): string; set(level: string): void }
}

export interface BrokerApiParts extends CommonParts {
  readonly endpoints: Endpoints
  readonly self: SelfFacts
  readonly link: ControllerLink
  readonly replicas: ReplicaManager
  readonly groups: GroupCoordinator
  readonly lags: GroupLags
  brokerEpoch(): number
  /** Resolves when this node shows the metadata up to that offset. */
  caughtUp(metadataOffset: number): Promise<void>
}

export interface ControllerApiParts extends CommonParts {
  readonly quorum: Quorum
  readonly side: ControllerSide
  readonly watch: BrokerWatch
}

const NO_LOGGER = { get: () => 'INFO', set() {} }

/** What a broker serves on its listeners for clients and brokers, and nothing else is served or advertised there. */
export function brokerApis(parts: BrokerApiParts): readonly ServedApi[] {
  const { source, endpoints, broker, link, logLevel = NO_LOGGER } = parts
  const caughtUp = (offset: number) => parts.caughtUp(offset)
  const topics = new AutoTopics({ source, broker, forwarder: link, caughtUp })
  const producerIds = new ProducerIdBlocks(link, () => ({ brokerId: source.nodeId, brokerEpoch: parts.brokerEpoch() }))
  const loggers = { nodeId: source.nodeId, setLevel: (level: string) => logLevel.set(level) }
  return withVersions(parts, [
    ...forwardedApis({ forwarder: link, loggers, caughtUp }),
    describeConfigs(source, broker, () => new Map([[ROOT_LOGGER, logLevel.get()]])),
    ...replicaApis(parts.replicas),
    ...groupApis(parts.groups, parts.lags, () => source.env.clock.monotonicMs()),
    metadata(source, endpoints, topics),
    describeCluster(source, endpoints, parts.self),
    describeTopicPartitions(source, broker, endpoints, (topic, partition) => parts.replicas.laggards(topic, partition)),
    listConfigResources(source),
    findCoordinator(source, endpoints, topics),
    initProducerId(producerIds),
  ])
}

/** The one thing that DescribeQuorum tells of. */
const OF_METADATA = { topics: [{ topicName: METADATA_TOPIC, partitions: [{ partitionIndex: 0 }] }] }

/** What a controller serves on the listener of the quorum. */
export function controllerApis(parts: ControllerApiParts): readonly ServedApi[] {
  const { source, broker, quorum, side, watch, logLevel = NO_LOGGER } = parts
  const loggers = { nodeId: source.nodeId, setLevel: (level: string) => logLevel.set(level) }
  return withVersions(parts, [
    ...decidedApis(side, loggers).map((served) => watched(served, watch)),
    ...quorumApis(quorum),
    envelope(side),
    describeConfigs(source, broker, () => new Map([[ROOT_LOGGER, logLevel.get()]])),
    describeQuorum((request) => quorum.describeQuorum(request)),
    describeControllers(source, () => quorum.describeQuorum(OF_METADATA).nodes),
  ])
}

/** Notes by which connection a broker reports. */
function watched(served: ServedApi, watch: BrokerWatch): ServedApi {
  if (served.api !== BrokerHeartbeat) return served
  return {
    ...served,
    handle: (request: { brokerId: number; brokerEpoch: number }, call) => {
      watch.heard(call.connection, request.brokerId, request.brokerEpoch)
      return served.handle(request as never, call)
    },
  }
}

function withVersions({ source, kraftVersion }: CommonParts, apis: ServedApi[]): readonly ServedApi[] {
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
