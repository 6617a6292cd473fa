export interface Address {
  readonly host: string
  readonly port: number
}

/** TCP. Addresses are numeric or names the system resolves; port 0 in `listen` takes a free one. */
export interface Net {
  /** Rejects with a `NetError` (`EADDRINUSE`, `EACCES`, `EADDRNOTAVAIL`). */
  listen(address: Address, onConnection: (connection: Connection) => void): Promise<Listener>
  /** Rejects with a `NetError` (`ECONNREFUSED`, `ETIMEDOUT`, `ENOTFOUND`, `ECONNRESET`). */
  connect(address: Address, options?: { timeoutMs?: number }): Promise<Connection>
}

export interface Listener {
  /** The address really bound. */
  readonly address: Address
  /** Accepts no more; connections that are open stay open. */
  close(): Promise<void>
}

/**
 * What the owner of a connection hears. Calls come one at a time and never from within a call of the owner's own to
 * the connection. After `closed` nothing comes any more.
 */
export interface ConnectionHandler {
  /** `chunk` is valid during the call only: it is a view of a buffer that the next read overwrites. Copy what stays. */
  data(chunk: Buffer): void
  /** All that was handed to `write` has left for the kernel, after a `write` that returned false. */
  drained(): void
  /** The other side ended or the connection broke (`error` set). Nothing can be sent any more. */
  closed(error: NetError | null): void
}

export interface Connection {
  readonly local: Address
  readonly remote: Address
  /** Bytes handed to `write` that have not left for the kernel yet. */
  readonly unsentBytes: number
  /** Sets the handler and begins to read. Called exactly once, soon after the connection was handed over. */
  start(handler: ConnectionHandler): void
  /** No `data` until `resume`; the kernel's window then slows the sender. Both may be called again and again. */
  pause(): void
  resume(): void
  /**
   * Sends the buffers in order as one gathered write. They belong to the connection until they have been sent: their
   * owner must not change or reuse them (reliability X7). False asks the caller to wait for `drained`.
   * After the connection closed the bytes are dropped. `sent` is called later, once, when the connection needs the
   * buffers no more because all of them have left; never when they were dropped.
   */
  write(buffers: readonly Buffer[], sent?: () => void): boolean
  /** Sends what was written, then ends. No `data` comes any more, and `closed` follows once the other side ended too. */
  end(): void
  /** Drops what was not sent and closes at once. `closed` follows. */
  destroy(): void
}

export class NetError extends Error {
  override name = 'NetError'
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
