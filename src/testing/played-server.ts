import type { Address, Connection, ConnectionHandler, Listener, Net } from '../env/net.ts'
import { NetError } from '../env/net.ts'
import { ApiVersions } from '../protocol/apis/api-versions.ts'
import { Metadata } from '../protocol/apis/metadata.ts'
import { Produce } from '../protocol/apis/produce.ts'
import { decodeRequestHeader, encodeResponse } from '../protocol/codec.ts'
import { ErrorCode } from '../protocol/errors.ts'

export interface Asked {
  readonly apiKey: number
  readonly version: number
  readonly correlationId: number
}

/** A server that a test plays: it sees the requests and writes what it likes. */
export class PlayedServer implements Net {
  readonly asked: Asked[] = []
  isDestroyed = false
  connections = 0
  refuses = false
  /** Answers nothing by itself. */
  isSilent = false
  /** Serves ApiVersions up to this version. */
  apiVersionsMax = 5
  #handler: ConnectionHandler | null = null

  listen(): Promise<Listener> {
    throw new Error('a client does not listen')
  }

  async connect(remote: Address): Promise<Connection> {
    if (this.refuses) throw new NetError('ECONNREFUSED', 'connection refused')
    this.connections++
    return {
      local: remote,
      remote,
      unsentBytes: 0,
      start: (handler) => {
        this.#handler = handler
      },
      pause() {},
      resume() {},
      write: (buffers) => {
        this.#onRequest(Buffer.concat(buffers).subarray(4))
        return true
      },
      end() {},
      destroy: () => {
        this.isDestroyed = true
      },
    }
  }

  #onRequest(frame: Buffer): void {
    const { apiKey, apiVersion: version, correlationId } = decodeRequestHeader(frame)
    this.asked.push({ apiKey, version, correlationId })
    if (apiKey !== ApiVersions.key || this.isSilent) return
    const apiKeys = [
      { apiKey: ApiVersions.key, minVersion: 0, maxVersion: this.apiVersionsMax },
      { apiKey: Metadata.key, minVersion: 0, maxVersion: 9 },
      { apiKey: Produce.key, minVersion: 0, maxVersion: 2 },
    ]
    const isKnown = version <= this.apiVersionsMax
    const errorCode = isKnown ? ErrorCode.NONE : ErrorCode.UNSUPPORTED_VERSION
    queueMicrotask(() =>
      this.send(
        Buffer.concat(encodeResponse(ApiVersions, isKnown ? version : 0, correlationId, { errorCode, apiKeys })),
      ),
    )
  }

  send(bytes: Buffer): void {
    this.#handler?.data(bytes)
  }

  /** Answers Metadata. */
  answer({ version, correlationId }: Asked, clusterId = 'c'): void {
    this.send(Buffer.concat(encodeResponse(Metadata, version, correlationId, { brokers: [], topics: [], clusterId })))
  }

  hangUp(): void {
    this.#handler?.closed(null)
  }
}
