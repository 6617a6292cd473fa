import { assert } from '../base/assert.ts'
import { MalformedError } from '../base/bytes.ts'
import type { Timer, Timers } from '../env/clock.ts'
import type { Address, Connection, Net, NetError } from '../env/net.ts'
import { ApiVersions, type ApiVersionsResponse } from '../protocol/apis/api-versions.ts'
import { correlationIdOf, decodeResponse, encodeRequest } from '../protocol/codec.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { UnencodableError } from '../protocol/field-error.ts'
import type { AnyApi, RequestInput, ResponseOf } from '../protocol/schema.ts'
import {
  BrokerError,
  type ClientError,
  ConnectionError,
  ProtocolError,
  TimeoutError,
  UnsendableError,
  UnsupportedVersionError,
} from './errors.ts'
import { FrameAssembler } from './frames.ts'

export interface ConnectionOptions {
  readonly clientId: string
  readonly connectTimeoutMs: number
  /** Until a server that let us in says what it speaks: one that has not started yet does not. Left out: as any request. */
  readonly versionsTimeoutMs?: number
  /** For an answer, unless the request says otherwise. */
  readonly requestTimeoutMs: number
}

/** It may depend on the version that is used. */
export type RequestBody<A extends AnyApi> = RequestInput<A> | ((version: number) => RequestInput<A>)

export interface RequestOptions {
  readonly timeoutMs?: number | undefined
  /** Versions that the caller's body is made for; all that the API has when left out. */
  readonly versions?: readonly [first: number, last: number] | undefined
}

interface Pending {
  readonly api: AnyApi
  readonly version: number
  readonly correlationId: number
  readonly timer: Timer
  resolve(response: never): void
  reject(error: ClientError): void
}

/** What the server of a connection speaks, by API key. */
export type ApiRanges = ReadonlyMap<number, readonly [first: number, last: number]>

const SOFTWARE = { clientSoftwareName: 'millrace', clientSoftwareVersion: '0.1.0' }

/**
 * One connection to one server. Requests are sent at once and answered in their order. Whatever breaks it (a closed
 * socket, an answer that is late or makes no sense) ends it and all that waits for it; the caller opens another.
 */
export class BrokerConnection {
  readonly address: Address
  readonly #options: ConnectionOptions
  readonly #timers: Timers
  readonly #socket: Connection
  readonly #frames = new FrameAssembler()
  readonly #pending: Pending[] = []
  #correlationId = 0
  /** Requests without an answer that have not left yet. */
  readonly #leaving = new Set<Pick<Pending, 'timer' | 'reject'>>()
  #ranges: ApiRanges = new Map()
  #closed: ClientError | null = null
  #isLost = false
  #onClosed: (() => void) | null = null

  private constructor(socket: Connection, address: Address, timers: Timers, options: ConnectionOptions) {
    this.#socket = socket
    this.address = address
    this.#timers = timers
    this.#options = options
    socket.start({
      data: (chunk) => this.#onData(chunk),
      drained: () => {},
      closed: (error) => {
        this.#isLost = this.#closed === null
        this.#fail(new ConnectionError(`${printAddress(address)} closed the connection`, causeOf(error)))
      },
    })
  }

  /** Connects and learns which versions the server speaks. Rejects with a `ClientError`. */
  static async open(net: Net, timers: Timers, address: Address, options: ConnectionOptions): Promise<BrokerConnection> {
    const socket = await connect(net, address, options.connectTimeoutMs)
    const connection = new BrokerConnection(socket, address, timers, options)
    try {
      await connection.#learnVersions()
    } catch (error) {
      connection.close()
      throw error
    }
    return connection
  }

  get isOpen(): boolean {
    return this.#closed === null
  }

  /** The other side ended it, or the network did: not we. */
  get isLost(): boolean {
    return this.#isLost
  }

  /** Requests without an answer so far. */
  get pendingCount(): number {
    return this.#pending.length
  }

  set onClosed(callback: () => void) {
    this.#onClosed = callback
    if (this.#closed !== null) callback()
  }

  /** The newest version of the API that both sides speak. Throws `UnsupportedVersionError`. */
  versionOf(api: AnyApi, [first, last]: readonly [number, number] = api.versions): number {
    const range = this.#ranges.get(api.key)
    if (range === undefined) {
      throw new UnsupportedVersionError(`${printAddress(this.address)} does not serve ${api.name}`)
    }
    const version = Math.min(last, range[1])
    if (version < Math.max(first, range[0])) {
      throw new UnsupportedVersionError(
        `${printAddress(this.address)} serves ${api.name} v${range[0]}-${range[1]}, this client needs v${first}-${last}`,
      )
    }
    return version
  }

  request<A extends AnyApi>(api: A, body: RequestBody<A>, options: RequestOptions = {}): Promise<ResponseOf<A>> {
    if (this.#closed !== null) return Promise.reject(this.#closed)
    try {
      return this.#send(api, this.versionOf(api, options.versions), body, options.timeoutMs)
    } catch (error) {
      return Promise.reject(error as Error)
    }
  }

  #send<A extends AnyApi>(
    api: A,
    version: number,
    body: RequestBody<A>,
    timeoutMs = this.#options.requestTimeoutMs,
  ): Promise<ResponseOf<A>> {
    const correlationId = this.#write(api, version, body)
    return new Promise((resolve, reject) => {
      const timer = this.#timers.after(timeoutMs, () => {
        // Answers come in order, so nothing that waits behind this one would be answered either.
        this.#fail(new TimeoutError(`${printAddress(this.address)} did not answer ${api.name} within ${timeoutMs} ms`))
      })
      this.#pending.push({ api, version, correlationId, timer, resolve, reject })
    })
  }

  /**
   * A request that has no answer: Produce with acks 0. Resolves when it has left for the kernel: whoever waits for that
   * does not heap up requests for a server that reads slowly. Rejects with a `ClientError`.
   */
  sendOneWay<A extends AnyApi>(api: A, body: RequestBody<A>, options: RequestOptions = {}): Promise<void> {
    if (this.#closed !== null) return Promise.reject(this.#closed)
    const { timeoutMs = this.#options.requestTimeoutMs } = options
    return new Promise((resolve, reject) => {
      const left = () => {
        leaving.timer.cancel()
        this.#leaving.delete(leaving)
        resolve()
      }
      this.#write(api, this.versionOf(api, options.versions), body, left)
      const timer = this.#timers.after(timeoutMs, () => {
        this.#fail(new TimeoutError(`${printAddress(this.address)} did not take ${api.name} within ${timeoutMs} ms`))
      })
      const leaving = { timer, reject }
      this.#leaving.add(leaving)
    })
  }

  #write<A extends AnyApi>(api: A, version: number, body: RequestBody<A>, sent?: () => void): number {
    const correlationId = this.#correlationId
    const value = typeof body === 'function' ? (body as (version: number) => RequestInput<A>)(version) : body
    const frame = encoded(api, version, { correlationId, clientId: this.#options.clientId }, value)
    this.#correlationId = (correlationId + 1) & 0x7fffffff
    this.#socket.write(frame, sent)
    return correlationId
  }

  /** Closes at once; what waits is rejected. */
  close(reason: ClientError = new ConnectionError('the connection was closed')): void {
    this.#fail(reason)
  }

  async #learnVersions(): Promise<void> {
    const newest = ApiVersions.versions[1]
    const { versionsTimeoutMs } = this.#options
    let version = newest
    for (;;) {
      const response: ApiVersionsResponse = await this.#send(ApiVersions, version, SOFTWARE, versionsTimeoutMs)
      if (response.errorCode === ErrorCode.UNSUPPORTED_VERSION && version > 0) {
        // The server names its range of this API in version 0 of the answer (KIP-511); older ones name nothing.
        const range = response.apiKeys.find(({ apiKey }) => apiKey === ApiVersions.key)
        version = Math.min(range?.maxVersion ?? 0, version - 1)
        continue
      }
      if (response.errorCode !== ErrorCode.NONE) {
        const error = new BrokerError(response.errorCode, `${printAddress(this.address)} refused ApiVersions`)
        this.#fail(error)
        throw error
      }
      this.#ranges = new Map(response.apiKeys.map((api) => [api.apiKey, [api.minVersion, api.maxVersion]]))
      return
    }
  }

  #onData(chunk: Buffer): void {
    try {
      this.#frames.add(chunk, (frame) => this.#onFrame(frame))
    } catch (error) {
      if (error instanceof ProtocolError) this.#fail(error)
      else if (error instanceof MalformedError) this.#fail(new ProtocolError(error.message, { cause: error }))
      else throw error
    }
  }

  #onFrame(frame: Buffer): void {
    const pending = this.#pending.shift()
    if (pending === undefined) throw new ProtocolError('an answer that nobody asked for')
    pending.timer.cancel()
    try {
      const correlationId = correlationIdOf(frame)
      if (correlationId !== pending.correlationId) {
        throw new ProtocolError(`answer ${correlationId} where ${pending.correlationId} was due`)
      }
      pending.resolve(decodeResponse(pending.api, answerVersion(pending, frame), frame) as never)
    } catch (error) {
      const reason =
        error instanceof MalformedError ? new ProtocolError(error.message, { cause: error }) : (error as ClientError)
      pending.reject(reason)
      throw reason
    }
  }

  #fail(error: ClientError): void {
    if (this.#closed !== null) return
    this.#closed = error
    this.#socket.destroy()
    for (const { timer, reject } of this.#pending.splice(0)) {
      timer.cancel()
      reject(error)
    }
    for (const { timer, reject } of this.#leaving) {
      timer.cancel()
      reject(error)
    }
    this.#leaving.clear()
    this.#onClosed?.()
  }
}

/** What the caller gave and no request can carry (a name of 40,000 bytes) is told to the caller. */
const encoded: typeof encodeRequest = (api, ...rest) => {
  try {
    return encodeRequest(api, ...rest)
  } catch (error) {
    throw error instanceof UnencodableError ? new UnsendableError(error.message, { cause: error }) : error
  }
}

/** A server that does not know our version of ApiVersions answers in version 0 (KIP-511). */
function answerVersion({ api, version }: Pending, frame: Buffer): number {
  const isRefused =
    api.key === ApiVersions.key && frame.length >= 6 && frame.readInt16BE(4) === ErrorCode.UNSUPPORTED_VERSION
  return isRefused ? 0 : version
}

async function connect(net: Net, address: Address, timeoutMs: number): Promise<Connection> {
  try {
    return await net.connect(address, { timeoutMs })
  } catch (error) {
    assert(error instanceof Error, 'a rejection without an error')
    throw new ConnectionError(`cannot connect to ${printAddress(address)}: ${error.message}`, { cause: error })
  }
}

function causeOf(error: NetError | null): ErrorOptions | undefined {
  return error === null ? undefined : { cause: error }
}

export function printAddress({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** `host:port`, `[ipv6]:port`, several with commas. Throws `UsageError` through `fail`. */
export function parseAddresses(text: string, fail: (message: string) => Error): Address[] {
  const addresses = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => {
      const match = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(part)
      const port = Number(match?.[3])
      const host = match?.[1] ?? match?.[2]
      if (host === undefined || !(port > 0 && port < 65_536))
        throw fail(`no address: ${part} (host:port is wanted, with a port from 1 to 65535)`)
      return { host, port }
    })
  if (addresses.length === 0) throw fail('no address of a server')
  return addresses
}
