import { assert } from '../base/assert.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { EpochEnd, FollowerEffect, FollowerInput, FollowerLog, FollowerOptions } from './follower-types.ts'

const NOTHING: readonly FollowerEffect[] = []
const APPEND: readonly FollowerEffect[] = [{ type: 'append' }]
const ASK_OFFSETS: readonly FollowerEffect[] = [{ type: 'ask-offsets' }]

/** A leader may hear of its election a little later than its followers: they ask again soon at first, for clients wait. */
const PAUSE_MS_MIN = 5
const PAUSE_GROWTH = 1.5
const PAUSE_MS_MAX = 1000

export type FollowerState = 'fetching' | 'asking' | 'truncating' | 'paused'

/**
 * One partition's follower in one leader epoch: makes its log equal to the leader's. It lives from the news of the
 * leader to the next leader epoch; a new epoch means a new machine. Only while it is `fetching` the leader is asked for
 * more, from the end of the log on.
 *
 * Invariants: it truncates only where the leader's history parts from its own, by epochs, never to a high watermark
 * (KIP-101, KIP-279, KIP-595); its high watermark is at most the leader's and at most the end of its log, and falls only
 * with the end of its log.
 */
export class PartitionFollower {
  readonly leaderId: number
  readonly leaderEpoch: number
  #state: FollowerState = 'fetching'
  #highWatermark: number
  #resumeMs = 0
  /** Pauses in a row: each is longer than the one before. */
  #pauses = 0

  constructor(options: FollowerOptions) {
    this.leaderId = options.leaderId
    this.leaderEpoch = options.leaderEpoch
    this.#highWatermark = options.highWatermark
  }

  get state(): FollowerState {
    return this.#state
  }

  get highWatermark(): number {
    return this.#highWatermark
  }

  /** When a paused follower goes on. */
  get resumeMs(): number {
    return this.#resumeMs
  }

  step(input: FollowerInput): readonly FollowerEffect[] {
    switch (input.type) {
      case 'answered':
        return this.#onAnswered(input)
      case 'appended':
        return this.#onAppended(input)
      case 'began-before':
        return this.#restart(input.offset, input.log)
      case 'refused':
        return this.#pause(input.nowMs)
      case 'offsets':
        return this.#onOffsets(input)
      case 'truncated':
        return this.#onTruncated(input.log)
      case 'tick':
        if (this.#state === 'paused' && input.nowMs >= this.#resumeMs) this.#state = 'fetching'
        return NOTHING
    }
  }

  /** `fetching hw=2`, then until when it pauses. */
  dump(): string {
    const until = this.#state === 'paused' ? ` until=${this.#resumeMs}` : ''
    return `${this.#state} hw=${this.#highWatermark}${until}`
  }

  #onAnswered(input: Extract<FollowerInput, { type: 'answered' }>): readonly FollowerEffect[] {
    assert(this.#state === 'fetching', `an answer is taken while ${this.#state}`)
    const { errorCode, divergingEpoch, ownEpoch, log, nowMs } = input
    if (errorCode === ErrorCode.OFFSET_OUT_OF_RANGE) return this.#ask()
    if (errorCode !== ErrorCode.NONE) return this.#pause(nowMs)
    if (divergingEpoch === null || ownEpoch === null) return APPEND
    // A leader that cannot say where: it has no history that reaches back so far.
    if (divergingEpoch.endOffset < 0) return this.#ask()
    const target = whereTheyPart(divergingEpoch, ownEpoch)
    // Not a divergence, whatever the peer says: acting on it would go round for ever.
    return target < log.endOffset ? this.#cut(target, log, input.leaderStartOffset) : this.#pause(nowMs)
  }

  #onAppended(input: Extract<FollowerInput, { type: 'appended' }>): readonly FollowerEffect[] {
    const { leaderHighWatermark, leaderStartOffset, log } = input
    this.#pauses = 0
    const offset = Math.min(leaderHighWatermark, log.endOffset)
    const mayRaise = offset > this.#highWatermark
    // Never beyond what is committed: a start offset beyond it would be a leader's mistake.
    const start = Math.min(leaderStartOffset, Math.max(offset, this.#highWatermark))
    const mayAdvance = start > log.startOffset
    if (mayRaise) this.#highWatermark = offset
    if (!mayRaise && !mayAdvance) return NOTHING
    const effects: FollowerEffect[] = []
    if (mayRaise) effects.push({ type: 'raise-high-watermark', offset })
    if (mayAdvance) effects.push({ type: 'advance-start', offset: start })
    return effects
  }

  #onOffsets({ leader, log, nowMs }: Extract<FollowerInput, { type: 'offsets' }>): readonly FollowerEffect[] {
    assert(this.#state === 'asking', `offsets are told while ${this.#state}`)
    if (leader === null) return this.#pause(nowMs)
    if (leader.startOffset > log.endOffset) return this.#restart(leader.startOffset, log)
    if (leader.endOffset < log.endOffset) return this.#cut(leader.endOffset, log, leader.startOffset)
    // The leader has caught up meanwhile.
    this.#state = 'fetching'
    return NOTHING
  }

  #onTruncated({ startOffset, endOffset }: FollowerLog): readonly FollowerEffect[] {
    assert(this.#state === 'truncating', `truncated while ${this.#state}`)
    this.#state = 'fetching'
    this.#highWatermark = Math.min(Math.max(this.#highWatermark, startOffset), endOffset)
    return NOTHING
  }

  #ask(): readonly FollowerEffect[] {
    this.#state = 'asking'
    return ASK_OFFSETS
  }

  #cut(offset: number, log: FollowerLog, leaderStartOffset: number): readonly FollowerEffect[] {
    // Nothing of ours is left: then we want all that the leader has, not only what comes after our old start.
    if (offset <= log.startOffset && leaderStartOffset >= 0) return this.#restart(leaderStartOffset, log)
    this.#state = 'truncating'
    return [{ type: 'truncate', offset, committedFrom: this.#committedFrom(offset, log) }]
  }

  #restart(offset: number, log: FollowerLog): readonly FollowerEffect[] {
    this.#state = 'truncating'
    // What lies before the leader's start was deleted there on purpose.
    return [{ type: 'restart', offset, committedFrom: this.#committedFrom(offset, log) }]
  }

  /** Of what goes, if the leader keeps what is before `offset`, this was committed once. */
  #committedFrom(offset: number, log: FollowerLog): number | null {
    const from = Math.max(offset, log.startOffset)
    return from < Math.min(this.#highWatermark, log.endOffset) ? from : null
  }

  #pause(nowMs: number): readonly FollowerEffect[] {
    this.#state = 'paused'
    this.#resumeMs = nowMs + Math.min(Math.round(PAUSE_MS_MIN * PAUSE_GROWTH ** this.#pauses), PAUSE_MS_MAX)
    this.#pauses += 1
    return NOTHING
  }
}

/** An epoch that we do not have: we cut back to the end of the one before it, and the next answer compares again. */
function whereTheyPart(leader: EpochEnd, own: EpochEnd): number {
  if (own.endOffset < 0) return leader.endOffset
  return own.leaderEpoch === leader.leaderEpoch ? Math.min(own.endOffset, leader.endOffset) : own.endOffset
}
