import { connect, type Socket } from 'node:net'
import { ByteReader, ByteWriter } from '../../src/base/bytes.ts'

/** The connection broke, or the server closed it, while an answer was due. */
export class WireClosed extends Error {
  override name = 'WireClosed'
}

/**
 * One connection that speaks Kafka's old, fixed request formats, written by hand. On purpose it shares no code with
 * `src/protocol`: a mistake made twice there, in encoding and in decoding, shows here. Answers come in request order.
 */
export class Wire {
  readonly socket: Socket
  #correlationId = 0
  #waiting: { correlationId: number; resolve: (body: ByteReader) => void; reject: (error: Error) => void }[] = []
  #received: Buffer = Buffer.alloc(0)
  closed = false

  private constructor(socket: Socket) {
    this.socket = socket
    socket.setNoDelay(true)
    socket.on('data', (chunk) => this.#onData(chunk as Buffer))
    socket.on('error', () => {})
    socket.on('close', () => {
      this.closed = true
      for (const { reject } of this.#waiting.splice(0)) reject(new WireClosed('connection closed'))
    })
  }

  static connect(address: string, timeoutMs = 5000): Promise<Wire> {
    const colon = address.lastIndexOf(':')
    return new Promise((resolve, reject) => {
      const socket = connect({ host: address.slice(0, colon), port: Number(address.slice(colon + 1)) })
      const late = () =>
        Object.assign(new Error(`no connection to ${address} in ${timeoutMs} ms`), { code: 'ETIMEDOUT' })
      const timer = setTimeout(() => socket.destroy(late()), timeoutMs)
      socket.once('error', (error) => {
        clearTimeout(timer)
        reject(error)
      })
      socket.once('connect', () => {
        clearTimeout(timer)
        resolve(new Wire(socket))
      })
    })
  }

  #onData(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
    while (this.#received.length >= 4) {
      const length = this.#received.readInt32BE(0)
      if (this.#received.length < 4 + length) return
      const frame = this.#received.subarray(4, 4 + length)
      this.#received = this.#received.subarray(4 + length)
      const next = this.#waiting.shift()
      const correlationId = frame.readInt32BE(0)
      if (next === undefined || next.correlationId !== correlationId) {
        this.socket.destroy()
        next?.reject(new Error(`answer ${correlationId} where ${next.correlationId} was due`))
        return
      }
      next.resolve(new ByteReader(frame, 4))
    }
  }

  /** Sends a request with a version 1 header; the answer starts behind the correlation id. */
  request(apiKey: number, version: number, body: ByteWriter): Promise<ByteReader> {
    const correlationId = ++this.#correlationId
    return new Promise((resolve, reject) => {
      if (this.closed) return reject(new WireClosed('connection closed'))
      this.#waiting.push({ correlationId, resolve, reject })
      this.socket.write(frame(apiKey, version, correlationId, body))
    })
  }

  /** Sends without waiting for an answer (acks=0). */
  send(apiKey: number, version: number, body: ByteWriter): void {
    this.socket.write(frame(apiKey, version, ++this.#correlationId, body))
  }

  close(): void {
    this.socket.destroy()
  }
}

export function frame(apiKey: number, version: number, correlationId: number, body: ByteWriter): Buffer {
  const header = new ByteWriter()
  header.int16(apiKey)
  header.int16(version)
  header.int32(correlationId)
  putString(header, 'millrace-test')
  const bytes = Buffer.concat([Buffer.alloc(4), header.toBuffer(), body.toBuffer()])
  bytes.writeInt32BE(bytes.length - 4, 0)
  return bytes
}

export function putString(writer: ByteWriter, value: string | null): void {
  if (value === null) return writer.int16(-1)
  writer.int16(Buffer.byteLength(value))
  writer.utf8(value)
}

export function getString(reader: ByteReader): string {
  const length = reader.int16()
  return length < 0 ? '' : reader.utf8(length)
}

export function getArray<T>(reader: ByteReader, element: () => T): T[] {
  const length = reader.int32()
  const items: T[] = []
  for (let i = 0; i < length; i++) items.push(element())
  return items
}
