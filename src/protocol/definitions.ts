import { apis } from './apis.ts'
import type { AnyField } from './field.ts'
import { ConsumerProtocolAssignment, ConsumerProtocolSubscription } from './messages/consumer-protocol.ts'
import {
  ControlRecordTypeSchema,
  EndTxnMarker,
  KRaftVersionRecord,
  LeaderChangeMessage,
  SnapshotFooterRecord,
  SnapshotHeaderRecord,
  VotersRecord,
} from './messages/control-records.ts'
import { groupRecords } from './messages/group-records.ts'
import { metadataRecords } from './messages/metadata-records.ts'
import { DefaultPrincipalData } from './messages/principal.ts'
import { remoteLogRecords } from './messages/remote-log-records.ts'
import { shareStateRecords } from './messages/share-state-records.ts'
import { AbortedTxn, ProducerSnapshot, QuorumStateData } from './messages/storage-files.ts'
import { transactionRecords } from './messages/transaction-records.ts'
import type { CoordinatorRecord, Listener, LogRecord } from './schema.ts'

/** One structure with a name of its own, seen without what is around it on the wire or on disk. */
export interface Definition {
  /** Kafka's name of the schema: `FetchRequest`, `TopicRecord`, `OffsetCommitKey`. */
  readonly name: string
  /** The key of the API or the id of the record; null where the place says what it is. */
  readonly id: number | null
  /** All that can be encoded and decoded, unstable versions included. */
  readonly versions: readonly [first: number, last: number]
  /** Kafka says so of requests only. */
  readonly lastIsUnstable: boolean
  readonly flexible: number
  readonly listeners: readonly Listener[] | null
  readonly body: AnyField
}

const COMMON = { id: null, lastIsUnstable: false, listeners: null }

function ofApis(): Definition[] {
  return [...apis.values()].flatMap(({ key, name, versions, unstable, flexible, listeners, request, response }) => {
    const common = {
      id: key,
      versions: [versions[0], unstable ?? versions[1]] as const,
      flexible,
    }
    return [
      { ...common, name: `${name}Request`, lastIsUnstable: unstable !== undefined, listeners, body: request },
      { ...common, name: `${name}Response`, lastIsUnstable: false, listeners: null, body: response },
    ]
  })
}

function ofLog(records: Readonly<Record<string, LogRecord>>): Definition[] {
  return Object.values(records).map((record) => ({
    ...COMMON,
    ...record,
    name: `${record.name}Record`,
    body: record.fields,
  }))
}

function ofCoordinator(records: Readonly<Record<string, CoordinatorRecord>>): Definition[] {
  return Object.values(records).flatMap(({ id, name, key, versions, flexible, value }) => [
    { ...COMMON, id, name: `${name}Key`, versions: [0, 0] as const, flexible: Number.POSITIVE_INFINITY, body: key },
    { ...COMMON, id, name: `${name}Value`, versions, flexible, body: value },
  ])
}

/** Every structure of the protocol, for what must treat them all alike: comparing them with Kafka's, trying them out. */
export function allDefinitions(): Definition[] {
  const messages = [
    ConsumerProtocolSubscription,
    ConsumerProtocolAssignment,
    ControlRecordTypeSchema,
    EndTxnMarker,
    LeaderChangeMessage,
    SnapshotHeaderRecord,
    SnapshotFooterRecord,
    KRaftVersionRecord,
    VotersRecord,
    ProducerSnapshot,
    AbortedTxn,
    QuorumStateData,
    DefaultPrincipalData,
  ]
  return [
    ...ofApis(),
    ...ofLog(metadataRecords),
    ...ofLog(remoteLogRecords),
    ...ofCoordinator(groupRecords),
    ...ofCoordinator(transactionRecords),
    ...ofCoordinator(shareStateRecords),
    ...messages.map((message) => ({ ...COMMON, ...message, body: message.fields })),
  ]
}
