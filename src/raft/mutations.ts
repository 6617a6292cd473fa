/**
 * Rules of consensus that a test can switch off one by one (reliability §10): each must be noticed by the invariants of
 * the random cluster within a stated number of seeds. Production code never sets any.
 */
export interface Mutations {
  /** A vote is not written down before it is told. */
  readonly voteNotSynced?: boolean
  /** A restarted voter does not remember whom it voted for. */
  readonly voteForgottenAtStart?: boolean
  /** A restarted candidate, or leader, goes on in its epoch although its log may be shorter now. */
  readonly epochResumed?: boolean
  /** Votes go to candidates whose log is behind. */
  readonly logNotComparedForVote?: boolean
  /** Records of earlier epochs are committed by counting copies (figure 8 of the Raft paper). */
  readonly oldEpochsCounted?: boolean
  /** The leader counts its own records before they are flushed. */
  readonly leaderCountsUnflushed?: boolean
  /** A follower acknowledges records before they are flushed. */
  readonly followerAcknowledgesUnflushed?: boolean
  /** A diverged follower cuts at its high watermark instead of asking where (before KIP-101). */
  readonly truncatedToHighWatermark?: boolean
  /** A diverged follower is served as if its log were a prefix. */
  readonly divergenceIgnored?: boolean
  /** A voter is its number, whatever its directory. */
  readonly directoryIgnored?: boolean
  /** The next change of the voter set does not wait for the last one, nor for a commit in the leader's epoch. */
  readonly changesOverlap?: boolean
  /** The voter set stays when the record that brought it is truncated. */
  readonly votersKeptOnTruncation?: boolean
}
