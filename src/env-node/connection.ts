import net from 'node:net'
import { assert } from '../base/assert.ts'
import { type Address, type Connection, type ConnectionHandler, type NetError } from '../env/net.ts'
import { toNetError } from './net-error.ts'

/**
 * Every socket of the process is read into this one buffer: its bytes are handed on synchronously, before the next read.
 * So a read allocates nothing but a view (README.md has the measurement).
 */
const READ_BUFFER_BYTES = 256 * 1024
let readBuffer: Buffer | null = null

/** How long an ended connection waits for the other side's end before it is cut. */
const LINGER_MS = 2000
/** How long an ended connection may still have bytes to send without getting rid of any. */
const STALLED_MS = 10_000

/** Requests are small and awaited: no Nagle. A peer that vanished without a word is noticed by the kernel's probes. */
export const SOCKET_OPTIONS = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 } as const

type OnRead = { buffer: Buffer; callback: (bytes: number) => boolean }

/** What an accepted socket has inside. Not in Node's documentation: where it is missing, ordinary reading is used. */
interface WithHandle {
  _handle?: object | null
}

/** What a handle counts: bytes handed to libuv, and those that it has not sent. */
interface Counters {
  readonly bytesWritten?: number
  readonly writeQueueSize?: number
}

/** Takes over a socket that the server accepted paused. Null when it died on the way. */
export function adoptSocket(accepted: net.Socket): Connection | null {
  const inside = accepted as WithHandle
  const handle = inside._handle
  if (handle === null || accepted.destroyed) return null
  if (handle === undefined) return new SocketConnection().attach(accepted, { dataEvents: true })

  // Node takes `onread` only when a socket is constructed, and constructs accepted ones itself. So the handle moves into
  // a second socket; the first, left without one, is destroyed so that the server no longer counts it.
  inside._handle = null
  accepted.destroy()
  const connection = new SocketConnection()
  const options = { handle, onread: connection.onRead, pauseOnCreate: true } as net.SocketConstructorOpts
  return connection.attach(new net.Socket(options), { dataEvents: false })
}

/** Begins to connect. The connection may be used from the socket's `connect` event on. */
export function openSocket(address: Address): { socket: net.Socket; connection: Connection } {
  const connection = new SocketConnection()
  const socket = net.connect({
    host: address.host,
    port: address.port,
    ...SOCKET_OPTIONS,
    onread: connection.onRead,
  })
  socket.pause()
  return { socket, connection: connection.attach(socket, { dataEvents: false }) }
}

/**
 * Life: attached to a socket, started once with a handler, then data until `closed`. After `end` or `destroy` by the
 * owner no data is delivered any more.
 */
class SocketConnection implements Connection {
  #socket!: net.Socket
  #handler: ConnectionHandler | null = null
  #error: NetError | null = null
  #closed = false
  #ended = false
  #paused = false
  #writtenBytes = 0
  /** A `write` returned false and `drained` has not been called since. */
  #waiting = false
  #lingering: NodeJS.Timeout | undefined
  #local: Address | null = null
  #remote: Address | null = null

  get onRead(): OnRead {
    readBuffer ??= Buffer.allocUnsafeSlow(READ_BUFFER_BYTES)
    const buffer = readBuffer
    return {
      buffer,
      callback: (bytes) => {
        this.#received(buffer.subarray(0, bytes))
        return true
      },
    }
  }

  attach(socket: net.Socket, { dataEvents }: { dataEvents: boolean }): this {
    this.#socket = socket
    socket.on('error', (error) => {
      this.#error ??= toNetError(error)
    })
    socket.on('close', () => this.#onClose())
    socket.on('drain', () => this.#onDrain())
    if (dataEvents) socket.on('data', (chunk: Buffer) => this.#received(chunk))
    return this
  }

  get local(): Address {
    this.#local ??= { host: plain(this.#socket.localAddress), port: this.#socket.localPort ?? 0 }
    return this.#local
  }

  get remote(): Address {
    this.#remote ??= { host: plain(this.#socket.remoteAddress), port: this.#socket.remotePort ?? 0 }
    return this.#remote
  }

  get unsentBytes(): number {
    const { writableLength } = this.#socket
    if (writableLength === 0) return 0
    // The stream counts a write until all of it has left; what libuv has left of it shows that a slow peer takes some.
    const { bytesWritten, writeQueueSize }: Counters = (this.#socket as WithHandle)._handle ?? {}
    if (bytesWritten === undefined || writeQueueSize === undefined) return writableLength
    return this.#writtenBytes - (bytesWritten - writeQueueSize)
  }

  start(handler: ConnectionHandler): void {
    assert(this.#handler === null, 'a connection is started once')
    // A socket forgets its addresses when it closes, and log lines about the close want them.
    void this.local
    void this.remote
    this.#handler = handler
    if (this.#closed) process.nextTick(() => handler.closed(this.#error))
    else if (!this.#paused) this.#socket.resume()
  }

  pause(): void {
    this.#paused = true
    if (!this.#ended) this.#socket.pause()
  }

  resume(): void {
    this.#paused = false
    if (this.#handler && !this.#ended) this.#socket.resume()
  }

  write(buffers: readonly Buffer[], sent?: () => void): boolean {
    const socket = this.#socket
    // Also after the other side ended: Node would then raise an error for every write until the socket is gone.
    if (this.#ended || !socket.writable) return true
    for (const buffer of buffers) this.#writtenBytes += buffer.length
    const done = sent && ((error?: Error | null) => (error ? undefined : sent()))
    let roomy = true
    if (buffers.length === 1) roomy = socket.write(buffers[0] as Buffer, done)
    else {
      socket.cork()
      const last = buffers.length - 1
      for (let i = 0; i < last; i++) socket.write(buffers[i] as Buffer)
      roomy = socket.write(buffers[last] as Buffer, done)
      socket.uncork()
    }
    // The stream counts what was corked; most often the kernel has taken all of it by now.
    if (roomy || socket.writableLength === 0) return true
    this.#waiting = true
    return false
  }

  end(): void {
    if (this.#ended) return
    this.#ended = true
    const socket = this.#socket
    socket.end()
    // Closing while bytes of the peer lie unread makes the kernel send a reset, which can overtake and destroy our last
    // answer. So what still comes is read and dropped until the peer ends too, for a bounded time.
    socket.resume()
    this.#linger(this.unsentBytes)
  }

  /** Cuts the ended connection when it has stopped making progress. */
  #linger(unsentBytes: number): void {
    const socket = this.#socket
    const timeout = setTimeout(
      () => {
        const leftBytes = this.unsentBytes
        if (unsentBytes > 0 && leftBytes < unsentBytes) this.#linger(leftBytes)
        else socket.destroy()
      },
      unsentBytes > 0 ? STALLED_MS : LINGER_MS,
    )
    this.#lingering = timeout
  }

  destroy(): void {
    this.#ended = true
    this.#socket.destroy()
  }

  #received(chunk: Buffer): void {
    if (!this.#ended) this.#handler?.data(chunk)
  }

  #onDrain(): void {
    if (!this.#waiting || this.#ended) return
    this.#waiting = false
    this.#handler?.drained()
  }

  #onClose(): void {
    clearTimeout(this.#lingering)
    this.#closed = true
    this.#ended = true
    this.#handler?.closed(this.#error)
  }
}

/** An IPv4 peer of a dual-stack listener as people write it. */
function plain(host: string | undefined): string {
  if (host === undefined) return ''
  return host.startsWith('::ffff:') && host.includes('.') ? host.slice('::ffff:'.length) : host
}
