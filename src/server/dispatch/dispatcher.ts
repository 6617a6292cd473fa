import { MalformedError } from '../../base/bytes.ts'
import { decodeRequest, decodeRequestHeader, encodeResponse, type RequestHeader } from '../../protocol/codec.ts'
import { Call, type CallKind } from '../connections/call.ts'
import type { ClientConnection } from '../connections/client-connection.ts'
import { ApiMetrics } from '../metrics/api-metrics.ts'
import type { ServedApi } from './served-api.ts'

/** An entry of the table, with what is counted about it. */
class Entry implements CallKind {
  readonly served: ServedApi
  readonly metrics = new ApiMetrics()

  constructor(served: ServedApi) {
    this.served = served
  }

  get apiKey(): number {
    return this.served.api.key
  }

  get name(): string {
    return this.served.api.name
  }

  encodeResponse(version: number, correlationId: number, body: never): readonly Buffer[] {
    return encodeResponse(this.served.api, version, correlationId, body)
  }

  finished(ms: number, responseBytes: number): void {
    this.metrics.latency.observe(ms)
    this.metrics.responseBytes += responseBytes
  }
}

/**
 * From a frame to its handler. Decoding trusts nothing: an unknown API, an unsupported version or a malformed body
 * gives a reason, for which the connection is closed (as Kafka does). Only ApiVersions gets an answer in a version we do
 * not know, so that a newer client can step down (KIP-511).
 */
export class Dispatcher {
  readonly #entries: (Entry | undefined)[] = []
  readonly #bug: (error: unknown) => void

  constructor(apis: readonly ServedApi[], bug: (error: unknown) => void) {
    for (const served of apis) this.#entries[served.api.key] = new Entry(served)
    this.#bug = bug
  }

  /** Name and counters of every API served here. */
  *metrics(): Generator<{ name: string; metrics: ApiMetrics }> {
    for (const entry of this.#entries) if (entry) yield { name: entry.name, metrics: entry.metrics }
  }

  serves(apiKey: number): boolean {
    return this.#entries[apiKey] !== undefined
  }

  /** Answers the request in `frame`, now or later; a text is why the connection must be closed. */
  dispatch(connection: ClientConnection, frame: Buffer): string | null {
    try {
      const header = decodeRequestHeader(frame)
      const entry = this.#entries[header.apiKey]
      if (entry === undefined) return `API key ${header.apiKey} is not served here`
      const [first, last] = entry.served.served
      const { apiVersion } = header
      if (apiVersion >= first && apiVersion <= last) {
        const request = decodeRequest(entry.served.api, apiVersion, header.reader)
        this.#run(entry, this.#open(connection, entry, header, frame), request)
        return null
      }
      const { handleUnknownVersion } = entry.served
      if (handleUnknownVersion === null) {
        return `${entry.name} version ${apiVersion} is not served, ${first} to ${last} are`
      }
      handleUnknownVersion(this.#open(connection, entry, header, frame))
      return null
    } catch (error) {
      if (error instanceof MalformedError) return `malformed request: ${error.message}`
      throw error
    }
  }

  #open(connection: ClientConnection, entry: Entry, header: RequestHeader, frame: Buffer): Call {
    const { apiVersion: version, correlationId, clientId } = header
    entry.metrics.requests++
    entry.metrics.requestBytes += frame.length
    const receivedMs = connection.activeMs
    const call = new Call({ connection, kind: entry, version, correlationId, clientId, frame, receivedMs })
    connection.opened(call)
    return call
  }

  #run(entry: Entry, call: Call, request: unknown): void {
    try {
      const answer = entry.served.handle(request as never, call)
      if (answer instanceof Promise) {
        answer.then((body) => (body === undefined ? undefined : call.reply(body))).catch(this.#bug)
      } else if (answer !== undefined) {
        call.reply(answer)
      }
    } catch (error) {
      this.#bug(error)
    }
  }
}
