import type { Random } from '../base/random.ts'
import type { AddRaftVoterRequest, AddRaftVoterResponse } from '../protocol/apis/add-raft-voter.ts'
import type { ApiVersionsRequest, ApiVersionsResponse } from '../protocol/apis/api-versions.ts'
import type { BeginQuorumEpochRequest, BeginQuorumEpochResponse } from '../protocol/apis/begin-quorum-epoch.ts'
import type { EndQuorumEpochRequest, EndQuorumEpochResponse } from '../protocol/apis/end-quorum-epoch.ts'
import type { FetchSnapshotRequest, FetchSnapshotResponse } from '../protocol/apis/fetch-snapshot.ts'
import type { FetchRequest, FetchResponse } from '../protocol/apis/fetch.ts'
import type { RemoveRaftVoterRequest, RemoveRaftVoterResponse } from '../protocol/apis/remove-raft-voter.ts'
import type { UpdateRaftVoterRequest, UpdateRaftVoterResponse } from '../protocol/apis/update-raft-voter.ts'
import type { VoteRequest, VoteResponse } from '../protocol/apis/vote.ts'
import type { KRaftVersionRecord, LeaderChangeMessage, VotersRecord } from '../protocol/messages/control-records.ts'
import type { ValueOf } from '../protocol/schema.ts'
import type { Mutations } from './mutations.ts'

/** A replica is its directory: the same number on a wiped disk is another replica (KIP-853, reliability I11). */
export interface ReplicaKey {
  readonly id: number
  /** `NO_DIRECTORY` where peers or records of kraft.version 0 do not say. */
  readonly directoryId: string
}

export const NO_DIRECTORY = 'AAAAAAAAAAAAAAAAAAAAAA'
export const NOBODY = -1

/** A place in the log: `offset` is one past the last record, `epoch` is that record's. Also the id of a snapshot. */
export interface LogPosition {
  readonly offset: number
  readonly epoch: number
}

/** A listener's name, and where it is reached. */
export interface Endpoint {
  readonly name: string
  readonly host: string
  readonly port: number
}

/** A member of the voter set, as the log has it. */
export type Voter = ValueOf<(typeof VotersRecord)['fields']>['voters'][number]

/** The control records that the quorum writes and goes by. */
export type QuorumRecord =
  | { readonly type: 'LeaderChange'; readonly value: ValueOf<(typeof LeaderChangeMessage)['fields']> }
  | { readonly type: 'KRaftVersion'; readonly value: ValueOf<(typeof KRaftVersionRecord)['fields']> }
  | { readonly type: 'KRaftVoters'; readonly value: ValueOf<(typeof VotersRecord)['fields']> }

/** What must not be forgotten: Kafka's `quorum-state` file. */
export interface QuorumState {
  /** -1: unknown. */
  readonly leaderId: number
  readonly leaderEpoch: number
  /** -1: nobody. */
  readonly votedId: number
  readonly votedDirectoryId: string
}

/**
 * The local log as far as the machine has to see it. Every answer holds for the log as it is after all effects that were
 * handed out before.
 */
export interface RaftLog {
  readonly startOffset: number
  /** One past the last record, flushed or not. */
  readonly endOffset: number
  /** Of the last record; of the snapshot at the start when there is none; 0 in an empty log. */
  readonly lastEpoch: number
  /**
   * The greatest epoch in the log that is not greater than `epoch`, and where it ends. The epoch of the snapshot at the
   * start counts. Where all are greater: `epoch` itself, which ends where the log begins.
   */
  endOffsetForEpoch(epoch: number): LogPosition
  readonly earliestSnapshot: LogPosition | null
  readonly latestSnapshot: LogPosition | null
  /** Null when there is no such snapshot. */
  snapshotBytes(id: LogPosition): number | null
}

export type PeerRequest =
  | { readonly api: 'Vote'; readonly body: VoteRequest }
  | { readonly api: 'BeginQuorumEpoch'; readonly body: BeginQuorumEpochRequest }
  | { readonly api: 'EndQuorumEpoch'; readonly body: EndQuorumEpochRequest }
  | { readonly api: 'Fetch'; readonly body: FetchRequest }
  | { readonly api: 'FetchSnapshot'; readonly body: FetchSnapshotRequest }
  | { readonly api: 'UpdateRaftVoter'; readonly body: UpdateRaftVoterRequest }

/** What we are asked. */
export type InboundRequest =
  | PeerRequest
  | { readonly api: 'AddRaftVoter'; readonly body: AddRaftVoterRequest }
  | { readonly api: 'RemoveRaftVoter'; readonly body: RemoveRaftVoterRequest }

/** What we ask. */
export type OutboundRequest = PeerRequest | { readonly api: 'ApiVersions'; readonly body: ApiVersionsRequest }

type PeerResponse =
  | { readonly api: 'Vote'; readonly body: VoteResponse }
  | { readonly api: 'BeginQuorumEpoch'; readonly body: BeginQuorumEpochResponse }
  | { readonly api: 'EndQuorumEpoch'; readonly body: EndQuorumEpochResponse }
  | { readonly api: 'Fetch'; readonly body: FetchResponse }
  | { readonly api: 'FetchSnapshot'; readonly body: FetchSnapshotResponse }
  | { readonly api: 'UpdateRaftVoter'; readonly body: UpdateRaftVoterResponse }

/** An answer to what we asked. */
export type InboundResponse = PeerResponse | { readonly api: 'ApiVersions'; readonly body: ApiVersionsResponse }

/** Our answer to what we were asked. */
export type OutboundResponse =
  | PeerResponse
  | { readonly api: 'AddRaftVoter'; readonly body: AddRaftVoterResponse }
  | { readonly api: 'RemoveRaftVoter'; readonly body: RemoveRaftVoterResponse }

/** A quorum record at its place in the log. */
export interface PlacedRecord {
  readonly offset: number
  readonly record: QuorumRecord
}

/** Names a request that waits for its answer; given by the driver, never twice. */
export type Ticket = number

/** Facts. Times are monotonic milliseconds and never go back. */
export type Input = { readonly nowMs: number } & (
  | {
      readonly type: 'request'
      readonly ticket: Ticket
      /** The API's version, for what the answer may hold. */
      readonly version: number
      /** Name of the listener over which it came; endpoints in the answer are of that one. */
      readonly listener?: string
      readonly request: InboundRequest
    }
  | { readonly type: 'response'; readonly correlationId: number; readonly response: InboundResponse }
  /**
   * The request will not be answered: connection lost, timed out, answer unreadable. `isRefused`: there is a host, and
   * nobody listens at that address; the process is gone.
   */
  | { readonly type: 'request-failed'; readonly correlationId: number; readonly isRefused?: boolean }
  /**
   * Records are at the end of the log now: the leader's own, or those of an `append` or `append-fetched` effect.
   * `quorumRecords` are all of that kind among them. After `append-fetched` it comes in any case: with the old end when
   * what was fetched was damaged and nothing was appended.
   */
  | { readonly type: 'appended'; readonly endOffset: number; readonly quorumRecords: readonly PlacedRecord[] }
  /** A `truncate` effect was performed. */
  | { readonly type: 'truncated' }
  /** All before `durableOffset` is on the platter. */
  | { readonly type: 'flushed'; readonly durableOffset: number }
  /** A snapshot of committed records was written; the log may begin later now. */
  | { readonly type: 'snapshot-created'; readonly id: LogPosition }
  /** The last chunk of a fetched snapshot was found whole, the log emptied and begun anew at its end, durably. */
  | {
      readonly type: 'snapshot-installed'
      readonly id: LogPosition
      readonly kraftVersion: number
      readonly voters: readonly Voter[] | null
    }
  /** It was damaged, and thrown away. */
  | { readonly type: 'snapshot-refused'; readonly id: LogPosition }
  | { readonly type: 'tick' }
  /** The leader of `epoch` should hand over: its controller failed, or an operator wants it. */
  | { readonly type: 'resign'; readonly epoch: number }
  /** The node is about to stop: it leads no more, and stands in no election. */
  | { readonly type: 'shut-down' }
)

/** Where a request goes. Bootstrap servers, whose ids are not known, have negative ones. */
export interface Destination {
  readonly nodeId: number
  readonly host: string
  readonly port: number
}

/**
 * Orders, to be performed in the order given, each completely before the next and before the next input. (A `send` is
 * performed when it is handed to the network.)
 */
export type Effect =
  /** Durable before anything after it: votes and epochs are promises. */
  | { readonly type: 'persist'; readonly state: QuorumState }
  | {
      readonly type: 'send'
      readonly correlationId: number
      readonly to: Destination
      readonly request: OutboundRequest
    }
  | { readonly type: 'respond'; readonly ticket: Ticket; readonly response: OutboundResponse }
  /**
   * The same, with record batches: from `fromOffset`, all below `limitOffset`. When the log was truncated below that
   * limit before they were read, the request must be left unanswered.
   */
  | {
      readonly type: 'respond-with-records'
      readonly ticket: Ticket
      readonly response: FetchResponse
      readonly fromOffset: number
      readonly limitOffset: number
      readonly maxBytes: number
    }
  /** The same, with bytes of a snapshot. */
  | {
      readonly type: 'respond-with-snapshot'
      readonly ticket: Ticket
      readonly response: FetchSnapshotResponse
      readonly id: LogPosition
      readonly position: number
      readonly maxBytes: number
    }
  /** One control batch, as the leader of `epoch`, at `baseOffset`, which is the end of the log. */
  | {
      readonly type: 'append'
      readonly epoch: number
      readonly baseOffset: number
      readonly records: readonly QuorumRecord[]
    }
  /** Batches as they came. CRCs, offsets from `baseOffset` on, and epochs up to `epoch` are to be checked. */
  | {
      readonly type: 'append-fetched'
      readonly epoch: number
      readonly baseOffset: number
      readonly records: readonly Buffer[]
    }
  | { readonly type: 'truncate'; readonly offset: number }
  /** Begins anew at position 0. After the last chunk the snapshot is checked and installed, or refused. */
  | {
      readonly type: 'write-snapshot'
      readonly id: LogPosition
      readonly position: number
      readonly chunk: readonly Buffer[]
      readonly isLast: boolean
    }
  /** Another process is this voter, and reached where the voter set says. This one must end. */
  | { readonly type: 'displaced'; readonly by: Endpoint }
  /** The high watermark: all before `offset` is committed. Only grows. */
  | { readonly type: 'commit'; readonly offset: number }
  /**
   * `epochStartOffset` is set when this node leads: it may act when it has applied all before that offset, and one more
   * (the LeaderChange). Null: it leads no more.
   */
  | {
      readonly type: 'leader-changed'
      readonly epoch: number
      readonly leaderId: number | null
      readonly epochStartOffset: number | null
    }

export interface RaftTimeouts {
  /** `controller.quorum.election.timeout.ms`: without a leader for this, up to twice this, a voter stands. */
  readonly electionTimeoutMs: number
  /** `controller.quorum.fetch.timeout.ms`: a follower that reached no leader for this stands. */
  readonly fetchTimeoutMs: number
  /** `controller.quorum.request.timeout.ms` */
  readonly requestTimeoutMs: number
  /** `controller.quorum.retry.backoff.ms`: to a peer that failed. */
  readonly retryBackoffMs: number
  /** `controller.quorum.election.backoff.max.ms`: how long the least preferred successor of a leader that resigned waits. */
  readonly electionBackoffMaxMs: number
  /** How long a leader may hold a fetch that has nothing to tell. */
  readonly fetchMaxWaitMs: number
}

export interface RaftOptions extends RaftTimeouts {
  readonly clusterId: string
  readonly self: ReplicaKey
  /** Of this node as a controller; none on a mere broker. */
  readonly endpoints: readonly Endpoint[]
  /** Which kraft.version this node can work by. */
  readonly kraftVersions: { readonly minSupportedVersion: number; readonly maxSupportedVersion: number }
  /** The listener over which controllers are reached. */
  readonly listener: string
  /** `controller.quorum.bootstrap.servers`: whom to ask while nobody in the voter set is known or answers. */
  readonly bootstrap: readonly { readonly host: string; readonly port: number }[]
  /** Random for each process: the directory under which it asks while it is not settled whether it is the voter that its folder was. */
  readonly strangerId: string
  /** An operator says so: the folder was moved here, and no process uses what it was copied from. */
  readonly hasMoved?: boolean
  /** May become a voter: it acknowledges only what it has flushed. False on a mere broker. */
  readonly canVote: boolean
  readonly fetchBytesMax: number
  /** Of a snapshot, in one answer. */
  readonly snapshotBytesMax: number
  readonly log: RaftLog
  /** All before it is durable when the machine starts; normally the end of the log. */
  readonly durableOffset: number
  /** What is known to be committed: the end of the snapshot that was loaded, or 0. */
  readonly highWatermark: number
  /** From `controller.quorum.voters`: in force while log and snapshot name none. */
  readonly staticVoters: readonly Voter[]
  /** Quorum records of the newest snapshot, which is placed at the offset before its end, and of the log after it. */
  readonly quorumRecords: readonly PlacedRecord[]
  /** The file's content, null when there is none. */
  readonly state: QuorumState | null
  readonly random: Random
  readonly nowMs: number
  /** Tests only: rules to be broken, to see that it is noticed. */
  readonly mutations?: Mutations
}
