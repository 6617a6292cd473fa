import { LogRecordCodec, type LogRecordInput, type LogRecordOf } from '../message-codec.ts'
import {
  AbortTransactionRecord,
  BeginTransactionRecord,
  BrokerRegistrationChangeRecord,
  EndTransactionRecord,
  FeatureLevelRecord,
  FenceBrokerRecord,
  NoOpRecord,
  ProducerIdsRecord,
  RegisterBrokerRecord,
  RegisterControllerRecord,
  UnfenceBrokerRecord,
  UnregisterBrokerRecord,
  UnregisterControllerRecord,
  ZkMigrationStateRecord,
} from './metadata-cluster-records.ts'
import {
  AccessControlEntryRecord,
  ClientQuotaRecord,
  DelegationTokenRecord,
  RemoveAccessControlEntryRecord,
  RemoveDelegationTokenRecord,
  RemoveUserScramCredentialRecord,
  UserScramCredentialRecord,
} from './metadata-security-records.ts'
import {
  ClearElrRecord,
  ConfigRecord,
  PartitionChangeRecord,
  PartitionRecord,
  RemoveTopicRecord,
  TopicRecord,
} from './metadata-topic-records.ts'

/** Every record of `__cluster_metadata`. */
export const metadataRecords = {
  RegisterBroker: RegisterBrokerRecord,
  UnregisterBroker: UnregisterBrokerRecord,
  Topic: TopicRecord,
  Partition: PartitionRecord,
  Config: ConfigRecord,
  PartitionChange: PartitionChangeRecord,
  FenceBroker: FenceBrokerRecord,
  UnfenceBroker: UnfenceBrokerRecord,
  RemoveTopic: RemoveTopicRecord,
  DelegationToken: DelegationTokenRecord,
  UserScramCredential: UserScramCredentialRecord,
  FeatureLevel: FeatureLevelRecord,
  ClientQuota: ClientQuotaRecord,
  ProducerIds: ProducerIdsRecord,
  BrokerRegistrationChange: BrokerRegistrationChangeRecord,
  AccessControlEntry: AccessControlEntryRecord,
  RemoveAccessControlEntry: RemoveAccessControlEntryRecord,
  NoOp: NoOpRecord,
  ZkMigrationState: ZkMigrationStateRecord,
  RemoveUserScramCredential: RemoveUserScramCredentialRecord,
  BeginTransaction: BeginTransactionRecord,
  EndTransaction: EndTransactionRecord,
  AbortTransaction: AbortTransactionRecord,
  RemoveDelegationToken: RemoveDelegationTokenRecord,
  RegisterController: RegisterControllerRecord,
  ClearElr: ClearElrRecord,
  UnregisterController: UnregisterControllerRecord,
} as const

export type MetadataRecord = LogRecordOf<typeof metadataRecords>
export type MetadataRecordInput = LogRecordInput<typeof metadataRecords>

const codec = new LogRecordCodec(metadataRecords, { framed: true })

/** The value of a record in `__cluster_metadata` (its key is null). */
export function encodeMetadataRecord(record: MetadataRecordInput, version: number): Buffer {
  return codec.encode(record, version)
}

export function decodeMetadataRecord(value: Buffer): MetadataRecord {
  return codec.decode(value)
}
