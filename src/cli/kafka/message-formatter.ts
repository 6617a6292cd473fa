import type { ConsumerRecord } from '../../client/fetched-records.ts'
import { LOG_APPEND_TIME_FLAG } from '../../protocol/batch/header.ts'
import { ToolExit, unsupported, usage } from './tool.ts'

export type Formatter = (record: ConsumerRecord) => Buffer

const PACKAGE = 'org.apache.kafka.tools.consumer.'
const SERIALIZATION = 'org.apache.kafka.common.serialization.'

/** What a deserializer makes of bytes, as text. */
type Reader = (bytes: Buffer) => string | Buffer

const READERS: Readonly<Record<string, Reader>> = {
  StringDeserializer: (bytes) => bytes.toString('utf8'),
  LongDeserializer: (bytes) => String(sized(bytes, 8, 'LongDeserializer').readBigInt64BE()),
  IntegerDeserializer: (bytes) => String(sized(bytes, 4, 'IntegerDeserializer').readInt32BE()),
  ShortDeserializer: (bytes) => String(sized(bytes, 2, 'ShortDeserializer').readInt16BE()),
  UUIDDeserializer: (bytes) => bytes.toString('utf8'),
}

function sized(bytes: Buffer, length: number, name: string): Buffer {
  if (bytes.length === length) return bytes
  const text = `Size of data received by ${name} is not ${length}`
  throw new ToolExit(1, 'stderr', `org.apache.kafka.common.errors.SerializationException: ${text}`)
}

/** The formatter of that class with these properties. Throws `ToolExit`. */
export function formatterOf(name: string, properties: ReadonlyMap<string, string>): Formatter {
  switch (name) {
    case `${PACKAGE}DefaultMessageFormatter`:
      return defaultFormatter(properties)
    case `${PACKAGE}NoOpMessageFormatter`:
      return () => Buffer.alloc(0)
    case `${PACKAGE}LoggingMessageFormatter`:
      return defaultFormatter(properties)
    default:
      if (name.startsWith(PACKAGE)) throw unsupported(`the formatter ${name}`)
      throw usage(name)
  }
}

const PRINTED = ['timestamp', 'partition', 'offset', 'delivery', 'epoch', 'headers', 'key', 'value'] as const
type Column = (typeof PRINTED)[number]

/** Columns in their order, with the key's separator between them, and the line's after the last. */
function defaultFormatter(properties: ReadonlyMap<string, string>): Formatter {
  const columns = PRINTED.filter((column) => isPrinted(properties, column))
  const between = Buffer.from(properties.get('key.separator') ?? '\t')
  const end = Buffer.from(properties.get('line.separator') ?? '\n')
  const print = columnPrinter(properties)
  return (record) => {
    const parts = columns.flatMap((column, index) => [
      print(record, column),
      index === columns.length - 1 ? end : between,
    ])
    return Buffer.concat(parts)
  }
}

function isPrinted(properties: ReadonlyMap<string, string>, column: Column): boolean {
  const given = properties.get(`print.${column}`)
  return given === undefined ? column === 'value' : given.trim().toLowerCase() === 'true'
}

function columnPrinter(properties: ReadonlyMap<string, string>): (record: ConsumerRecord, column: Column) => Buffer {
  const nothing = Buffer.from(properties.get('null.literal') ?? 'null')
  const readers = {
    key: readerOf(properties.get('key.deserializer')),
    value: readerOf(properties.get('value.deserializer')),
    headers: readerOf(properties.get('headers.deserializer')),
  }
  const text = (bytes: Uint8Array | null, reader: Reader | null): Buffer => {
    const given = bytes === null ? nothing : Buffer.from(bytes)
    return reader === null ? given : Buffer.from(reader(given))
  }
  const separator = properties.get('headers.separator') ?? ','
  return (record, column) => {
    const { key, value, headers, offset, partition, timestampMs, batch } = record
    switch (column) {
      case 'key':
        return text(key, readers.key)
      case 'value':
        return text(value, readers.value)
      case 'headers': {
        if (headers.length === 0) return Buffer.from('NO_HEADERS')
        const all = headers.flatMap((header, index) => [
          Buffer.from(`${index > 0 ? separator : ''}${header.key}:`),
          text(header.value, readers.headers),
        ])
        return Buffer.concat(all)
      }
      case 'timestamp': {
        const kind = (batch.attributes & LOG_APPEND_TIME_FLAG) === 0 ? 'CreateTime' : 'LogAppendTime'
        return Buffer.from(`${kind}:${timestampMs}`)
      }
      case 'partition':
        return Buffer.from(`Partition:${partition}`)
      case 'offset':
        return Buffer.from(`Offset:${offset}`)
      case 'delivery':
        return Buffer.from('Delivery:NOT_PRESENT')
      case 'epoch':
        // Kafka's tool hands its formatter a record that lacks it.
        return Buffer.from('Epoch:NOT_PRESENT')
    }
  }
}

function readerOf(name: string | undefined): Reader | null {
  if (name === undefined) return null
  const reader = name.startsWith(SERIALIZATION) ? READERS[name.slice(SERIALIZATION.length)] : undefined
  if (reader === undefined) throw unsupported(`the deserializer ${name}`)
  return reader
}
