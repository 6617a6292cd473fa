/** Names a request that waits for its answer. Numbers are given out by the runtime and never come twice. */
export type Ticket = number

/** The world at the moment of an input. */
export interface Moment {
  /** Monotonic: for timeouts. */
  readonly nowMs: number
  /** Wall clock: for what is written down. */
  readonly wallMs: number
  /** Wall clock for what is removed: it follows a jump forward only after a while (H20). */
  readonly deletionMs: number
  /** The error to answer with when the input needs a record written and the log takes none now; null when it does. */
  readonly refusal: number | null
}

export interface Reply<Response> {
  readonly ticket: Ticket
  readonly response: Response
}

/** Something an operator will want to find in the log of the node. */
export interface Note {
  /** Default: info. */
  readonly level?: 'info' | 'warn' | 'error'
  readonly message: string
  readonly fields: Readonly<Record<string, string | number>>
}

/** What one input leads to. The runtime appends and replays `records` at once, before the next input. */
export interface Outcome<Rec, Response> {
  /** None when the moment has a refusal. Those that fit one batch together are written or lost together. */
  readonly records: readonly Rec[]
  /** Leave when `records`, and everything up to the offset `seen`, are committed. */
  readonly replies: readonly Reply<Response>[]
  /** Offset of the newest record that the replies may give away; -1 for none. */
  readonly seen: number
  readonly notes: readonly Note[]
}

/** Where a record came from. */
export interface Origin {
  readonly offset: number
  /** Of the transaction that the record belongs to; null when it stands alone. */
  readonly producerId: number | null
}

/**
 * A coordinator's state for one partition of its topic: a fold over the records there, and what it decides from it.
 *
 * Life: records are replayed, then `loaded` once, then `handle` and `tick` in any order. Each of these returns an
 * outcome whose records the runtime appends and replays before it calls again: what is decided next sees them, committed
 * or not. The runtime holds the replies until the records are committed, and throws the shard away when they will not
 * be. So a shard never has to undo anything, and nobody ever hears of something that was lost.
 */
export interface Shard<Rec, Request, Response> {
  /** The only way in which anything that is in the log changes, live and when loading. */
  replay(record: Rec, origin: Origin): void
  /** A transaction marker was written to the log. */
  replayTransactionEnd(producerId: number, isCommit: boolean, offset: number): void
  loaded(moment: Moment): Outcome<Rec, Response>
  /** The request is answered by a reply for `ticket`, in this outcome or in that of a later input. */
  handle(request: Request, ticket: Ticket, moment: Moment): Outcome<Rec, Response>
  /** When `tick` has something to do, on the monotonic clock; null when never. */
  nextDeadlineMs(): number | null
  /** Acts on one deadline that has come. The runtime goes on while `nextDeadlineMs` is in the past. */
  tick(moment: Moment): Outcome<Rec, Response>
  dump(): string
}
