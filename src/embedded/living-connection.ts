import type { Address, Connection, ConnectionHandler } from '../env/net.ts'

/** Whose connection it is. */
interface Owner {
  readonly isPaused: boolean
  run(happening: () => void): void
}

/** A real connection of an incarnation that can be paused, or end, while the process goes on. */
export class LivingConnection implements Connection {
  readonly #connection: Connection
  readonly #owner: Owner
  readonly #onClosed: () => void
  #isPausedByOwner = false
  #isStarted = false

  constructor(connection: Connection, owner: Owner, onClosed: () => void) {
    this.#connection = connection
    this.#owner = owner
    this.#onClosed = onClosed
  }

  get local(): Address {
    return this.#connection.local
  }

  get remote(): Address {
    return this.#connection.remote
  }

  get unsentBytes(): number {
    return this.#connection.unsentBytes
  }

  start(handler: ConnectionHandler): void {
    const owner = this.#owner
    this.#isStarted = true
    this.#connection.start({
      // Held back while the owner is paused, so what comes all the same came before that.
      data: (chunk) => {
        if (!owner.isPaused) return owner.run(() => handler.data(chunk))
        const copy = Buffer.from(chunk)
        owner.run(() => handler.data(copy))
      },
      drained: () => owner.run(() => handler.drained()),
      closed: (error) => {
        this.#onClosed()
        owner.run(() => handler.closed(error))
      },
    })
    if (owner.isPaused) this.hold()
  }

  pause(): void {
    this.#isPausedByOwner = true
    this.#connection.pause()
  }

  resume(): void {
    this.#isPausedByOwner = false
    this.#connection.resume()
  }

  write(buffers: readonly Buffer[], sent?: () => void): boolean {
    return this.#connection.write(buffers, sent === undefined ? undefined : () => this.#owner.run(sent))
  }

  end(): void {
    this.#connection.end()
  }

  destroy(): void {
    this.#connection.destroy()
  }

  /** The owner is paused: the kernel's window slows the other side. */
  hold(): void {
    if (this.#isStarted) this.#connection.pause()
  }

  release(): void {
    if (this.#isStarted && !this.#isPausedByOwner) this.#connection.resume()
  }
}
