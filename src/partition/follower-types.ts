/** The largest epoch of a log up to one that was asked for, and where it ends; -1 and -1: none is known. */
export interface EpochEnd {
  readonly leaderEpoch: number
  readonly endOffset: number
}

/** What the follower's log holds at the moment of an input. */
export interface FollowerLog {
  readonly startOffset: number
  readonly endOffset: number
}

export interface FollowerOptions {
  readonly leaderId: number
  readonly leaderEpoch: number
  /** As far as this node knows. */
  readonly highWatermark: number
}

/** Facts. Times are monotonic milliseconds. */
export type FollowerInput =
  /** The leader's answer to a fetch from the end of the log as it still is; its records have not been looked at. */
  | {
      readonly type: 'answered'
      readonly errorCode: number
      /** Where the leader's history and ours part: the leader's largest epoch up to our last one, and its end there. */
      readonly divergingEpoch: EpochEnd | null
      /** The same question put to our own log for that epoch; null without a divergence. */
      readonly ownEpoch: EpochEnd | null
      /** -1: not told. */
      readonly leaderStartOffset: number
      readonly log: FollowerLog
      readonly nowMs: number
    }
  /** The records of an answer are in the log (or it had none). */
  | {
      readonly type: 'appended'
      readonly leaderHighWatermark: number
      readonly leaderStartOffset: number
      readonly log: FollowerLog
    }
  /** They could not be: damaged on the way, or no room. */
  | { readonly type: 'refused'; readonly nowMs: number }
  /** The log is empty, and the leader's first batch begins before it, at `offset`: its start lies within that batch. */
  | { readonly type: 'began-before'; readonly offset: number; readonly log: FollowerLog }
  /** What the leader holds, after `ask-offsets`; null: it did not say. */
  | {
      readonly type: 'offsets'
      readonly leader: FollowerLog | null
      readonly log: FollowerLog
      readonly nowMs: number
    }
  /** A truncation or restart was carried out. */
  | { readonly type: 'truncated'; readonly log: FollowerLog }
  | { readonly type: 'tick'; readonly nowMs: number }

/** Orders, to be carried out as they stand. */
export type FollowerEffect =
  /** The records of the answer; none of a later leader epoch than this follower's (KAFKA-18723). */
  | { readonly type: 'append' }
  /**
   * Drop what reaches `offset`. `committedFrom`: where what was committed once, as far as we know, begins in what is lost;
   * null: nothing of it was.
   */
  | { readonly type: 'truncate'; readonly offset: number; readonly committedFrom: number | null }
  /** Drop everything and go on at `offset`, where the leader's log begins. */
  | { readonly type: 'restart'; readonly offset: number; readonly committedFrom: number | null }
  /** Ask the leader where its log begins and ends. */
  | { readonly type: 'ask-offsets' }
  | { readonly type: 'raise-high-watermark'; readonly offset: number }
  | { readonly type: 'advance-start'; readonly offset: number }
