import { bug } from '../../base/assert.ts'
import { letGoBlock } from '../../base/blocks.ts'
import type { NodeEndpoint, RequestContext } from '../../replica/types.ts'
import type { ClientConnection } from './client-connection.ts'

/** What the dispatcher knows of the API of a call. */
export interface CallKind {
  readonly apiKey: number
  readonly name: string
  /** The whole response frame, its size first. */
  encodeResponse(version: number, correlationId: number, body: unknown): readonly Buffer[]
  /** The call is over after `ms`, with so many bytes of response. */
  finished(ms: number, responseBytes: number): void
}

export interface CallFacts {
  readonly connection: ClientConnection
  readonly kind: CallKind
  readonly version: number
  readonly correlationId: number
  readonly clientId: string | null
  /** The whole request; when it lies in a block, the call holds it until it is answered. */
  readonly frame: Buffer
  readonly receivedMs: number
}

const NOTHING: readonly Buffer[] = []
/** Smaller answers are not counted among those that the node holds: the bound of one connection is enough. */
const COUNTED_BYTES_MIN = 16 * 1024

/**
 * One request from its decoding to its answer. A handler either returns the response body or calls `reply` (or
 * `replyNothing`) later, exactly once. When the connection goes away first, `abandoned` is called and the answer is
 * dropped: a handler that parked something for the call sets it to let go.
 */
export class Call implements RequestContext {
  readonly connection: ClientConnection
  readonly version: number
  readonly correlationId: number
  readonly clientId: string | null
  readonly frameBytes: number
  /** Monotonic time when the request was complete. */
  readonly receivedMs: number
  /** Set once answered; empty for a request that has no response (acks=0). */
  answer: readonly Buffer[] | null = null
  abandoned: (() => void) | null = null
  lent: readonly Buffer[] = NOTHING
  heldBytes = 0
  readonly #kind: CallKind
  #frame: Buffer | null
  #gone = false

  constructor(facts: CallFacts) {
    this.connection = facts.connection
    this.#kind = facts.kind
    this.version = facts.version
    this.correlationId = facts.correlationId
    this.clientId = facts.clientId
    this.frameBytes = facts.frame.length
    this.#frame = facts.frame
    this.receivedMs = facts.receivedMs
  }

  get apiKey(): number {
    return this.#kind.apiKey
  }

  /** Every topic: nobody is refused before authorisation exists. */
  mayAccess(_topic: string): boolean {
    return true
  }

  /** Where the client reaches node `nodeId`: on the listener that this request came in by. */
  endpointOf(nodeId: number): NodeEndpoint | null {
    return this.connection.endpointOf(nodeId)
  }

  /** True when nobody waits for the answer any more. */
  get gone(): boolean {
    return this.#gone
  }

  reply(body: unknown): void {
    if (this.#gone) return this.#giveBack()
    this.#finish(this.#kind.encodeResponse(this.version, this.correlationId, body))
  }

  /** Like `reply` with a body that was encoded for another version: ApiVersions answers unknown versions as v0. */
  replyAs(version: number, body: unknown): void {
    if (this.#gone) return
    this.#finish(this.#kind.encodeResponse(version, this.correlationId, body))
  }

  /** The request has no response. */
  replyNothing(): void {
    if (!this.#gone) this.#finish(NOTHING)
  }

  /** Tells the client of a failure in the only way an acks=0 request allows. */
  closeConnection(reason: string): void {
    if (!this.#gone) this.connection.refuse(reason)
  }

  #giveBack(): void {
    this.connection.answers.release(this.heldBytes)
    this.heldBytes = 0
  }

  /** By the connection, when it closes. */
  abandon(): void {
    this.#gone = true
    if (this.answer !== null) return this.#giveBack()
    const abandoned = this.abandoned
    this.abandoned = null
    abandoned?.()
  }

  #finish(answer: readonly Buffer[]): void {
    if (this.answer !== null) bug(`${this.#kind.name} request ${this.correlationId} answered twice`)
    this.answer = answer
    this.abandoned = null
    if (this.#frame !== null) letGoBlock(this.#frame)
    this.#frame = null
    let bytes = 0
    for (const buffer of answer) bytes += buffer.length
    if (this.heldBytes === 0 && bytes >= COUNTED_BYTES_MIN) {
      this.heldBytes = bytes
      this.connection.answers.hold(bytes)
    }
    this.#kind.finished(this.connection.monotonicMs() - this.receivedMs, bytes)
    this.connection.answered(this)
  }
}
