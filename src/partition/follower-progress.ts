/**
 * What a leader knows of one follower, since it was elected. A follower that has not fetched yet has no offsets:
 * nothing may be counted on it.
 */
export class FollowerProgress {
  readonly id: number
  /** Of the incarnation that fetched last; -1 before the first fetch. */
  brokerEpoch = -1
  /** Where its log begins; -1 before the first fetch. */
  startOffset = -1
  /** One past what it holds; -1 before the first fetch. */
  endOffset = -1
  /** One past what is in its file; null: all that it holds. */
  writtenOffset: number | null = null
  /** One past what it has fsynced; null: all that it holds, as far as it says. */
  durableOffset: number | null = -1
  /** The last moment at which it had all that the leader had. */
  caughtUpMs: number
  /** Since when it has been out of the ISR, as far as this leader knows; null: it is in. */
  outSinceMs: number | null = null
  #fetchedMs = 0
  /** Nothing was asked before the first fetch, so that one cannot have been level with it. */
  #leaderEndAtFetch = Number.POSITIVE_INFINITY
  /** Out of the ISR it counts as level only by what it has fetched since. */
  #mustProve = false

  /** `caughtUpMs`: when it is taken to have been level last; members of the ISR get the time of the election. */
  constructor(id: number, caughtUpMs: number) {
    this.id = id
    this.caughtUpMs = caughtUpMs
  }

  /** How long ago it was level, as far as that says that it is about to be again. */
  levelAgoMs(nowMs: number): number {
    return this.#mustProve ? Number.POSITIVE_INFINITY : nowMs - this.caughtUpMs
  }

  /**
   * `counted` is what this fetch proves by the topic's mode. Having now what the leader had at the fetch before means having
   * been level at that moment: so a follower under steady load is never late for the last few records (KIP-16).
   */
  fetched({ counted, leaderEndOffset, nowMs }: { counted: number; leaderEndOffset: number; nowMs: number }): void {
    if (counted >= leaderEndOffset) this.#provedLevel(nowMs)
    else if (counted >= this.#leaderEndAtFetch) this.#provedLevel(this.#fetchedMs)
    this.#fetchedMs = nowMs
    this.#leaderEndAtFetch = leaderEndOffset
  }

  /** It is out of the ISR: how level it was until then says nothing of when it will be again. */
  left(nowMs: number): void {
    this.outSinceMs = nowMs
    this.#beginAgain()
  }

  /** Another process, with what the one before it has left on disk. */
  restarted(brokerEpoch: number): void {
    this.brokerEpoch = brokerEpoch
    if (this.outSinceMs !== null) this.#beginAgain()
  }

  wasLevel(nowMs: number): void {
    this.caughtUpMs = Math.max(this.caughtUpMs, nowMs)
  }

  #provedLevel(atMs: number): void {
    this.wasLevel(atMs)
    this.#mustProve = false
  }

  #beginAgain(): void {
    this.#mustProve = true
    this.#leaderEndAtFetch = Number.POSITIVE_INFINITY
  }
}
