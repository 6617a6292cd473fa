import { assert } from '../../base/assert.ts'
import { type Address, type Connection, type ConnectionHandler, NetError } from '../../env/net.ts'
import type { Actor } from '../core/actor.ts'
import type { Host } from './host.ts'
import { Pipe } from './pipe.ts'
import type { Wire } from './wire.ts'

/** Queued beyond this, `write` asks its caller to wait. */
const ROOMY_BYTES = 64 * 1024
/** An ended connection waits this long for the other side's end. */
const LINGER_MS = 2000
/** Linux sends again what was not confirmed after 0.2 s and then ever more seldom. */
const RETRANSMISSION_MS = 1500
/** An idle connection is probed every so often, and given up when ten probes found no answer. */
const KEEP_ALIVE_PROBE_MS = 60_000
const KEEP_ALIVE_FAILED_MS = 735_000

/**
 * One side of a connection. Life: open; `end` or the other side's end closes one direction each; when both are closed, or
 * on a failure, the handler's `closed` is scheduled and the endpoint leaves its host.
 */
export class Endpoint implements Connection {
  readonly id: number
  readonly host: Host
  readonly actor: Actor
  readonly local: Address
  readonly remote: Address
  readonly #wire: Wire
  #peer!: Endpoint
  outgoing!: Pipe
  #handler: ConnectionHandler | null = null
  #paused = false
  /** By `end`, or because the other side ended: nothing can be written any more. */
  #ended = false
  /** The owner called `end` or `destroy`: it wants no more data. */
  #left = false
  #endArrived = false
  #waiting = false
  #closed: { error: NetError | null } | null = null
  /** The other side is gone, and its good-bye never came: its machine lost power, or the link let nothing through. */
  #peerLost = false

  constructor(wire: Wire, options: { id: number; host: Host; actor: Actor; local: Address; remote: Address }) {
    this.#wire = wire
    this.id = options.id
    this.host = options.host
    this.actor = options.actor
    this.local = options.local
    this.remote = options.remote
  }

  /** Two endpoints become a connection. */
  static join(wire: Wire, one: Endpoint, other: Endpoint): void {
    one.#peer = other
    other.#peer = one
    one.outgoing = new Pipe(wire, one, other)
    other.outgoing = new Pipe(wire, other, one)
    for (const endpoint of [one, other]) endpoint.host.endpoints.add(endpoint)
  }

  get peer(): Endpoint {
    return this.#peer
  }

  get isOpen(): boolean {
    return this.#closed === null
  }

  /** Takes bytes off the wire now; those after `end` are read too, and dropped. */
  get isReading(): boolean {
    return this.isOpen && this.actor.alive && (this.#left || (this.#handler !== null && !this.#paused))
  }

  get unsentBytes(): number {
    return this.outgoing.queuedBytes
  }

  start(handler: ConnectionHandler): void {
    assert(this.#handler === null, 'a connection is started once')
    this.#handler = handler
    if (this.#closed) this.#tellClosed()
    else this.peer.outgoing.scheduleDelivery()
  }

  pause(): void {
    this.#paused = true
  }

  resume(): void {
    this.#paused = false
    if (this.isOpen) this.peer.outgoing.scheduleDelivery()
  }

  write(buffers: readonly Buffer[], sent?: () => void): boolean {
    if (this.#ended || !this.isOpen) return true
    this.outgoing.write(buffers, sent)
    if (this.#peerLost && this.#wire.isOpen(this.host, this.peer.host)) this.#resetBy(this.peer.host)
    if (this.outgoing.queuedBytes < ROOMY_BYTES) return true
    this.#waiting = true
    return false
  }

  end(): void {
    if (!this.isOpen || this.#left) return
    this.#left = true
    this.#ended = true
    this.outgoing.end()
    this.peer.outgoing.scheduleDelivery()
    this.#wire.events.schedule(this.actor, LINGER_MS, 'net linger', this.id, () => this.#lingered())
    this.#closeIfDone()
  }

  destroy(): void {
    if (!this.isOpen) return
    this.#left = true
    this.#drop()
    this.#close(null)
  }

  /** The process died; its kernel closes what it had open. */
  died(): void {
    if (!this.isOpen) return
    this.#closed = { error: null }
    this.#drop()
    this.host.endpoints.delete(this)
  }

  #drop(): void {
    this.outgoing.dropQueue()
    // The kernel answers bytes that nobody will read with a reset.
    const resets = this.peer.outgoing.hasUnread || this.#wire.resets()
    if (!resets) this.outgoing.end()
    else {
      this.outgoing.dropTransit()
      this.peer.#resetBy(this.host)
    }
  }

  /** The machine lost power: this side is gone without a word. */
  lost(): void {
    this.host.endpoints.delete(this)
    if (!this.peer.isOpen) return
    this.peer.#peerLost = true
    this.#wire.events.schedule(this.peer.actor, KEEP_ALIVE_FAILED_MS, 'net keep-alive', this.peer.id, () => {
      this.peer.fail('ETIMEDOUT', 'the other side does not answer any more')
    })
  }

  /** The other side's machine can be reached again, without this connection. It answers what it does not know with a reset. */
  peerIsBack(): void {
    if (!this.#peerLost || !this.isOpen || !this.peer.host.isUp) return
    const afterMs = this.outgoing.windowBytes > 0 ? RETRANSMISSION_MS : KEEP_ALIVE_PROBE_MS
    this.#wire.events.schedule(this.actor, afterMs, 'net probe', this.id, () => this.#resetBy(this.peer.host))
  }

  /** The host at the other end sends a reset. */
  #resetBy(sender: Host): void {
    this.#wire.events.schedule(this.actor, this.#wire.delayMs(sender, this.host), 'net reset', this.id, () => {
      // A reset is sent once. Where it gets lost, this side learns only when it speaks that nobody is there.
      if (this.#wire.isOpen(sender, this.host)) this.fail('ECONNRESET', 'the connection was reset by the other side')
      else this.#peerLost = true
    })
  }

  /** Called by the pipe that goes out: bytes are on their way to a socket that is closed. */
  sentToClosed(): void {
    this.#resetBy(this.peer.host)
  }

  /** The connection broke. */
  fail(code: string, message: string): void {
    if (!this.isOpen) return
    this.outgoing.dropTransit()
    this.#close(new NetError(code, message))
  }

  /** Called by the pipe that comes in: bytes are there. */
  received(chunk: Buffer): void {
    if (!this.#left) this.#handler?.data(chunk)
  }

  /** Called by the pipe that comes in: nothing more will be. */
  endArrived(): void {
    this.#endArrived = true
    // What was written before still goes out; then this side ends too.
    this.#ended = true
    this.outgoing.end()
    this.#closeIfDone()
  }

  /** Called by the pipe that goes out: its end has left. */
  endLeft(): void {
    this.#closeIfDone()
  }

  /** Called by the pipe that goes out: a write has left. */
  queueSent(sent: () => void): void {
    this.#wire.events.schedule(this.actor, 0, 'net sent', this.id, sent)
  }

  /** Called by the pipe that goes out: all that was queued has left. */
  queueEmptied(): void {
    if (!this.#waiting || this.#left) return
    this.#waiting = false
    this.#wire.events.schedule(this.actor, 0, 'net drained', this.id, () => {
      if (this.isOpen && !this.#left) this.#handler?.drained()
    })
  }

  #lingered(): void {
    if (!this.isOpen) return
    if (this.outgoing.endSent) this.destroy()
    else this.#wire.events.schedule(this.actor, LINGER_MS, 'net linger', this.id, () => this.#lingered())
  }

  #closeIfDone(): void {
    if (this.isOpen && this.#endArrived && this.outgoing.endSent) this.#close(null)
  }

  #close(error: NetError | null): void {
    this.#closed = { error }
    this.host.endpoints.delete(this)
    if (this.#handler) this.#tellClosed()
  }

  #tellClosed(): void {
    this.#wire.events.schedule(this.actor, 0, 'net closed', this.id, () => {
      this.#handler?.closed(this.#closed?.error ?? null)
    })
  }
}
