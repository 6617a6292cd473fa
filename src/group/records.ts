import type { TopicId } from '../model/ids.ts'

/** A committed position of a group in a partition. */
export interface OffsetValue {
  readonly offset: number
  /** Of the record before `offset`, for the consumer to notice a truncated log (KIP-320); -1 when it did not say. */
  readonly leaderEpoch: number
  readonly metadata: string
  readonly commitTimestampMs: number
  /** Set by clients that name a retention of their own (OffsetCommit up to v4); else -1. */
  readonly expireTimestampMs: number
  /** Of the topic that the offset was committed for; `NO_TOPIC_ID` when it was not known. */
  readonly topicId: TopicId
  /** The newest ones; left out where there are none. */
  readonly lost?: readonly LostOffsets[]
}

/** Offsets that were deleted while the group had not committed beyond them. */
export interface LostOffsets {
  readonly from: number
  /** One past the last. */
  readonly to: number
  /** Wall clock, when the coordinator heard of it. */
  readonly atMs: number
}

export interface SavedMember {
  readonly memberId: string
  readonly groupInstanceId: string | null
  readonly clientId: string
  readonly clientHost: string
  readonly rebalanceTimeoutMs: number
  readonly sessionTimeoutMs: number
  readonly subscription: Buffer
  readonly assignment: Buffer
}

/** A classic group at the end of a rebalance. */
export interface GroupMetadata {
  /** Empty when the group has none. */
  readonly protocolType: string
  readonly generation: number
  readonly protocolName: string | null
  readonly leaderId: string | null
  /** -1 in records older than Kafka 2.1. */
  readonly stateTimestampMs: number
  readonly members: readonly SavedMember[]
}

/** One record of `__consumer_offsets`, decoded. A null value is a tombstone. */
export type GroupRecord =
  | {
      readonly type: 'offset'
      readonly groupId: string
      readonly topic: string
      readonly partition: number
      readonly value: OffsetValue | null
    }
  | { readonly type: 'group'; readonly groupId: string; readonly value: GroupMetadata | null }
  /**
   * Of a kind of group that this node does not coordinate (KIP-848, share, streams). It is left alone: its offsets are
   * kept and nobody may use its id for a classic group. `isDefining` is true of the one record that makes the group be.
   */
  | { readonly type: 'foreign'; readonly groupId: string; readonly isDefining: boolean; readonly isTombstone: boolean }
  | { readonly type: 'unknown' }
