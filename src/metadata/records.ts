/**
 * The records of `__cluster_metadata`, decoded. Field names are Kafka's in camelCase; every field is always present
 * (a version without it, or a tag left out, gives the default named here).
 */

export interface EndpointRecord {
  readonly name: string
  readonly host: string
  readonly port: number
  /** 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL. */
  readonly securityProtocol: number
}

export interface FeatureRangeRecord {
  readonly name: string
  readonly minSupportedVersion: number
  readonly maxSupportedVersion: number
}

export interface RegisterBrokerRecord {
  readonly brokerId: number
  readonly isMigratingZkBroker: boolean
  readonly incarnationId: string
  readonly brokerEpoch: number
  readonly endPoints: readonly EndpointRecord[]
  readonly features: readonly FeatureRangeRecord[]
  readonly rack: string | null
  readonly fenced: boolean
  readonly inControlledShutdown: boolean
  readonly logDirs: readonly string[]
  readonly cordonedLogDirs: readonly string[] | null
}

export interface UnregisterBrokerRecord {
  readonly brokerId: number
  readonly brokerEpoch: number
}

export interface TopicRecord {
  readonly name: string
  readonly topicId: string
}

export interface PartitionRecord {
  readonly partitionId: number
  readonly topicId: string
  readonly replicas: readonly number[]
  readonly isr: readonly number[]
  readonly removingReplicas: readonly number[]
  readonly addingReplicas: readonly number[]
  /** -1: none. */
  readonly leader: number
  /** 0 recovered, 1 recovering (after an unclean election). */
  readonly leaderRecoveryState: number
  readonly leaderEpoch: number
  readonly partitionEpoch: number
  readonly directories: readonly string[]
  readonly eligibleLeaderReplicas: readonly number[] | null
  readonly lastKnownElr: readonly number[] | null
}

export interface ConfigRecord {
  /** 2 topic, 4 broker (name '' is the default of all), 16 client metrics, 32 group. */
  readonly resourceType: number
  readonly resourceName: string
  readonly name: string
  /** Null removes it. */
  readonly value: string | null
}

/** Null and the defaults (-2 leader, -1 recovery state) mean: unchanged. A leader given, even the same, starts an epoch. */
export interface PartitionChangeRecord {
  readonly partitionId: number
  readonly topicId: string
  readonly isr: readonly number[] | null
  readonly leader: number
  readonly replicas: readonly number[] | null
  readonly removingReplicas: readonly number[] | null
  readonly addingReplicas: readonly number[] | null
  readonly leaderRecoveryState: number
  readonly directories: readonly string[] | null
  readonly eligibleLeaderReplicas: readonly number[] | null
  readonly lastKnownElr: readonly number[] | null
}

export interface FenceBrokerRecord {
  readonly id: number
  readonly epoch: number
}

export interface RemoveTopicRecord {
  readonly topicId: string
}

export interface DelegationTokenRecord {
  readonly owner: string
  readonly requester: string
  readonly renewers: readonly string[]
  readonly issueTimestamp: number
  readonly maxTimestamp: number
  readonly expirationTimestamp: number
  readonly tokenId: string
}

export interface UserScramCredentialRecord {
  readonly name: string
  readonly mechanism: number
  readonly salt: Buffer
  readonly storedKey: Buffer
  readonly serverKey: Buffer
  readonly iterations: number
}

export interface FeatureLevelRecord {
  readonly name: string
  /** 0 removes the feature. */
  readonly featureLevel: number
}

export interface QuotaEntityRecord {
  readonly entityType: string
  /** Null: the default entity of the type. */
  readonly entityName: string | null
}

export interface ClientQuotaRecord {
  readonly entity: readonly QuotaEntityRecord[]
  readonly key: string
  readonly value: number
  readonly remove: boolean
}

export interface ProducerIdsRecord {
  readonly brokerId: number
  readonly brokerEpoch: number
  /** The first id not handed out yet. */
  readonly nextProducerId: number
}

/** Zero means unchanged. `fenced` 1 fences, -1 unfences; `inControlledShutdown` 1 begins it. */
export interface BrokerRegistrationChangeRecord {
  readonly brokerId: number
  readonly brokerEpoch: number
  readonly fenced: number
  readonly inControlledShutdown: number
  /** Empty: unchanged. */
  readonly logDirs: readonly string[]
  readonly cordonedLogDirs: readonly string[] | null
}

export interface AccessControlEntryRecord {
  readonly id: string
  readonly resourceType: number
  readonly resourceName: string
  readonly patternType: number
  readonly principal: string
  readonly host: string
  readonly operation: number
  readonly permissionType: number
}

export interface RegisterControllerRecord {
  readonly controllerId: number
  readonly incarnationId: string
  readonly zkMigrationReady: boolean
  readonly endPoints: readonly EndpointRecord[]
  readonly features: readonly FeatureRangeRecord[]
}

type Tagged<Type extends string, Value> = { readonly type: Type; readonly value: Value }

/** One record of the metadata log, by Kafka's name of its schema without the word Record. */
export type MetadataRecord =
  | Tagged<'RegisterBroker', RegisterBrokerRecord>
  | Tagged<'UnregisterBroker', UnregisterBrokerRecord>
  | Tagged<'Topic', TopicRecord>
  | Tagged<'Partition', PartitionRecord>
  | Tagged<'Config', ConfigRecord>
  | Tagged<'PartitionChange', PartitionChangeRecord>
  | Tagged<'FenceBroker', FenceBrokerRecord>
  | Tagged<'UnfenceBroker', FenceBrokerRecord>
  | Tagged<'RemoveTopic', RemoveTopicRecord>
  | Tagged<'DelegationToken', DelegationTokenRecord>
  | Tagged<'UserScramCredential', UserScramCredentialRecord>
  | Tagged<'FeatureLevel', FeatureLevelRecord>
  | Tagged<'ClientQuota', ClientQuotaRecord>
  | Tagged<'ProducerIds', ProducerIdsRecord>
  | Tagged<'BrokerRegistrationChange', BrokerRegistrationChangeRecord>
  | Tagged<'AccessControlEntry', AccessControlEntryRecord>
  | Tagged<'RemoveAccessControlEntry', { readonly id: string }>
  | Tagged<'NoOp', Readonly<Record<never, never>>>
  | Tagged<'ZkMigrationState', { readonly zkMigrationState: number }>
  | Tagged<'RemoveUserScramCredential', { readonly name: string; readonly mechanism: number }>
  | Tagged<'BeginTransaction', { readonly name: string | null }>
  | Tagged<'EndTransaction', Readonly<Record<never, never>>>
  | Tagged<'AbortTransaction', { readonly reason: string | null }>
  | Tagged<'RemoveDelegationToken', { readonly tokenId: string }>
  | Tagged<'RegisterController', RegisterControllerRecord>
  | Tagged<'ClearElr', { readonly topicName: string }>
  | Tagged<'UnregisterController', { readonly controllerId: number }>

/** A change of one partition in which only what is given changes. */
export function partitionChange(
  change: Pick<PartitionChangeRecord, 'partitionId' | 'topicId'> & Partial<PartitionChangeRecord>,
): MetadataRecord {
  const unchanged = {
    isr: null,
    leader: NO_LEADER_CHANGE,
    replicas: null,
    removingReplicas: null,
    addingReplicas: null,
    leaderRecoveryState: NO_RECOVERY_CHANGE,
    directories: null,
    eligibleLeaderReplicas: null,
    lastKnownElr: null,
  }
  return { type: 'PartitionChange', value: { ...unchanged, ...change } }
}

export const NO_LEADER = -1
export const NO_LEADER_CHANGE = -2
export const NO_RECOVERY_CHANGE = -1

/** Of ConfigRecord and of the config APIs (KIP-133, KIP-714, KIP-848). */
export const ResourceType = { topic: 2, broker: 4, brokerLogger: 8, clientMetrics: 16, group: 32 } as const
