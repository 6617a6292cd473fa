import { MalformedError } from '../base/bytes.ts'
import { buildBatch, ControlRecordType, controlRecordKey, type RecordToBuild } from '../protocol/batch/build.ts'
import { decodeMessage, encodeMessage } from '../protocol/message-codec.ts'
import {
  KRaftVersionRecord,
  LeaderChangeMessage,
  SnapshotFooterRecord,
  SnapshotHeaderRecord,
  VotersRecord,
} from '../protocol/messages/control-records.ts'
import type { ValueOf } from '../protocol/schema.ts'
import { NO_DIRECTORY, type QuorumRecord } from '../raft/types.ts'

/** The control records of the metadata log and of its snapshots (KIP-595, KIP-630, KIP-853). */
export type ControlRecord =
  | QuorumRecord
  | { readonly type: 'SnapshotHeader'; readonly value: ValueOf<(typeof SnapshotHeaderRecord)['fields']> }
  | { readonly type: 'SnapshotFooter'; readonly value: ValueOf<(typeof SnapshotFooterRecord)['fields']> }

export function buildControlBatch(
  records: readonly ControlRecord[],
  stamp: { readonly wallMs: number; readonly baseOffset?: number; readonly leaderEpoch?: number },
): Buffer {
  const { wallMs, ...rest } = stamp
  return buildBatch({ ...rest, isControl: true, records: records.map((record) => toRecord(record, wallMs)) })
}

function toRecord(record: ControlRecord, timestampMs: number): RecordToBuild {
  switch (record.type) {
    case 'LeaderChange':
      // Version 0, without directories, also at kraft.version 1: Kafka writes no other, and its tools read no other.
      return {
        key: keyOf('LEADER_CHANGE'),
        value: encodeMessage(LeaderChangeMessage, 0, withoutDirectories(record.value)),
        timestampMs,
      }
    case 'SnapshotHeader':
      return { key: keyOf('SNAPSHOT_HEADER'), value: encodeMessage(SnapshotHeaderRecord, 0, record.value), timestampMs }
    case 'SnapshotFooter':
      return { key: keyOf('SNAPSHOT_FOOTER'), value: encodeMessage(SnapshotFooterRecord, 0, record.value), timestampMs }
    case 'KRaftVersion':
      return { key: keyOf('KRAFT_VERSION'), value: encodeMessage(KRaftVersionRecord, 0, record.value), timestampMs }
    case 'KRaftVoters':
      return { key: keyOf('KRAFT_VOTERS'), value: encodeMessage(VotersRecord, 0, record.value), timestampMs }
  }
}

type LeaderChange = ValueOf<(typeof LeaderChangeMessage)['fields']>

function withoutDirectories({ leaderId, voters, grantingVoters }: LeaderChange): LeaderChange {
  const plain = (all: LeaderChange['voters']) => all.map(({ voterId }) => ({ voterId, voterDirectoryId: NO_DIRECTORY }))
  return { leaderId, voters: plain(voters), grantingVoters: plain(grantingVoters) }
}

function keyOf(type: keyof typeof ControlRecordType): Buffer {
  return controlRecordKey(ControlRecordType[type])
}

/** Throws `MalformedError` for a type that has no business in a metadata log. */
export function decodeControlRecord(key: Buffer | null, value: Buffer | null): ControlRecord {
  if (key === null || key.length < 4 || value === null) throw new MalformedError('control record without key or value')
  const type = key.readInt16BE(2)
  switch (type) {
    case ControlRecordType.LEADER_CHANGE:
      return { type: 'LeaderChange', value: decodeMessage(LeaderChangeMessage, value).value }
    case ControlRecordType.SNAPSHOT_HEADER:
      return { type: 'SnapshotHeader', value: decodeMessage(SnapshotHeaderRecord, value).value }
    case ControlRecordType.SNAPSHOT_FOOTER:
      return { type: 'SnapshotFooter', value: decodeMessage(SnapshotFooterRecord, value).value }
    case ControlRecordType.KRAFT_VERSION:
      return { type: 'KRaftVersion', value: decodeMessage(KRaftVersionRecord, value).value }
    case ControlRecordType.KRAFT_VOTERS:
      return { type: 'KRaftVoters', value: decodeMessage(VotersRecord, value).value }
    default:
      throw new MalformedError(`control record of type ${type} in the metadata log`)
  }
}
