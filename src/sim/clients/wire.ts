import { MalformedError } from '../../base/bytes.ts'
import type { Random } from '../../base/random.ts'
import type { Timer } from '../../env/clock.ts'
import type { Env } from '../../env/env.ts'
import type { Address, Connection, ConnectionHandler, NetError } from '../../env/net.ts'
import { ApiVersions } from '../../protocol/apis/api-versions.ts'
import { correlationIdOf, decodeResponse, encodeRequest } from '../../protocol/codec.ts'
import type { Api, RequestInput, ResponseOf } from '../../protocol/schema.ts'

/** No answer came: the request may have taken effect, may still do so, or never will. */
export class NoAnswerError extends Error {
  override name = 'NoAnswerError'
}

interface Waiting {
  readonly resolve: (frame: Buffer) => void
  readonly reject: (error: Error) => void
  readonly timer: Timer
}

const REQUEST_TIMEOUT_MS = 10_000
const CONNECT_TIMEOUT_MS = 3000

/**
 * One connection to a node, one request after the other or several at once. A client of its own, apart from the
 * product's, so that it can do what no well-behaved client does and never hides what it saw.
 */
export class Wire implements ConnectionHandler {
  readonly #env: Env
  readonly #connection: Connection
  readonly #clientId: string
  readonly #random: Random
  readonly #waiting = new Map<number, Waiting>()
  readonly #versions = new Map<number, readonly [number, number]>()
  #correlationId = 0
  #buffered: Buffer = Buffer.alloc(0)
  isOpen = true

  private constructor(env: Env, connection: Connection, options: { clientId: string; random: Random }) {
    this.#env = env
    this.#connection = connection
    this.#clientId = options.clientId
    this.#random = options.random
    connection.start(this)
  }

  /** Connects and asks which versions the node serves. Throws `NetError` or `NoAnswerError`. */
  static async open(env: Env, address: Address, options: { clientId: string; random: Random }): Promise<Wire> {
    const wire = new Wire(env, await env.net.connect(address, { timeoutMs: CONNECT_TIMEOUT_MS }), options)
    const body = { clientSoftwareName: 'millrace-sim', clientSoftwareVersion: '1' }
    const answer = await wire.#send(ApiVersions, 3, body, CONNECT_TIMEOUT_MS)
    for (const { apiKey, minVersion, maxVersion } of answer.apiKeys) {
      wire.#versions.set(apiKey, [minVersion, maxVersion])
    }
    return wire
  }

  /** Sends in one of the versions that both sides know, not below `fromVersion`: the newest, or now and then another. */
  async request<A extends Api>(
    api: A,
    body: RequestInput<A>,
    options: { fromVersion?: number; timeoutMs?: number } = {},
  ): Promise<ResponseOf<A>> {
    const served = this.#versions.get(api.key)
    if (served === undefined) throw new Error(`the node does not serve ${api.name}`)
    const low = Math.max(served[0], api.versions[0], options.fromVersion ?? 0)
    const high = Math.min(served[1], api.versions[1])
    const version = this.#random.chance(0.3) ? this.#random.between(low, high) : high
    return this.#send(api, version, body, options.timeoutMs ?? REQUEST_TIMEOUT_MS)
  }

  /** Who is asked. */
  get remote(): string {
    return this.#connection.remote.host
  }

  close(): void {
    this.#connection.destroy()
    this.#fail('closed by the client')
  }

  async #send<A extends Api>(
    api: A,
    version: number,
    body: RequestInput<A>,
    timeoutMs: number,
  ): Promise<ResponseOf<A>> {
    if (!this.isOpen) throw new NoAnswerError(`${api.name}: the connection is closed`)
    const correlationId = ++this.#correlationId
    const frame = await new Promise<Buffer>((resolve, reject) => {
      const timer = this.#env.timers.after(timeoutMs, () => {
        // Whatever comes later would be taken for the answer to something else.
        this.#fail(`${api.name}: no answer within ${timeoutMs} ms`)
        this.#connection.destroy()
      })
      this.#waiting.set(correlationId, { resolve, reject, timer })
      this.#connection.write(encodeRequest(api, version, { correlationId, clientId: this.#clientId }, body))
    })
    return decodeResponse(api, version, frame)
  }

  data(chunk: Buffer): void {
    // The chunk is valid during this call only.
    this.#buffered = this.#buffered.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#buffered, chunk])
    for (;;) {
      if (this.#buffered.length < 4) return
      const size = this.#buffered.readInt32BE(0)
      if (size < 4) throw new MalformedError(`an answer of ${size} bytes`)
      if (this.#buffered.length < 4 + size) return
      const frame = this.#buffered.subarray(4, 4 + size)
      this.#buffered = this.#buffered.subarray(4 + size)
      this.#answered(frame)
    }
  }

  drained(): void {}

  closed(error: NetError | null): void {
    this.#fail(error?.message ?? 'the node closed the connection')
  }

  #answered(frame: Buffer): void {
    const [first] = this.#waiting.keys()
    const correlationId = correlationIdOf(frame)
    const waiting = this.#waiting.get(correlationId)
    // The protocol promises answers in the order of the requests.
    if (waiting === undefined || correlationId !== first) {
      throw new MalformedError(`answer ${correlationId}, where ${first} was due`)
    }
    this.#waiting.delete(correlationId)
    waiting.timer.cancel()
    waiting.resolve(frame)
  }

  #fail(reason: string): void {
    this.isOpen = false
    for (const { reject, timer } of this.#waiting.values()) {
      timer.cancel()
      reject(new NoAnswerError(reason))
    }
    this.#waiting.clear()
  }
}
