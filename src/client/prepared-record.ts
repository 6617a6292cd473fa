import type { RecordHeader, RecordToBuild } from '../protocol/batch/build.ts'
import { NO_HEADERS } from '../protocol/batch/records.ts'
import { UsageError } from './errors.ts'
import type { ProducerRecord } from './producer.ts'

/** A record as it will be sent. Its bytes are the caller's until it is in its batch. */
export interface Prepared {
  readonly toBuild: RecordToBuild & { readonly key: Buffer | null }
  /** What it takes of the buffer, about what it will take on the wire. */
  readonly bytes: number
}

/** More than the fields of a record beside key, value and headers take, in most cases. */
const RECORD_OVERHEAD_BYTES = 20
const HEADER_OVERHEAD_BYTES = 10

/**
 * Throws `UsageError` for what no record can be: callers need not be written in TypeScript, and one bad record must not
 * spoil the batch of the others.
 */
export function prepare({ partition, key, value, headers, timestampMs }: ProducerRecord, nowMs: number): Prepared {
  if (partition !== undefined && !Number.isSafeInteger(partition))
    throw new UsageError(`partition ${String(partition)}: a whole number is wanted`)
  const timestamp = timestampMs ?? nowMs
  if (!Number.isSafeInteger(timestamp) || timestamp < 0)
    throw new UsageError(`timestampMs ${String(timestamp)}: whole milliseconds since 1970 are wanted`)
  const record = { key: asBuffer(key, 'key'), value: asBuffer(value, 'value'), timestampMs: timestamp }
  const list = headers === undefined ? NO_HEADERS : toHeaders(headers)
  const toBuild = list.length === 0 ? record : { ...record, headers: list }
  return { toBuild, bytes: sizeOf(record.key, record.value, list) }
}

/** For a record that has to wait: the caller may go on with its buffers meanwhile. */
export function copied({ toBuild, bytes }: Prepared): Prepared {
  const { key, value, headers } = toBuild
  const copies = { ...toBuild, key: key && Buffer.from(key), value: value && Buffer.from(value) }
  if (headers === undefined) return { toBuild: copies, bytes }
  const list = headers.map(({ key: name, value: bytesOf }) => ({ key: name, value: bytesOf && Buffer.from(bytesOf) }))
  return { toBuild: { ...copies, headers: list }, bytes }
}

/** A view of the caller's bytes. */
function asBuffer(value: unknown, what: string): Buffer | null {
  if (value === null || value === undefined) return null
  if (typeof value === 'string') return Buffer.from(value)
  if (Buffer.isBuffer(value)) return value
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  throw new UsageError(
    `${what} is ${typeof value === 'object' ? 'an object' : `a ${typeof value}`}: text or bytes are wanted`,
  )
}

function toHeaders(headers: NonNullable<ProducerRecord['headers']>): readonly RecordHeader[] {
  if (!Array.isArray(headers)) return Object.entries(headers).map(([key, value]) => toHeader(key, value))
  return (headers as readonly RecordHeader[]).map(({ key, value }) => toHeader(key, value))
}

function toHeader(key: unknown, value: unknown): RecordHeader {
  if (typeof key !== 'string') throw new UsageError(`the key of a header is a ${typeof key}: a text is wanted`)
  return { key, value: asBuffer(value, `header ${key}`) }
}

function sizeOf(key: Uint8Array | null, value: Uint8Array | null, headers: readonly RecordHeader[]): number {
  let bytes = RECORD_OVERHEAD_BYTES + (key?.length ?? 0) + (value?.length ?? 0)
  for (const header of headers)
    bytes += HEADER_OVERHEAD_BYTES + Buffer.byteLength(header.key) + (header.value?.length ?? 0)
  return bytes
}
