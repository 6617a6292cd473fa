import { connect, type Socket } from 'node:net'

/** What became of a request: the frame that answered it, or that the server closed the connection instead. */
export type Reply = Buffer | 'closed'

/** One connection that sends finished frames and hands back the frames that come, in order, without looking inside. */
export class Channel {
  readonly #socket: Socket
  #received: Buffer = Buffer.alloc(0)
  #waiting: ((reply: Reply) => void)[] = []
  #closed = false

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => this.#onData(chunk))
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#closed = true
      for (const resolve of this.#waiting.splice(0)) resolve('closed')
    })
  }

  static open(port: number): Promise<Channel> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port })
      socket.once('error', reject)
      socket.once('connect', () => {
        socket.off('error', reject)
        resolve(new Channel(socket))
      })
    })
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /** Something that was sent has no answer yet: the next request would wait behind it. */
  get isBusy(): boolean {
    return this.#waiting.length > 0
  }

  send(frame: Buffer): Promise<Reply> {
    return new Promise((resolve) => {
      if (this.#closed) return resolve('closed')
      this.#waiting.push(resolve)
      this.#socket.write(frame)
    })
  }

  /** For what has no answer by its nature (acks=0). */
  sendOnly(frame: Buffer): void {
    this.#socket.write(frame)
  }

  close(): void {
    this.#socket.destroy()
  }

  #onData(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
    while (this.#received.length >= 4) {
      const end = 4 + this.#received.readInt32BE(0)
      if (this.#received.length < end) return
      this.#waiting.shift()?.(this.#received.subarray(4, end))
      this.#received = this.#received.subarray(end)
    }
  }
}
