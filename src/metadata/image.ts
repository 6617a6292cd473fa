import type { TopicId } from '../model/ids.ts'
import { PersistentMap } from './persistent-map.ts'
import type {
  AccessControlEntryRecord,
  DelegationTokenRecord,
  EndpointRecord,
  FeatureRangeRecord,
  QuotaEntityRecord,
  UserScramCredentialRecord,
} from './records.ts'
import { TopicIndex } from './topic-index.ts'

/** One partition as the controller decided it. Replaced, never changed, by each record about it. */
export interface PartitionImage {
  /** Node ids in order of preference: the first is the preferred leader. */
  readonly replicas: readonly number[]
  /** The log directory of each replica, in the order of `replicas`; empty before KIP-858. */
  readonly directories: readonly string[]
  /** Empty where nobody is known to be in sync: the next leader comes from `elr` (KIP-966). */
  readonly isr: readonly number[]
  readonly removingReplicas: readonly number[]
  readonly addingReplicas: readonly number[]
  /** -1: none. */
  readonly leader: number
  /** 0 recovered, 1 recovering after an unclean election. */
  readonly leaderRecoveryState: number
  readonly leaderEpoch: number
  /** Grows with every record about the partition: the compare-and-set token of AlterPartition. */
  readonly partitionEpoch: number
  /** KIP-966: out of the ISR, but holding all that was committed. */
  readonly elr: readonly number[]
  /** While there is no leader: who was the last one, if anybody is known. */
  readonly lastKnownElr: readonly number[]
}

export interface TopicImage {
  readonly name: string
  readonly topicId: TopicId
  /** By partition number, without holes. */
  readonly partitions: readonly PartitionImage[]
}

/** The registration of one broker incarnation. */
export interface BrokerImage {
  readonly brokerId: number
  /** The offset of the registration in the metadata log. */
  readonly brokerEpoch: number
  /** Chosen by the broker process at its start. */
  readonly incarnationId: string
  /** One for each listener that clients or brokers may reach. */
  readonly endpoints: readonly EndpointRecord[]
  readonly features: readonly FeatureRangeRecord[]
  readonly rack: string | null
  /** Not to be led by, nor offered to clients. */
  readonly fenced: boolean
  readonly inControlledShutdown: boolean
  /** Directory ids, sorted as registered. */
  readonly logDirs: readonly string[]
  readonly cordonedLogDirs: readonly string[] | null
  /** Its disk has room (0), takes no records of clients (1), nor what coordinators write (2). */
  readonly outOfSpace: number
}

export interface ControllerImage {
  readonly controllerId: number
  readonly incarnationId: string
  readonly zkMigrationReady: boolean
  readonly endpoints: readonly EndpointRecord[]
  readonly features: readonly FeatureRangeRecord[]
}

export interface ClientQuotaImage {
  readonly entity: readonly QuotaEntityRecord[]
  readonly values: ReadonlyMap<string, number>
}

export interface ConfigResource {
  /** See `ResourceType`. */
  readonly type: number
  /** Topic name; broker id in decimal, or '' for the default of all brokers. */
  readonly name: string
}

export interface ConfigsImage extends ConfigResource {
  readonly values: ReadonlyMap<string, string>
}

/** How far the log had been read when an image was made. */
export interface ImagePosition {
  /** Offset of the last record in it; -1 for the empty image. */
  readonly offset: number
  readonly epoch: number
  /** Append time of the last batch in it, by the wall clock of the leader that appended it; -1 when unknown. */
  readonly timestampMs: number
}

interface ImageParts {
  readonly position: ImagePosition
  readonly features: PersistentMap<string, number>
  readonly brokers: PersistentMap<number, BrokerImage>
  readonly controllers: PersistentMap<number, ControllerImage>
  readonly topicsByName: PersistentMap<string, TopicImage>
  readonly topicsById: PersistentMap<string, TopicImage>
  readonly topicIndex: TopicIndex
  readonly configs: PersistentMap<string, ConfigsImage>
  readonly clientQuotas: PersistentMap<string, ClientQuotaImage>
  readonly nextProducerId: number
  readonly acls: PersistentMap<string, AccessControlEntryRecord>
  readonly scramCredentials: PersistentMap<string, UserScramCredentialRecord>
  readonly delegationTokens: PersistentMap<string, DelegationTokenRecord>
}

/**
 * The cluster at one offset of the metadata log: immutable, so a request may keep one for as long as it likes. The
 * next one shares all that did not change. Only `MetadataDelta.apply` makes them.
 */
export class MetadataImage implements ImageParts {
  static readonly empty = new MetadataImage({
    position: { offset: -1, epoch: -1, timestampMs: -1 },
    features: PersistentMap.empty(),
    brokers: PersistentMap.empty(),
    controllers: PersistentMap.empty(),
    topicsByName: PersistentMap.empty(),
    topicsById: PersistentMap.empty(),
    topicIndex: TopicIndex.empty,
    configs: PersistentMap.empty(),
    clientQuotas: PersistentMap.empty(),
    nextProducerId: 0,
    acls: PersistentMap.empty(),
    scramCredentials: PersistentMap.empty(),
    delegationTokens: PersistentMap.empty(),
  })

  readonly position: ImagePosition
  /** Finalised levels, `metadata.version` among them; 0 is absent. `kraft.version` is the quorum's, not here. */
  readonly features: PersistentMap<string, number>
  readonly brokers: PersistentMap<number, BrokerImage>
  readonly controllers: PersistentMap<number, ControllerImage>
  readonly topicsByName: PersistentMap<string, TopicImage>
  readonly topicsById: PersistentMap<string, TopicImage>
  /** Ids of the topics that concern a broker, or that want for something. */
  readonly topicIndex: TopicIndex
  /** By `configKey`; only resources with at least one value. */
  readonly configs: PersistentMap<string, ConfigsImage>
  /** By `quotaKey`. */
  readonly clientQuotas: PersistentMap<string, ClientQuotaImage>
  /** The first producer id not in any block handed out. */
  readonly nextProducerId: number
  readonly acls: PersistentMap<string, AccessControlEntryRecord>
  /** By `scramKey`. */
  readonly scramCredentials: PersistentMap<string, UserScramCredentialRecord>
  readonly delegationTokens: PersistentMap<string, DelegationTokenRecord>

  constructor(parts: ImageParts) {
    this.position = parts.position
    this.features = parts.features
    this.brokers = parts.brokers
    this.controllers = parts.controllers
    this.topicsByName = parts.topicsByName
    this.topicsById = parts.topicsById
    this.topicIndex = parts.topicIndex
    this.configs = parts.configs
    this.clientQuotas = parts.clientQuotas
    this.nextProducerId = parts.nextProducerId
    this.acls = parts.acls
    this.scramCredentials = parts.scramCredentials
    this.delegationTokens = parts.delegationTokens
  }

  topic(name: string): TopicImage | undefined {
    return this.topicsByName.get(name)
  }

  topicById(topicId: string): TopicImage | undefined {
    return this.topicsById.get(topicId)
  }

  partition(topic: string, partition: number): PartitionImage | undefined {
    return this.topicsByName.get(topic)?.partitions[partition]
  }

  broker(brokerId: number): BrokerImage | undefined {
    return this.brokers.get(brokerId)
  }

  /** What is set on the resource itself; empty when nothing is. Defaults and synonyms are the controller's `config-defs`. */
  configOf(resource: ConfigResource): ReadonlyMap<string, string> {
    return this.configs.get(configKey(resource))?.values ?? NOTHING
  }
}

const NOTHING: ReadonlyMap<string, string> = new Map()

export function configKey({ type, name }: ConfigResource): string {
  return `${type}:${name}`
}

export function quotaKey(entity: readonly QuotaEntityRecord[]): string {
  const sorted = [...entity].sort((a, b) => (a.entityType < b.entityType ? -1 : 1))
  return JSON.stringify(sorted.map(({ entityType, entityName }) => [entityType, entityName]))
}

export function scramKey({ name, mechanism }: { name: string; mechanism: number }): string {
  return `${mechanism}:${name}`
}
