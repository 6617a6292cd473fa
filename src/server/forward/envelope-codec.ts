import { MalformedError } from '../../base/bytes.ts'
import {
  decodeRequest,
  decodeRequestHeader,
  decodeResponse,
  encodeRequest,
  encodeResponse,
} from '../../protocol/codec.ts'
import { encodeMessage } from '../../protocol/message-codec.ts'
import { DefaultPrincipalData } from '../../protocol/messages/principal.ts'
import type { AnyApi, RequestInput, RequestOf, ResponseInput, ResponseOf } from '../../protocol/schema.ts'
import type { EnvelopeRequest } from '../../protocol/apis/envelope.ts'

/** A frame inside of an Envelope has no size in front of it. */
const SIZE_BYTES = 4

/** Nobody is authenticated before SASL exists. */
const ANONYMOUS = encodeMessage(DefaultPrincipalData, 0, { type: 'User', name: 'ANONYMOUS', tokenAuthenticated: false })

export function wrapRequest<A extends AnyApi>(
  api: A,
  request: RequestInput<A>,
  from: { readonly version: number; readonly clientId: string | null; readonly host: string },
): EnvelopeRequest {
  const { version, clientId, host } = from
  const frame = Buffer.concat(encodeRequest(api, version, { correlationId: 0, clientId }, request))
  return {
    requestData: frame.subarray(SIZE_BYTES),
    requestPrincipal: ANONYMOUS,
    clientHostAddress: addressBytes(host),
  }
}

/** Throws `MalformedError`. */
export function unwrapResponse<A extends AnyApi>(api: A, version: number, responseData: Buffer | null): ResponseOf<A> {
  if (responseData === null) throw new MalformedError('an envelope without an answer')
  return decodeResponse(api, version, responseData)
}

export interface Unwrapped {
  readonly api: AnyApi
  readonly version: number
  readonly request: RequestOf<AnyApi>
  wrapResponse(response: ResponseInput<AnyApi>): Buffer
}

/** Null when the API, or its version, is none of `apis`. Throws `MalformedError`. */
export function unwrapRequest(requestData: Buffer, apis: ReadonlyMap<number, AnyApi>): Unwrapped | null {
  const { apiKey, apiVersion: version, correlationId, reader } = decodeRequestHeader(requestData)
  const api = apis.get(apiKey)
  if (api === undefined || version < api.versions[0] || version > api.versions[1]) return null
  return {
    api,
    version,
    request: decodeRequest(api, version, reader),
    wrapResponse: (response) =>
      Buffer.concat(encodeResponse(api, version, correlationId, response)).subarray(SIZE_BYTES),
  }
}

/** The 4 or 16 bytes of an address as the system prints it. */
export function addressBytes(host: string): Buffer {
  const [text = ''] = host.split('%')
  const v4 = /(?:^|:)(\d{1,3}(?:\.\d{1,3}){3})$/.exec(text)?.[1]
  if (v4 !== undefined) return Buffer.from(v4.split('.').map(Number))
  const [head = '', tail] = text.split('::')
  const groups = (part: string) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)))
  const [before, after] = [groups(head), groups(tail ?? '')]
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length)
  const bytes = Buffer.alloc(16)
  for (const [at, group] of [...before, ...new Array<number>(zeros).fill(0), ...after].slice(0, 8).entries()) {
    bytes.writeUInt16BE(Number.isNaN(group) ? 0 : group & 0xffff, at * 2)
  }
  return bytes
}
