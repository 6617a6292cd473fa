import type { FetchRequest } from '../protocol/apis/fetch.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { ReplicaSession } from './replica-session.ts'

/** A follower has one, or a few: this many are not reached by brokers that behave. */
export const REPLICA_SESSIONS_MAX = 1000
/** A follower asks at least every few hundred milliseconds; one that was silent for so long has another session by now. */
const FORGET_MS = 60_000

const INITIAL_EPOCH = 0
const FINAL_EPOCH = -1
const LAST_EPOCH = 2 ** 31 - 1

/** What one request of a follower is about. */
export type ReplicaPlan =
  | { readonly kind: 'refused'; readonly errorCode: number }
  | {
      readonly kind: 'fetch'
      readonly session: ReplicaSession
      /** Every partition of the request is answered, not only those with news. */
      readonly isFull: boolean
      /** Not to wait for anything: its sender has more to say already. */
      readonly isWoken: boolean
    }

/** The sessions of followers: apart from those of consumers, which can neither fill nor empty the place. */
export class ReplicaSessions {
  readonly #sessions = new Map<number, ReplicaSession>()
  readonly #newId: () => number

  /** `newId`: unpredictable, 1 to 2^31-1. */
  constructor(newId: () => number) {
    this.#newId = newId
  }

  get size(): number {
    return this.#sessions.size
  }

  plan(request: FetchRequest, { replicaId, nowMs }: { replicaId: number; nowMs: number }): ReplicaPlan {
    const { sessionId, sessionEpoch } = request
    const known = this.#sessions.get(sessionId)
    if (sessionEpoch === INITIAL_EPOCH || sessionEpoch === FINAL_EPOCH) {
      if (known?.replicaId === replicaId) this.#remove(known)
      const session = sessionEpoch === FINAL_EPOCH ? new ReplicaSession(0, replicaId) : this.#create(replicaId, nowMs)
      session.update(request)
      return { kind: 'fetch', session, isFull: true, isWoken: false }
    }
    if (known?.replicaId !== replicaId) return { kind: 'refused', errorCode: ErrorCode.FETCH_SESSION_ID_NOT_FOUND }
    if (known.nextEpoch !== sessionEpoch) return { kind: 'refused', errorCode: ErrorCode.INVALID_FETCH_SESSION_EPOCH }
    known.nextEpoch = sessionEpoch === LAST_EPOCH ? 1 : sessionEpoch + 1
    known.lastUsedMs = nowMs
    known.waiter?.supersede()
    return { kind: 'fetch', session: known, isFull: false, isWoken: known.wokenEpoch === sessionEpoch }
  }

  /** The follower has news: the fetch of this epoch is answered now, or when it comes. */
  wake(replicaId: number, { sessionId, sessionEpoch }: { sessionId: number; sessionEpoch: number }): void {
    const session = this.#sessions.get(sessionId)
    if (session?.replicaId !== replicaId) return
    if (sessionEpoch === session.nextEpoch) session.wokenEpoch = sessionEpoch
    // One that was answered meanwhile has been followed by another, which brings the news.
    else if (session.nextEpoch - 1 === sessionEpoch || session.nextEpoch === 1) session.waiter?.wake()
  }

  [Symbol.iterator](): IterableIterator<ReplicaSession> {
    return this.#sessions.values()
  }

  close(): void {
    for (const session of [...this.#sessions.values()]) this.#remove(session)
  }

  #create(replicaId: number, nowMs: number): ReplicaSession {
    for (const session of [...this.#sessions.values()]) {
      const isFull = this.#sessions.size >= REPLICA_SESSIONS_MAX
      if (isFull || nowMs - session.lastUsedMs > FORGET_MS) this.#remove(session)
    }
    let id = this.#newId()
    while (this.#sessions.has(id)) id = this.#newId()
    const session = new ReplicaSession(id, replicaId)
    session.lastUsedMs = nowMs
    this.#sessions.set(id, session)
    return session
  }

  #remove(session: ReplicaSession): void {
    this.#sessions.delete(session.id)
    session.waiter?.supersede()
    session.close()
  }
}
