import type { Destination, OutboundRequest } from './types.ts'

/** Among the destinations: whoever is at the place of this voter (`place.ts`). */
export const PLACE_ID = -1_000_000

/** A request on its way. */
export interface InFlight {
  readonly to: Destination
  readonly api: OutboundRequest['api']
  /** Vote: whether it was a pre-vote. */
  readonly preVote: boolean
  /** Fetch: where it reads from. */
  readonly fetchOffset: number
}

interface Waiting {
  readonly correlationId: number
  readonly request: InFlight
  readonly untilMs: number
}

/**
 * Requests to peers: at most one on its way to each, none for a while after a failure. An answer counts only while its
 * request is the one that is waited for: one that comes twice, or after a change of role or epoch, is nobody's.
 */
export class Connections {
  readonly #requestTimeoutMs: number
  readonly #retryBackoffMs: number
  #waiting = new Map<number, Waiting>()
  #backingOff = new Map<number, number>()
  #lastCorrelationId = 0

  constructor(requestTimeoutMs: number, retryBackoffMs: number) {
    this.#requestTimeoutMs = requestTimeoutMs
    this.#retryBackoffMs = retryBackoffMs
  }

  isReady(nodeId: number): boolean {
    return !this.#waiting.has(nodeId) && !this.#backingOff.has(nodeId)
  }

  isBackingOff(nodeId: number): boolean {
    return this.#backingOff.has(nodeId)
  }

  /** Of those who may know who leads. */
  get anyWaiting(): boolean {
    return this.#waiting.size > (this.#waiting.has(PLACE_ID) ? 1 : 0)
  }

  /** The correlation id. */
  begin(request: InFlight, nowMs: number): number {
    const correlationId = ++this.#lastCorrelationId
    this.#waiting.set(request.to.nodeId, { correlationId, request, untilMs: nowMs + this.#requestTimeoutMs })
    return correlationId
  }

  /** The request that this id answers, which waits no more; null when it is not waited for. */
  end(correlationId: number): InFlight | null {
    for (const [nodeId, waiting] of this.#waiting) {
      if (waiting.correlationId !== correlationId) continue
      this.#waiting.delete(nodeId)
      return waiting.request
    }
    return null
  }

  backOff(nodeId: number, nowMs: number): void {
    this.#backingOff.set(nodeId, nowMs + this.#retryBackoffMs)
  }

  /** Frees what has waited long enough. */
  expire(nowMs: number): void {
    for (const [nodeId, { untilMs }] of this.#waiting) {
      if (untilMs > nowMs) continue
      this.#waiting.delete(nodeId)
      this.backOff(nodeId, nowMs)
    }
    for (const [nodeId, untilMs] of this.#backingOff) if (untilMs <= nowMs) this.#backingOff.delete(nodeId)
  }

  reset(): void {
    this.#waiting = new Map()
    this.#backingOff = new Map()
  }

  nextDeadlineMs(): number {
    let next = Number.POSITIVE_INFINITY
    for (const { untilMs } of this.#waiting.values()) next = Math.min(next, untilMs)
    for (const untilMs of this.#backingOff.values()) next = Math.min(next, untilMs)
    return next
  }
}
