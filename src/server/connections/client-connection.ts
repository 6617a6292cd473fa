import { bug } from '../../base/assert.ts'
import { letGoBlocks } from '../../base/blocks.ts'
import type { Address, Connection, ConnectionHandler, NetError } from '../../env/net.ts'
import type { AnswerBudget } from '../../replica/answer-budget.ts'
import type { NodeEndpoint } from '../../replica/types.ts'
import type { ByteBudget } from './byte-budget.ts'
import type { Call } from './call.ts'
import { FrameAssembler, type FrameSink } from './frame-assembler.ts'
import type { ConnectionLimits } from './limits.ts'

/** What a connection needs from the server around it. */
export interface ConnectionHost {
  readonly limits: ConnectionLimits
  readonly budget: ByteBudget
  readonly answers: AnswerBudget
  monotonicMs(): number
  /**
   * Decodes the request and runs its handler, which answers through `call.reply`, now or later. A text refuses the
   * connection for that reason.
   */
  dispatch(connection: ClientConnection, frame: Buffer): string | null
  serves(apiKey: number): boolean
  /** We close the connection, and this is why. */
  refused(connection: ClientConnection, reason: string): void
  closed(connection: ClientConnection): void
  /** Where a client of this listener reaches `nodeId`. */
  endpointOf(connection: ClientConnection, nodeId: number): NodeEndpoint | null
}

/**
 * One client connection: requests in, responses out in the same order. Like Kafka it works on one request at a time,
 * except that Produce requests follow one another without waiting (each is appended in order before the next is
 * looked at; only their answers wait for disks and followers). Whatever may not start yet stays in the kernel: the
 * connection is paused, which slows the sender down.
 */
export class ClientConnection implements ConnectionHandler, FrameSink {
  readonly listenerName: string
  readonly acceptedMs: number
  /** What ApiVersions told us, for metrics and logs; empty until then. */
  clientSoftware = ''
  readonly #connection: Connection
  readonly #host: ConnectionHost
  readonly #assembler: FrameAssembler
  /** Begun and not yet answered, oldest first. */
  readonly #calls: Call[] = []
  /** A whole request that may not start yet. */
  #parked: Buffer | null = null
  #inFlightBytes = 0
  /** Bytes taken from the node's budget for the frame that is being assembled. */
  #assemblingBytes = 0
  /** Asked of the node's budget in vain so far; 0 when nothing is asked. */
  #wantedBytes = 0
  /** Given by the budget after a wait, not yet used. */
  #grantedBytes = 0
  #paused = false
  #lastActiveMs: number
  #frameBeganMs = 0
  #greeted = false
  #closed = false
  /** Inside the loop that cuts and starts requests: answers are gathered and sent in one write when it ends. */
  #working = false
  #out: Buffer[] = []
  /** Blocks that `#out` refers to. */
  #lent: Buffer[] = []
  /** What `#out` holds of the budget of answers, and what was written and has not left yet. */
  #outHeldBytes = 0
  #heldBytes = 0
  #writtenBytes = 0
  /** What the client had taken when it was last looked at, and since when it has taken nothing, or too little. */
  #takenBytes = 0
  #stalledMs = 0
  #slowMs = 0

  constructor(connection: Connection, listenerName: string, host: ConnectionHost) {
    this.#connection = connection
    this.#host = host
    this.listenerName = listenerName
    this.acceptedMs = host.monotonicMs()
    this.#lastActiveMs = this.acceptedMs
    this.#assembler = new FrameAssembler(this)
  }

  get local(): Address {
    return this.#connection.local
  }

  get remote(): Address {
    return this.#connection.remote
  }

  /** Monotonic time of the last byte in either direction. */
  get activeMs(): number {
    return this.#lastActiveMs
  }

  get callsInFlight(): number {
    return this.#calls.length
  }

  get answers(): AnswerBudget {
    return this.#host.answers
  }

  get bytesInFlight(): number {
    return this.#inFlightBytes
  }

  start(): void {
    this.#connection.start(this)
  }

  monotonicMs(): number {
    return this.#host.monotonicMs()
  }

  endpointOf(nodeId: number): NodeEndpoint | null {
    return this.#host.endpointOf(this, nodeId)
  }

  // Called by the network.

  data(chunk: Buffer): void {
    if (this.#closed) return
    this.#lastActiveMs = this.#host.monotonicMs()
    this.#working = true
    this.#assembler.push(chunk)
    this.#work()
  }

  drained(): void {
    if (!this.#closed) this.#goOn()
  }

  closed(_error: NetError | null): void {
    if (!this.#closed) this.#release()
    this.#host.closed(this)
  }

  // Called by the assembler.

  begin(frameBytes: number, apiKey: number): 'take' | 'wait' | { refuse: string } {
    const { budget } = this.#host
    const refuse = this.#sizeRefusal(frameBytes, apiKey)
    if (refuse !== null) return { refuse }
    if (this.#grantedBytes > 0) {
      if (this.#grantedBytes !== frameBytes) bug(`granted ${this.#grantedBytes} bytes for a frame of ${frameBytes}`)
      this.#grantedBytes = 0
    } else {
      if (this.#parked !== null || this.#wantedBytes > 0 || !this.#hasRoom(frameBytes)) return 'wait'
      if (!budget.take(frameBytes, this)) {
        this.#wantedBytes = frameBytes
        return 'wait'
      }
    }
    this.#assemblingBytes = frameBytes
    this.#frameBeganMs = this.#lastActiveMs
    return 'take'
  }

  /** A client that knows our versions from another connection may begin with a large Produce; other strangers do not. */
  #sizeRefusal(frameBytes: number, apiKey: number): string | null {
    const { requestBytesMax, firstRequestBytesMax } = this.#host.limits
    if (frameBytes > requestBytesMax) {
      return `request of ${frameBytes} bytes, socket.request.max.bytes is ${requestBytesMax}`
    }
    if (this.#greeted || frameBytes <= firstRequestBytesMax || this.#host.serves(apiKey)) return null
    return `first request of ${frameBytes} bytes with API key ${apiKey}, which is not served here`
  }

  frame(frame: Buffer): void {
    this.#assemblingBytes = 0
    this.#inFlightBytes += frame.length
    if (this.#mayStart(frame)) this.#begin(frame)
    else this.#parked = frame
  }

  broken(reason: string): void {
    this.refuse(reason)
  }

  // Called by the byte budget.

  granted(): void {
    this.#grantedBytes = this.#wantedBytes
    this.#wantedBytes = 0
    this.#goOn()
  }

  // Called by calls and by the dispatcher.

  /** A request has been decoded: its answer is now due, in this place of the order. */
  opened(call: Call): void {
    this.#greeted = true
    this.#calls.push(call)
  }

  /** `call` has its answer. It leaves as soon as all before it have left. */
  answered(call: Call): void {
    if (this.#closed) return
    this.#free(call.frameBytes)
    let head = this.#calls[0]
    while (head?.answer) {
      for (const buffer of head.answer) this.#out.push(buffer)
      for (const buffer of head.lent) this.#lent.push(buffer)
      this.#outHeldBytes += head.heldBytes
      this.#calls.shift()
      head = this.#calls[0]
    }
    if (this.#working) return
    this.#goOn()
  }

  /** Closes at once and says why in the log. */
  refuse(reason: string): void {
    if (this.#closed) return
    this.#host.refused(this, reason)
    this.#release()
    this.#connection.destroy()
  }

  /** Sends what is answered and ends; requests under way are abandoned. */
  end(): void {
    if (!this.#closed) this.#release()
    this.#connection.end()
  }

  /** Closes at once, without a word: the node stops, or the reason has been told. */
  destroy(): void {
    if (!this.#closed) this.#release()
    this.#connection.destroy()
  }

  /** No request under way and nothing heard or said for `connections.max.idle.ms`. */
  isIdle(nowMs: number): boolean {
    return this.#greeted && this.#calls.length === 0 && nowMs - this.#lastActiveMs >= this.#host.limits.idleMs
  }

  /** Which deadline this connection has broken at `nowMs`, or null. */
  overdue(nowMs: number): string | null {
    const { limits } = this.#host
    if (!this.#greeted && nowMs - this.acceptedMs >= limits.firstRequestDeadlineMs) {
      return `no valid request within ${limits.firstRequestDeadlineMs} ms of connecting`
    }
    return (this.#assemblingBytes > 0 ? this.#drip(nowMs) : null) ?? this.#stall(nowMs)
  }

  /** Whether the client sends its request too slowly: it holds the room of all of it. */
  #drip(nowMs: number): string | null {
    const { limits, budget } = this.#host
    const { filledBytes } = this.#assembler
    const tookMs = nowMs - this.#frameBeganMs
    const sofar = `${filledBytes} bytes of a request of ${this.#assemblingBytes} came in ${Math.round(tookMs)} ms`
    if (tookMs >= limits.frameDeadlineMs + filledBytes / limits.frameBytesPerMsMin) return sofar
    const isScarce = budget.waiting > 0
    const isTooSlow = tookMs >= limits.frameDeadlineScarceMs + filledBytes / limits.frameBytesPerMsScarceMin
    return isScarce && isTooSlow ? `${sofar}, and others wait for room` : null
  }

  /** Whether the client leaves its answers with us for too long. Called every few seconds. */
  #stall(nowMs: number): string | null {
    const { limits, answers } = this.#host
    const { unsentBytes } = this.#connection
    const takenBytes = this.#writtenBytes - unsentBytes
    const newBytes = takenBytes - this.#takenBytes
    this.#takenBytes = takenBytes
    if (unsentBytes === 0) {
      this.#stalledMs = 0
      this.#slowMs = 0
      return null
    }
    if (newBytes > 0) this.#stalledMs = nowMs
    if (newBytes > limits.frameBytesPerMsMin * SWEEP_MS) this.#slowMs = nowMs
    this.#stalledMs ||= nowMs
    this.#slowMs ||= nowMs
    const left = `${unsentBytes} bytes of its answers`
    if (nowMs - this.#stalledMs >= limits.answerDeadlineMs) {
      return `the client took none of ${left} for ${limits.answerDeadlineMs} ms`
    }
    if (answers.isShort && nowMs - this.#slowMs >= limits.answerDeadlineScarceMs) {
      return `the client took next to nothing of ${left} for ${limits.answerDeadlineScarceMs} ms, and others want the room`
    }
    return null
  }

  #hasRoom(frameBytes: number): boolean {
    const { limits } = this.#host
    if (this.#connection.unsentBytes > limits.unsentBytesMax) return false
    if (this.#calls.length === 0) return true
    return (
      this.#calls.length < limits.callsInFlightMax &&
      this.#inFlightBytes + frameBytes <= limits.connectionInFlightBytesMax
    )
  }

  #mayStart(frame: Buffer): boolean {
    if (this.#calls.length === 0) return true
    const apiKey = frame.length >= 2 ? frame.readInt16BE(0) : -1
    return apiKey === PRODUCE_KEY && (this.#calls.at(-1) as Call).apiKey === PRODUCE_KEY
  }

  #begin(frame: Buffer): void {
    const refusal = this.#host.dispatch(this, frame)
    if (refusal !== null) this.refuse(refusal)
  }

  #goOn(): void {
    if (this.#working) return
    this.#working = true
    this.#work()
  }

  /** Starts what may start, sends what is answered, and tells the network whether to read on. */
  #work(): void {
    for (;;) {
      if (this.#closed) break
      const parked = this.#parked
      if (parked !== null) {
        if (!this.#mayStart(parked)) break
        this.#parked = null
        this.#begin(parked)
        continue
      }
      if (!this.#assembler.waiting) break
      this.#assembler.resume()
      if (this.#assembler.waiting && this.#parked === null) break
    }
    this.#working = false
    if (this.#closed) return
    if (this.#out.length > 0) {
      const out = this.#out
      this.#out = []
      this.#lastActiveMs = this.#host.monotonicMs()
      for (const buffer of out) this.#writtenBytes += buffer.length
      this.#connection.write(out, this.#whenSent())
    }
    const pause = this.#parked !== null || this.#assembler.waiting
    if (pause === this.#paused) return
    this.#paused = pause
    if (pause) this.#connection.pause()
    else this.#connection.resume()
  }

  /** What to do once all that is to be written now has been sent. When the connection breaks before, the blocks are left to the garbage collector. */
  #whenSent(): (() => void) | undefined {
    const lent = this.#lent
    const heldBytes = this.#outHeldBytes
    if (lent.length === 0 && heldBytes === 0) return undefined
    this.#lent = []
    this.#outHeldBytes = 0
    this.#heldBytes += heldBytes
    return () => {
      letGoBlocks(lent)
      if (this.#closed) return
      this.#heldBytes -= heldBytes
      this.#host.answers.release(heldBytes)
    }
  }

  #free(bytes: number): void {
    this.#inFlightBytes -= bytes
    this.#host.budget.release(bytes)
  }

  /** Gives back all that this connection holds; calls that are still open hear that nobody waits for them. */
  #release(): void {
    this.#closed = true
    this.#assembler.stop()
    const parkedBytes = this.#parked?.length ?? 0
    this.#parked = null
    this.#out = []
    this.#lent = []
    const { budget, answers } = this.#host
    budget.leave(this)
    answers.release(this.#heldBytes + this.#outHeldBytes)
    this.#heldBytes = 0
    this.#outHeldBytes = 0
    const calls = this.#calls.splice(0)
    let refusedBytes = this.#inFlightBytes - parkedBytes
    for (const call of calls) {
      const bytes = call.answer === null ? call.frameBytes : 0
      refusedBytes -= bytes
      budget.release(bytes)
      call.abandon()
    }
    // One that was refused just now has no call.
    for (const bytes of [refusedBytes, parkedBytes, this.#assemblingBytes, this.#grantedBytes]) budget.release(bytes)
    this.#inFlightBytes = 0
    this.#assemblingBytes = 0
    this.#grantedBytes = 0
  }
}

/** How often `overdue` is asked. */
export const SWEEP_MS = 5000
const PRODUCE_KEY = 0
