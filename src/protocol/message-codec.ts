import { assert, bug } from '../base/assert.ts'
import { ByteWriter, MalformedError } from '../base/bytes.ts'
import { structDecoder } from './decode.ts'
import { structEncoder } from './encode.ts'
import type { AnyField, InputOf, ValueOf } from './field.ts'
import { malformedAt, unencodableAt } from './field-error.ts'
import { structOf } from './layout.ts'
import { MessageReader } from './message-reader.ts'
import type { CoordinatorRecord, LogRecord, Message } from './schema.ts'

/**
 * Messages and records: what stands on disk and inside of requests, each with a prefix that says how to read on.
 *
 * - a message: int16 version, body (Kafka's "version-prefixed")
 * - a log record: uvarint 1 (the frame's own version), uvarint id, uvarint version, body
 * - a coordinator record: key = int16 id, body in version 0; value = int16 version, body
 *
 * Decoding throws MalformedError and nothing else; encoding throws UnencodableError when the version cannot carry the value.
 */

interface Versioned {
  readonly name: string
  readonly versions: readonly [first: number, last: number]
  readonly flexible: number
}

export function encodeMessage<Body extends AnyField>(
  message: Message<Body>,
  version: number,
  value: InputOf<Body>,
): Buffer {
  const writer = new ByteWriter()
  writer.int16(version)
  writeBody(message, message.fields, version, writer, value)
  return writer.toBuffer()
}

export function decodeMessage<Body extends AnyField>(
  message: Message<Body>,
  buffer: Buffer,
): { readonly version: number; readonly value: ValueOf<Body> } {
  const reader = fileReader(buffer)
  const version = readVersion(message.name, reader)
  const tolerant = message.newer === 'as last known'
  const readAs = tolerant ? Math.min(version, message.versions[1]) : version
  const rest = tolerant ? 'ignore what follows' : 'refuse what follows'
  return { version, value: readBody(message, message.fields, readAs, reader, rest) as ValueOf<Body> }
}

/** Log records by their names; the keys must be the names of the records. */
export type LogRecords = Readonly<Record<string, LogRecord>>

/** One decoded record of such a log. */
export type LogRecordOf<Records extends LogRecords> = {
  readonly [Name in keyof Records & string]: {
    readonly type: Name
    readonly version: number
    readonly value: ValueOf<Records[Name]['fields']>
  }
}[keyof Records & string]

/** One record of such a log as it may be encoded. */
export type LogRecordInput<Records extends LogRecords> = {
  readonly [Name in keyof Records & string]: {
    readonly type: Name
    readonly value: InputOf<Records[Name]['fields']>
  }
}[keyof Records & string]

/** The version of the frame around each record of `__cluster_metadata`; there has never been another. */
const FRAME_VERSION = 1

/** Encodes and decodes the records of one log. `framed`: with the frame's own version in front. */
export class LogRecordCodec<Records extends LogRecords> {
  readonly #records: Records
  readonly #byId: ReadonlyMap<number, LogRecord>
  readonly #framed: boolean

  constructor(records: Records, { framed }: { readonly framed: boolean }) {
    for (const [name, record] of Object.entries(records))
      assert(name === record.name, `record ${record.name} as ${name}`)
    this.#records = records
    this.#byId = new Map(Object.values(records).map((record) => [record.id, record]))
    this.#framed = framed
  }

  encode({ type, value }: LogRecordInput<Records>, version: number): Buffer {
    const record = this.#records[type] as LogRecord
    const writer = new ByteWriter()
    if (this.#framed) writer.uvarint(FRAME_VERSION)
    writer.uvarint(record.id)
    writer.uvarint(version)
    writeBody(record, record.fields, version, writer, value)
    return writer.toBuffer()
  }

  decode(buffer: Buffer): LogRecordOf<Records> {
    const reader = fileReader(buffer)
    const { id, version } = this.#readPrefix(reader)
    const record = this.#byId.get(id)
    if (record === undefined) throw new MalformedError(`record id ${id} is not known`)
    const value = readBody(record, record.fields, version, reader)
    return { type: record.name, version, value } as LogRecordOf<Records>
  }

  #readPrefix(reader: MessageReader): { id: number; version: number } {
    try {
      const frame = this.#framed ? reader.uvarint() : FRAME_VERSION
      if (frame !== FRAME_VERSION) throw new MalformedError(`frame version ${frame} is not known`)
      return { id: reader.uvarint(), version: reader.uvarint() }
    } catch (error) {
      throw malformedAt('record prefix', error)
    }
  }
}

/** Coordinator records by their names; the keys must be the names of the records. */
export type CoordinatorRecords = Readonly<Record<string, CoordinatorRecord>>

/** One decoded record of such a log; without a value it deletes what the key names. */
export type CoordinatorRecordOf<Records extends CoordinatorRecords> = {
  readonly [Name in keyof Records & string]: {
    readonly type: Name
    readonly key: ValueOf<Records[Name]['key']>
    readonly value: ValueOf<Records[Name]['value']> | null
  }
}[keyof Records & string]

/** One record of such a log as it may be encoded. */
export type CoordinatorRecordInput<Records extends CoordinatorRecords> = {
  readonly [Name in keyof Records & string]: {
    readonly type: Name
    readonly key: InputOf<Records[Name]['key']>
    readonly value: InputOf<Records[Name]['value']> | null
  }
}[keyof Records & string]

/** Encodes and decodes the keys and values of one coordinator's log. */
export class CoordinatorRecordCodec<Records extends CoordinatorRecords> {
  readonly #records: Records
  readonly #byId: ReadonlyMap<number, CoordinatorRecord>

  constructor(records: Records) {
    for (const [name, record] of Object.entries(records))
      assert(name === record.name, `record ${record.name} as ${name}`)
    this.#records = records
    this.#byId = new Map(Object.values(records).map((record) => [record.id, record]))
  }

  /** `version` is the value's: which one is for the writer to choose, so that those who must read it can. */
  encode(
    { type, key, value }: CoordinatorRecordInput<Records>,
    version: number,
  ): { readonly key: Buffer; readonly value: Buffer | null } {
    const record = this.#records[type] as CoordinatorRecord
    const keyWriter = new ByteWriter(64)
    keyWriter.int16(record.id)
    writeBody(keyOf(record), record.key, 0, keyWriter, key)
    if (value === null) return { key: keyWriter.toBuffer(), value: null }
    const writer = new ByteWriter()
    writer.int16(version)
    writeBody(record, record.value, version, writer, value)
    return { key: keyWriter.toBuffer(), value: writer.toBuffer() }
  }

  /** Null for a record whose id we do not know: a later version may have written it, and reading it is none of our business. */
  decode(key: Buffer, value: Buffer | null): CoordinatorRecordOf<Records> | null {
    const reader = fileReader(key)
    const record = this.#byId.get(readVersion('record key', reader))
    if (record === undefined) return null
    const decodedKey = readBody(keyOf(record), record.key, 0, reader)
    return { type: record.name, key: decodedKey, value: readValue(record, value) } as CoordinatorRecordOf<Records>
  }
}

function keyOf({ name }: CoordinatorRecord): Versioned {
  return { name: `${name}Key`, versions: [0, 0], flexible: Number.POSITIVE_INFINITY }
}

function readValue(record: CoordinatorRecord, value: Buffer | null): unknown {
  if (value === null) return null
  const reader = fileReader(value)
  const version = readVersion(record.name, reader)
  return readBody(record, record.value, version, reader)
}

/** What is on our disk was checked by its batch's CRC, and no request made us allocate for it: no limit on elements. */
function fileReader(buffer: Buffer): MessageReader {
  return new MessageReader(buffer, 0, buffer.length, Number.POSITIVE_INFINITY)
}

function readVersion(name: string, reader: MessageReader): number {
  try {
    return reader.int16()
  } catch (error) {
    throw malformedAt(name, error)
  }
}

function readBody(
  { name, versions, flexible }: Versioned,
  body: AnyField,
  version: number,
  reader: MessageReader,
  rest: 'refuse what follows' | 'ignore what follows' = 'refuse what follows',
): unknown {
  if (version < versions[0] || version > versions[1]) {
    throw new MalformedError(`${name} version ${version} is not known, ${versions[0]} to ${versions[1]} are`)
  }
  try {
    const value = structDecoder(structOf(body), { version, flexible: version >= flexible })(reader)
    if (reader.remaining > 0 && rest === 'refuse what follows') {
      throw new MalformedError(`${reader.remaining} bytes too many`)
    }
    return value
  } catch (error) {
    throw malformedAt(`${name} v${version}`, error)
  }
}

function writeBody(
  { name, versions, flexible }: Versioned,
  body: AnyField,
  version: number,
  writer: ByteWriter,
  value: unknown,
): void {
  if (!(version >= versions[0] && version <= versions[1])) bug(`${name} v${version}`)
  try {
    structEncoder(structOf(body), { version, flexible: version >= flexible })(writer, value)
  } catch (error) {
    throw unencodableAt(`${name} v${version}`, error)
  }
}
