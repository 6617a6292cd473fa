import { ByteReader, keptCopy } from '../base/bytes.ts'
import type { TopicId } from '../model/ids.ts'
import { CoordinatorRecordCodec, type CoordinatorRecordOf } from '../protocol/message-codec.ts'
import { GroupMetadataRecord } from '../protocol/messages/classic-group-records.ts'
import { LegacyOffsetCommitRecord, OffsetCommitRecord } from '../protocol/messages/offset-records.ts'
import type { GroupMetadata, GroupRecord, OffsetValue } from './records.ts'

/*
 * The versions that Apache Kafka 4.4 writes: its tools and older brokers read them.
 */
const GROUP_VERSION = 3
const OFFSET_VERSION = 4
/** The only version with an expiry time of the client's own. */
const EXPIRING_OFFSET_VERSION = 1

const records = {
  LegacyOffsetCommit: LegacyOffsetCommitRecord,
  OffsetCommit: OffsetCommitRecord,
  GroupMetadata: GroupMetadataRecord,
}
const codec = new CoordinatorRecordCodec(records)
type Known = CoordinatorRecordOf<typeof records>
type StoredGroup = NonNullable<Extract<Known, { type: 'GroupMetadata' }>['value']>

/** Key types of the other kinds of groups; true for the record that makes such a group be. */
const FOREIGN_TYPES: ReadonlyMap<number, boolean> = new Map([
  // KIP-848
  ...[3, 4, 5, 6, 7, 8, 16].map((type) => [type, type === 3] as const),
  // KIP-932
  ...[10, 11, 12, 13, 14, 15].map((type) => [type, type === 11] as const),
  // KIP-1071
  ...[17, 18, 19, 20, 21, 22, 23].map((type) => [type, type === 17] as const),
])

export function encodeRecord(record: GroupRecord): { readonly key: Buffer; readonly value: Buffer | null } {
  switch (record.type) {
    case 'offset': {
      const key = { group: record.groupId, topic: record.topic, partition: record.partition }
      const version =
        record.value !== null && record.value.expireTimestampMs >= 0 ? EXPIRING_OFFSET_VERSION : OFFSET_VERSION
      return codec.encode({ type: 'OffsetCommit', key, value: record.value && toStoredOffset(record.value) }, version)
    }
    case 'group': {
      const value = record.value && toStoredGroup(record.value)
      return codec.encode({ type: 'GroupMetadata', key: { group: record.groupId }, value }, GROUP_VERSION)
    }
    case 'foreign':
    case 'unknown':
      throw new TypeError(`records of type ${record.type} are only read`)
  }
}

/** Throws `MalformedError` for a record of a known kind that is broken or of a later version. Keeps no view of its input. */
export function decodeRecord(key: Buffer, value: Buffer | null): GroupRecord {
  const record = codec.decode(key, value)
  if (record === null) return decodeForeign(key, value)
  switch (record.type) {
    case 'GroupMetadata':
      return { type: 'group', groupId: record.key.group, value: record.value && fromStoredGroup(record.value) }
    case 'OffsetCommit':
    case 'LegacyOffsetCommit':
      return {
        type: 'offset',
        groupId: record.key.group,
        topic: record.key.topic,
        partition: record.key.partition,
        value: record.value && fromStoredOffset({ ...NO_LATER_FIELDS, ...record.value }),
      }
  }
}

/** All of them begin with the group's id. */
function decodeForeign(key: Buffer, value: Buffer | null): GroupRecord {
  const reader = new ByteReader(key)
  const isDefining = FOREIGN_TYPES.get(reader.int16())
  if (isDefining === undefined) return { type: 'unknown' }
  return { type: 'foreign', groupId: reader.utf8(reader.int16()), isDefining, isTombstone: value === null }
}

type StoredOffset = NonNullable<Extract<Known, { type: 'OffsetCommit' }>['value']>

const NO_LATER_FIELDS = { leaderEpoch: -1, expireTimestamp: -1, topicId: 'AAAAAAAAAAAAAAAAAAAAAA', lost: [] }

function fromStoredOffset(stored: StoredOffset): OffsetValue {
  return {
    offset: stored.offset,
    leaderEpoch: stored.leaderEpoch,
    metadata: stored.metadata,
    commitTimestampMs: stored.commitTimestamp,
    expireTimestampMs: stored.expireTimestamp,
    topicId: stored.topicId as TopicId,
    ...(stored.lost.length === 0 ? {} : { lost: stored.lost.map(({ from, to, at }) => ({ from, to, atMs: at })) }),
  }
}

function toStoredOffset(value: OffsetValue): StoredOffset {
  return {
    offset: value.offset,
    leaderEpoch: value.leaderEpoch,
    metadata: value.metadata,
    commitTimestamp: value.commitTimestampMs,
    expireTimestamp: value.expireTimestampMs,
    topicId: value.topicId,
    lost: value.lost?.map(({ from, to, atMs }) => ({ from, to, at: atMs })) ?? [],
  }
}

function fromStoredGroup(stored: StoredGroup): GroupMetadata {
  return {
    protocolType: stored.protocolType,
    generation: stored.generation,
    protocolName: stored.protocol,
    leaderId: stored.leader,
    stateTimestampMs: stored.currentStateTimestamp,
    members: stored.members.map((member) => ({
      memberId: member.memberId,
      groupInstanceId: member.groupInstanceId,
      clientId: member.clientId,
      clientHost: member.clientHost,
      // Absent in version 0, where the session timeout counted for both.
      rebalanceTimeoutMs: member.rebalanceTimeout < 0 ? member.sessionTimeout : member.rebalanceTimeout,
      sessionTimeoutMs: member.sessionTimeout,
      subscription: keptCopy(member.subscription),
      assignment: keptCopy(member.assignment),
    })),
  }
}

function toStoredGroup(value: GroupMetadata): StoredGroup {
  return {
    protocolType: value.protocolType,
    generation: value.generation,
    protocol: value.protocolName,
    leader: value.leaderId,
    currentStateTimestamp: value.stateTimestampMs,
    members: value.members.map((member) => ({
      memberId: member.memberId,
      groupInstanceId: member.groupInstanceId,
      clientId: member.clientId,
      clientHost: member.clientHost,
      rebalanceTimeout: member.rebalanceTimeoutMs,
      sessionTimeout: member.sessionTimeoutMs,
      subscription: member.subscription,
      assignment: member.assignment,
    })),
  }
}
