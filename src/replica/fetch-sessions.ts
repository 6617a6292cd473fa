import { ErrorCode } from '../protocol/errors.ts'
import type { FetchRequest } from '../protocol/apis/fetch.ts'
import { FetchSession, type FetchTarget, targetsOf } from './fetch-session.ts'

/** `max.incremental.fetch.session.cache.slots` where nobody says. */
const FETCH_SESSIONS_MAX = 1000
/** Of all sessions together; a client over it gets no session, and asks for everything each time. */
export const FETCH_SESSION_PARTITIONS_MAX = 1_000_000
/** A session may be thrown out for another one when it was not used, or exists, for so long (Kafka's constant). */
const EVICTION_MS = 120_000

const NO_SESSION = 0
const INITIAL_EPOCH = 0
const FINAL_EPOCH = -1

/** What one request is about. */
export type FetchPlan =
  | { readonly kind: 'refused'; readonly errorCode: number }
  | {
      readonly kind: 'fetch'
      readonly targets: readonly FetchTarget[]
      /** Null: none was asked for, or none is left. */
      readonly session: FetchSession | null
      /** Only what changed is answered. */
      readonly incremental: boolean
    }

/** The incremental fetch sessions of this node (KIP-227): bounded in number and size, thrown out when idle. */
export class FetchSessions {
  readonly #sessions = new Map<number, FetchSession>()
  readonly #newId: () => number
  readonly #max: number
  #partitions = 0
  evicted = 0

  /** `newId`: unpredictable, 1 to 2^31-1. `max`: sessions at a time, at least 0. */
  constructor(newId: () => number, max = FETCH_SESSIONS_MAX) {
    this.#newId = newId
    this.#max = max
  }

  get size(): number {
    return this.#sessions.size
  }

  plan(request: FetchRequest, { usesTopicIds, nowMs }: { usesTopicIds: boolean; nowMs: number }): FetchPlan {
    const { sessionId, sessionEpoch } = request
    if (sessionEpoch === INITIAL_EPOCH || sessionEpoch === FINAL_EPOCH) {
      if (sessionId !== NO_SESSION) this.#remove(sessionId)
      const targets = targetsOf(request.topics)
      const session = sessionEpoch === FINAL_EPOCH ? null : this.#create(targets, usesTopicIds, nowMs)
      return { kind: 'fetch', targets, session, incremental: false }
    }
    const session = this.#sessions.get(sessionId)
    if (session === undefined) return { kind: 'refused', errorCode: ErrorCode.FETCH_SESSION_ID_NOT_FOUND }
    if (session.nextEpoch !== sessionEpoch) return { kind: 'refused', errorCode: ErrorCode.INVALID_FETCH_SESSION_EPOCH }
    if (session.usesTopicIds !== usesTopicIds)
      return { kind: 'refused', errorCode: ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR }
    return this.#goOn(session, request, nowMs)
  }

  #goOn(session: FetchSession, request: FetchRequest, nowMs: number): FetchPlan {
    const before = session.size
    session.update(request)
    this.#partitions += session.size - before
    if (session.size === 0) {
      this.#remove(session.id)
      // What the request names it asks for all the same.
      return { kind: 'fetch', targets: targetsOf(request.topics), session: null, incremental: false }
    }
    if (this.#partitions > FETCH_SESSION_PARTITIONS_MAX && session.size > before) {
      this.#remove(session.id)
      return { kind: 'refused', errorCode: ErrorCode.FETCH_SESSION_ID_NOT_FOUND }
    }
    // The least recently used one comes first.
    this.#sessions.delete(session.id)
    this.#sessions.set(session.id, session)
    session.used(nowMs)
    return { kind: 'fetch', targets: session.targets(), session, incremental: true }
  }

  #create(targets: readonly FetchTarget[], usesTopicIds: boolean, nowMs: number): FetchSession | null {
    if (this.#partitions + targets.length > FETCH_SESSION_PARTITIONS_MAX) return null
    if (this.#sessions.size >= this.#max && !this.#evictFor(targets.length, nowMs)) return null
    let id = this.#newId()
    while (this.#sessions.has(id)) id = this.#newId()
    const session = new FetchSession({ id, usesTopicIds, nowMs }, targets)
    this.#sessions.set(id, session)
    this.#partitions += session.size
    return session
  }

  /** Makes room by the one idle longest, or else by an old one that is smaller than the newcomer. */
  #evictFor(size: number, nowMs: number): boolean {
    for (const session of this.#sessions.values()) {
      const idle = nowMs - session.lastUsedMs > EVICTION_MS
      const smaller = session.size < size && nowMs - session.createdMs > EVICTION_MS
      if (!idle && !smaller) continue
      this.#remove(session.id)
      this.evicted += 1
      return true
    }
    return false
  }

  #remove(id: number): void {
    const session = this.#sessions.get(id)
    if (session === undefined) return
    this.#partitions -= session.size
    this.#sessions.delete(id)
  }
}
