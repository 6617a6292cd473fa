import { bug } from '../base/assert.ts'
import { ByteWriter, MalformedError } from '../base/bytes.ts'
import { structDecoder, valueDecoder } from './decode.ts'
import { structEncoder } from './encode.ts'
import { malformedAt, unencodableAt } from './field-error.ts'
import type { AnyField } from './field.ts'
import { structOf } from './layout.ts'
import { MessageReader } from './message-reader.ts'
import type { Api, RequestInput, RequestOf, ResponseInput, ResponseOf } from './schema.ts'

/**
 * Whole requests and responses: header and body. What is encoded starts with the four bytes of the frame's size; what is
 * decoded is a frame without them.
 *
 * Decoding throws MalformedError, with the name of the field, and nothing else. Encoding throws UnencodableError when
 * the version cannot carry the value.
 */

export function isFlexible({ flexible }: { readonly flexible: number }, version: number): boolean {
  return version >= flexible
}

/** Whether a version can be encoded and decoded; the unstable ones can. */
export function knowsVersion({ versions, unstable }: Pick<Api, 'versions' | 'unstable'>, version: number): boolean {
  return version >= versions[0] && version <= (unstable ?? versions[1])
}

/** The part of a request's header that is the same in all versions. */
export interface RequestHeader {
  readonly apiKey: number
  readonly apiVersion: number
  readonly correlationId: number
  readonly clientId: string | null
  /** Stands at the end of this part; `decodeRequest` reads on from here. */
  readonly reader: MessageReader
}

const decodeClientId = valueDecoder({ kind: 'string' }, true, { version: 1, flexible: false })

/**
 * Reads the header of a request frame. The API may be unknown to us or the version unsupported: the caller decides what
 * to answer, and for that needs no more than this.
 */
export function decodeRequestHeader(frame: Buffer): RequestHeader {
  const reader = new MessageReader(frame)
  try {
    const apiKey = reader.int16()
    const apiVersion = reader.int16()
    const correlationId = reader.int32()
    // Never compact, not even in the flexible header: it must be readable before the version is understood.
    const clientId = decodeClientId(reader) as string | null
    return { apiKey, apiVersion, correlationId, clientId, reader }
  } catch (error) {
    throw malformedAt('request header', error)
  }
}

/** Reads the body of a request after its header. The version must be one that the API knows. */
export function decodeRequest<A extends Api>(api: A, version: number, reader: MessageReader): RequestOf<A> {
  if (!knowsVersion(api, version)) bug(`${api.name} v${version}`)
  try {
    if (isFlexible(api, version)) skipTags(reader)
    return decodeBody(api.request, api, version, reader)
  } catch (error) {
    throw malformedAt(`${api.name} request v${version}`, error)
  }
}

/** A request as the pieces of one gathered write, its size in front. */
export function encodeRequest<A extends Api>(
  api: A,
  version: number,
  header: { readonly correlationId: number; readonly clientId: string | null },
  body: RequestInput<A>,
): Buffer[] {
  if (!knowsVersion(api, version)) bug(`${api.name} v${version}`)
  const writer = new ByteWriter()
  writer.int32(0)
  writer.int16(api.key)
  writer.int16(version)
  writer.int32(header.correlationId)
  if (header.clientId === null) {
    writer.int16(-1)
  } else {
    writer.int16(Buffer.byteLength(header.clientId))
    writer.utf8(header.clientId)
  }
  if (isFlexible(api, version)) writer.uvarint(0)
  try {
    encodeBody(api.request, api, version, writer, body)
  } catch (error) {
    throw unencodableAt(`${api.name} request v${version}`, error)
  }
  return framed(writer)
}

/** A response as the pieces of one gathered write, its size in front. */
export function encodeResponse<A extends Api>(
  api: A,
  version: number,
  correlationId: number,
  body: ResponseInput<A>,
): Buffer[] {
  if (!knowsVersion(api, version)) bug(`${api.name} v${version}`)
  const writer = new ByteWriter()
  writer.int32(0)
  writer.int32(correlationId)
  if (hasResponseHeaderTags(api, version)) writer.uvarint(0)
  try {
    encodeBody(api.response, api, version, writer, body)
  } catch (error) {
    throw unencodableAt(`${api.name} response v${version}`, error)
  }
  return framed(writer)
}

/** The number that ties a response frame to its request. */
export function correlationIdOf(frame: Buffer): number {
  if (frame.length < 4) throw new MalformedError(`response of ${frame.length} bytes`)
  return frame.readInt32BE(0)
}

/** Reads a response frame, its header included. A server we asked is trusted with the number of elements. */
export function decodeResponse<A extends Api>(api: A, version: number, frame: Buffer): ResponseOf<A> {
  if (!knowsVersion(api, version)) bug(`${api.name} v${version}`)
  const reader = new MessageReader(frame, 0, frame.length, Number.POSITIVE_INFINITY)
  try {
    reader.skip(4)
    if (hasResponseHeaderTags(api, version)) skipTags(reader)
    return decodeBody(api.response, api, version, reader)
  } catch (error) {
    throw malformedAt(`${api.name} response v${version}`, error)
  }
}

function hasResponseHeaderTags(api: Api, version: number): boolean {
  return api.responseHeader === 'as flexible' && isFlexible(api, version)
}

/** Bytes after the body are ignored: a real Kafka does so too (tried with 4.4.0), so some client may rely on it. */
function decodeBody(body: AnyField, api: Api, version: number, reader: MessageReader): never {
  return structDecoder(structOf(body), { version, flexible: isFlexible(api, version) })(reader) as never
}

function encodeBody(body: AnyField, api: Api, version: number, writer: ByteWriter, value: unknown): void {
  structEncoder(structOf(body), { version, flexible: isFlexible(api, version) })(writer, value)
}

function framed(writer: ByteWriter): Buffer[] {
  const size = writer.length - 4
  const pieces = writer.finish()
  // The first piece holds the header at least, as it was written before anything by reference.
  pieces[0]?.writeInt32BE(size, 0)
  return pieces
}

/** No tags are defined for headers. */
function skipTags(reader: MessageReader): void {
  const count = reader.uvarint()
  for (let i = 0; i < count; i++) {
    reader.uvarint()
    reader.skip(reader.uvarint())
  }
}
