import { encodeMetadataRecord, type metadataRecords } from '../protocol/messages/metadata-records.ts'
import type { ValueOf } from '../protocol/schema.ts'

/**
 * The records of `__cluster_metadata`, decoded. Every field is always present: a version without it, or a tag left out,
 * gives its default.
 */
type Values = { readonly [Name in keyof typeof metadataRecords]: ValueOf<(typeof metadataRecords)[Name]['fields']> }

/** One record of the metadata log, by Kafka's name of its schema without the word Record. */
export type MetadataRecord = {
  readonly [Name in keyof Values]: { readonly type: Name; readonly value: Values[Name] }
}[keyof Values]

export type RegisterBrokerRecord = Values['RegisterBroker']
export type RegisterControllerRecord = Values['RegisterController']
/** Zero means unchanged. `fenced` 1 fences, -1 unfences; `inControlledShutdown` 1 begins it; empty `logDirs`: unchanged. */
export type BrokerRegistrationChangeRecord = Values['BrokerRegistrationChange']
export type PartitionRecord = Values['Partition']
/** Null and the defaults (-2 leader, -1 recovery state) mean: unchanged. A leader given, even the same, starts an epoch. */
export type PartitionChangeRecord = Values['PartitionChange']
/** `resourceType` is one of `ResourceType`; a null value removes the key. */
export type ConfigRecord = Values['Config']
export type ClientQuotaRecord = Values['ClientQuota']
export type AccessControlEntryRecord = Values['AccessControlEntry']
export type UserScramCredentialRecord = Values['UserScramCredential']
export type DelegationTokenRecord = Values['DelegationToken']

/** Where a listener is reached. `securityProtocol`: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL. */
export type EndpointRecord = RegisterBrokerRecord['endPoints'][number]
export type FeatureRangeRecord = RegisterBrokerRecord['features'][number]
/** A null name stands for the default entity of the type. */
export type QuotaEntityRecord = ClientQuotaRecord['entity'][number]

/** Levels of `metadata.version` from which on a record type has a newer version, as Kafka has them. */
const versionSteps: { readonly [Type in MetadataRecord['type']]?: readonly number[] } = {
  // In controlled shutdown 3.3-IV3, migrating 3.4-IV0, directories 3.7-IV2, cordoned directories 4.3-IV0.
  RegisterBroker: [7, 8, 17, 30],
  BrokerRegistrationChange: [7, 17, 30],
  // Directories 3.7-IV2, eligible leader replicas 4.0-IV1.
  Partition: [17, 23],
  PartitionChange: [17, 23],
}

/** The value of `record` in the log, in the version that a cluster at this `metadata.version` reads. */
export function encodeRecord(record: MetadataRecord, metadataVersion: number): Buffer {
  const version = (versionSteps[record.type] ?? []).filter((level) => metadataVersion >= level).length
  return encodeMetadataRecord(record, version)
}

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
