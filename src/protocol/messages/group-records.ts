import { CoordinatorRecordCodec, type CoordinatorRecordInput, type CoordinatorRecordOf } from '../message-codec.ts'
import { GroupMetadataRecord } from './classic-group-records.ts'
import {
  ConsumerGroupCurrentMemberAssignmentRecord,
  ConsumerGroupMemberMetadataRecord,
  ConsumerGroupMetadataRecord,
  ConsumerGroupPartitionMetadataRecord,
  ConsumerGroupRegularExpressionRecord,
  ConsumerGroupTargetAssignmentMemberRecord,
  ConsumerGroupTargetAssignmentMetadataRecord,
} from './consumer-group-records.ts'
import { LegacyOffsetCommitRecord, OffsetCommitRecord } from './offset-records.ts'
import {
  ShareGroupCurrentMemberAssignmentRecord,
  ShareGroupMemberMetadataRecord,
  ShareGroupMetadataRecord,
  ShareGroupStatePartitionMetadataRecord,
  ShareGroupTargetAssignmentMemberRecord,
  ShareGroupTargetAssignmentMetadataRecord,
} from './share-group-records.ts'
import {
  StreamsGroupCurrentMemberAssignmentRecord,
  StreamsGroupMemberMetadataRecord,
  StreamsGroupMetadataRecord,
  StreamsGroupTargetAssignmentMemberRecord,
  StreamsGroupTargetAssignmentMetadataRecord,
  StreamsGroupTopologyRecord,
} from './streams-group-records.ts'

/** Every record of `__consumer_offsets`. */
export const groupRecords = {
  LegacyOffsetCommit: LegacyOffsetCommitRecord,
  OffsetCommit: OffsetCommitRecord,
  GroupMetadata: GroupMetadataRecord,
  ConsumerGroupMetadata: ConsumerGroupMetadataRecord,
  ConsumerGroupPartitionMetadata: ConsumerGroupPartitionMetadataRecord,
  ConsumerGroupMemberMetadata: ConsumerGroupMemberMetadataRecord,
  ConsumerGroupTargetAssignmentMetadata: ConsumerGroupTargetAssignmentMetadataRecord,
  ConsumerGroupTargetAssignmentMember: ConsumerGroupTargetAssignmentMemberRecord,
  ConsumerGroupCurrentMemberAssignment: ConsumerGroupCurrentMemberAssignmentRecord,
  ShareGroupMetadata: ShareGroupMetadataRecord,
  ShareGroupMemberMetadata: ShareGroupMemberMetadataRecord,
  ShareGroupTargetAssignmentMetadata: ShareGroupTargetAssignmentMetadataRecord,
  ShareGroupTargetAssignmentMember: ShareGroupTargetAssignmentMemberRecord,
  ShareGroupCurrentMemberAssignment: ShareGroupCurrentMemberAssignmentRecord,
  ShareGroupStatePartitionMetadata: ShareGroupStatePartitionMetadataRecord,
  ConsumerGroupRegularExpression: ConsumerGroupRegularExpressionRecord,
  StreamsGroupMetadata: StreamsGroupMetadataRecord,
  StreamsGroupMemberMetadata: StreamsGroupMemberMetadataRecord,
  StreamsGroupTargetAssignmentMetadata: StreamsGroupTargetAssignmentMetadataRecord,
  StreamsGroupTargetAssignmentMember: StreamsGroupTargetAssignmentMemberRecord,
  StreamsGroupCurrentMemberAssignment: StreamsGroupCurrentMemberAssignmentRecord,
  StreamsGroupTopology: StreamsGroupTopologyRecord,
} as const

export type GroupRecord = CoordinatorRecordOf<typeof groupRecords>
export type GroupRecordInput = CoordinatorRecordInput<typeof groupRecords>

const codec = new CoordinatorRecordCodec(groupRecords)

/** Key and value of a record in `__consumer_offsets`. `version` is the value's. */
export function encodeGroupRecord(
  record: GroupRecordInput,
  version: number,
): { readonly key: Buffer; readonly value: Buffer | null } {
  return codec.encode(record, version)
}

/** Null for a kind of record that we do not know. */
export function decodeGroupRecord(key: Buffer, value: Buffer | null): GroupRecord | null {
  return codec.decode(key, value)
}
