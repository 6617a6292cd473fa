import { assert } from '../../base/assert.ts'
import { digestOf } from '../core/digest.ts'
import type { Endpoint } from './endpoint.ts'
import type { Wire } from './wire.ts'

/** What fits into the kernels' buffers of one direction: sent and not yet taken by the receiver. */
const WINDOW_BYTES = 256 * 1024
/** A read hands on at most this much at once. */
const READ_BYTES_MAX = 256 * 1024

interface Segment {
  readonly bytes: Buffer
  readonly arrivesMs: number
}

interface Queued {
  readonly buffer: Buffer
  /** Of its content when it was handed over: its owner must leave it alone until it has been sent. */
  readonly digest: number
  /** Set at the last buffer of a write: all of it has been sent then. */
  readonly sent: (() => void) | null
}

/**
 * One direction of a connection: what the sender has queued, what is under way, and the end of the stream. At most one
 * delivery is scheduled at a time, so bytes arrive in order.
 */
export class Pipe {
  readonly from: Endpoint
  readonly to: Endpoint
  readonly #wire: Wire
  #queue: Queued[] = []
  #queuedBytes = 0
  #transit: Segment[] = []
  /** Bytes of the first segment that were delivered already. */
  #offset = 0
  /** Sent, and not known by the sender to have been received. */
  #windowBytes = 0
  /** Received, but the word of it could not go back. */
  #unconfirmedBytes = 0
  #lastArrivalMs = 0
  /** What is sent before then arrives no earlier. */
  #heldUntilMs = 0
  #ended = false
  #endArrivesMs: number | null = null
  #endDelivered = false
  #scheduled = false
  /** Sent to a closed socket, which is answered once. */
  #bounced = false

  constructor(wire: Wire, from: Endpoint, to: Endpoint) {
    this.#wire = wire
    this.from = from
    this.to = to
  }

  get queuedBytes(): number {
    return this.#queuedBytes
  }

  /** Nothing is queued, and the end, when there is one, has left too. */
  get flushed(): boolean {
    return this.#queuedBytes === 0 && (!this.#ended || this.#endArrivesMs !== null)
  }

  get endSent(): boolean {
    return this.#endArrivesMs !== null
  }

  /** Bytes that the receiver has not read. */
  get hasUnread(): boolean {
    return this.#transit.length > 0
  }

  get windowBytes(): number {
    return this.#windowBytes
  }

  write(buffers: readonly Buffer[], sent: (() => void) | null = null): void {
    let bytes = 0
    for (const { length } of buffers) bytes += length
    // What leaves within this call cannot be changed by its owner before it has.
    if (bytes > 0 && this.#queuedBytes === 0 && bytes <= WINDOW_BYTES - this.#windowBytes) {
      this.#depart(joined(buffers, bytes))
      if (sent !== null) this.from.queueSent(sent)
    } else this.#enqueue(buffers, sent)
    this.pump()
  }

  #enqueue(buffers: readonly Buffer[], sent: (() => void) | null): void {
    const last = buffers.findLastIndex(({ length }) => length > 0)
    buffers.forEach((buffer, index) => {
      if (buffer.length === 0) return
      this.#queue.push({ buffer, digest: this.#digest(buffer), sent: index === last ? sent : null })
      this.#queuedBytes += buffer.length
    })
  }

  end(): void {
    this.#ended = true
    this.pump()
  }

  /** The sender is gone: what it had queued never leaves. */
  dropQueue(): void {
    this.#queue = []
    this.#queuedBytes = 0
  }

  /** The connection broke: what was under way is lost. */
  dropTransit(): void {
    this.dropQueue()
    this.#transit = []
  }

  /** What is sent from now on arrives no earlier than that, though its sender may be gone by then. */
  hold(untilMs: number): void {
    this.#heldUntilMs = Math.max(this.#heldUntilMs, untilMs)
  }

  /** Moves queued bytes under way as far as the window allows. */
  pump(): void {
    const room = WINDOW_BYTES - this.#windowBytes
    if (room > 0 && this.#queuedBytes > 0) this.#send(Math.min(room, this.#queuedBytes))
    if (this.#ended && this.#queuedBytes === 0 && this.#endArrivesMs === null) {
      this.#endArrivesMs = this.#arrivalMs()
      this.from.endLeft()
    }
    this.scheduleDelivery()
  }

  #send(bytes: number): void {
    const segment = Buffer.allocUnsafe(bytes)
    let filled = 0
    while (filled < bytes) {
      const { buffer, digest, sent } = this.#queue[0] as Queued
      assert(this.#digest(buffer) === digest, 'a buffer was changed before it was sent')
      const count = buffer.copy(segment, filled, 0, bytes - filled)
      filled += count
      if (count < buffer.length) {
        const rest = buffer.subarray(count)
        this.#queue[0] = { buffer: rest, digest: this.#digest(rest), sent }
        continue
      }
      this.#queue.shift()
      if (sent !== null) this.from.queueSent(sent)
    }
    this.#queuedBytes -= bytes
    this.#depart(segment)
  }

  #depart(segment: Buffer): void {
    this.#windowBytes += segment.length
    this.#transit.push({ bytes: segment, arrivesMs: this.#arrivalMs() })
  }

  #digest(buffer: Buffer): number {
    return this.#wire.traced ? digestOf(buffer) : 0
  }

  #arrivalMs(): number {
    const delayMs = this.#wire.delayMs(this.from.host, this.to.host)
    const earliestMs = Math.max(this.#lastArrivalMs, this.#heldUntilMs)
    this.#lastArrivalMs = Math.max(earliestMs, this.#wire.events.nowMs + delayMs)
    return this.#lastArrivalMs
  }

  /** Sees to it that the next delivery happens, if it can. Called whenever something may have changed. */
  scheduleDelivery(extraMs = 0): void {
    if (!this.to.isOpen) this.#bounce()
    if (this.#scheduled || !this.to.isReading || !this.#wire.isOpen(this.from.host, this.to.host)) return
    const segment = this.#transit[0]
    const dueMs = segment?.arrivesMs ?? (this.#endDelivered ? null : this.#endArrivesMs)
    if (dueMs === null) return
    this.#scheduled = true
    const delayMs = Math.max(0, dueMs - this.#wire.events.nowMs) + extraMs
    this.#wire.events.schedule(this.to.actor, delayMs, segment ? 'net data' : 'net end', this.to.id, () => {
      this.#scheduled = false
      this.#deliver()
    })
  }

  #bounce(): void {
    if (this.#bounced || this.#transit.length === 0 || !this.from.isOpen) return
    this.#bounced = true
    this.from.sentToClosed()
  }

  #deliver(): void {
    if (!this.to.isReading || !this.#wire.isOpen(this.from.host, this.to.host)) return
    const segment = this.#transit[0]
    if (segment === undefined) {
      if (this.#endArrivesMs !== null && !this.#endDelivered) {
        this.#endDelivered = true
        this.to.endArrived()
      }
      return
    }
    const chunk = this.#take(segment)
    this.#wire.tampered(this.from.host, this.to.host, chunk)
    if (this.#wire.traced) this.#wire.events.note(digestOf(chunk))
    this.to.received(chunk)
    // What the handler kept without copying it must not look right by luck.
    if (this.#wire.traced) chunk.fill(0xdd)
    this.#confirm(chunk.length)
    this.scheduleDelivery()
  }

  /** Part of what has arrived, cut where the wire likes. */
  #take(segment: Segment): Buffer {
    const available = Math.min(segment.bytes.length - this.#offset, READ_BYTES_MAX)
    const count = this.#wire.cut(available)
    const chunk = segment.bytes.subarray(this.#offset, this.#offset + count)
    this.#offset += count
    if (this.#offset === segment.bytes.length) {
      this.#transit.shift()
      this.#offset = 0
    }
    return chunk
  }

  #confirm(bytes: number): void {
    this.#unconfirmedBytes += bytes
    this.confirmIfOpen()
  }

  /** Tells the sender what was received, where the way back is open; its window opens and it may go on. */
  confirmIfOpen(): void {
    if (this.#unconfirmedBytes === 0 || !this.#wire.isOpen(this.to.host, this.from.host)) return
    this.#windowBytes -= this.#unconfirmedBytes
    this.#unconfirmedBytes = 0
    if (!this.from.isOpen) return
    this.pump()
    if (this.#queuedBytes === 0) this.from.queueEmptied()
  }
}

function joined(buffers: readonly Buffer[], bytes: number): Buffer {
  const result = Buffer.allocUnsafe(bytes)
  let at = 0
  for (const buffer of buffers) at += buffer.copy(result, at)
  return result
}
