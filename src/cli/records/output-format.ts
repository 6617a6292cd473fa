import {
  CODEC_MASK,
  CODECS,
  CONTROL_FLAG,
  LOG_APPEND_TIME_FLAG,
  TRANSACTIONAL_FLAG,
} from '../../protocol/batch/header.ts'
import { readBraces, readEscape } from './escapes.ts'
import { numberFormat } from './number-format.ts'
import type { PrintedRecord } from './printed-record.ts'
import { strftime } from './strftime.ts'

type Piece = (record: PrintedRecord, index: number) => Buffer
type HeaderPiece = (header: PrintedRecord['headers'][number]) => Buffer

const NOTHING = Buffer.alloc(0)

const NUMBERS: Readonly<Record<string, (record: PrintedRecord, index: number) => number>> = {
  T: ({ topic }) => Buffer.byteLength(topic),
  K: ({ key }) => key?.length ?? 0,
  V: ({ value }) => value?.length ?? 0,
  H: ({ headers }) => headers.length,
  p: ({ partition }) => partition,
  o: ({ offset }) => offset,
  e: ({ leaderEpoch }) => leaderEpoch,
  x: ({ producerId }) => producerId,
  y: ({ producerEpoch }) => producerEpoch,
  i: (_, index) => index,
}

const TEXTS: Readonly<Record<string, (record: PrintedRecord) => Buffer | null>> = {
  t: ({ topic }) => Buffer.from(topic),
  k: ({ key }) => key,
  v: ({ value }) => value,
}

/**
 * Compiles the %-format of rpk's consume: `%t` topic, `%p` partition, `%o` offset, `%k` key, `%v` value, `%h{…}` headers
 * (inside: `%k %v`), `%d` timestamp, `%e` leader epoch, `%a{…}` attributes, `%x` `%y` producer id and epoch, `%i` number of
 * the record from 1; `%K %V %T %H` lengths and header count; `%%`, `%{`, `%}`. Modifiers in braces: numbers `hex64`, `big32`, `little16`, `byte`, `bool`…; text `hex`,
 * `base64`, `base64raw`; timestamp `strftime[%F %T]`. A text says what is wrong with the format.
 */
export function compileOutputFormat(format: string): ((record: PrintedRecord, index: number) => Buffer) | string {
  const pieces = compile<Piece>(format, recordPiece)
  if (typeof pieces === 'string') return pieces
  return (record, index) => Buffer.concat(pieces.map((piece) => piece(record, index)))
}

type PieceMaker<P> = (letter: string, modifier: string | null) => P | string

function compile<P extends Piece | HeaderPiece>(format: string, make: PieceMaker<P>): P[] | string {
  const pieces: P[] = []
  let literal = ''
  const flush = () => {
    const bytes = Buffer.from(literal, 'utf8')
    if (bytes.length > 0) pieces.push((() => bytes) as unknown as P)
    literal = ''
  }
  for (let at = 0; at < format.length; ) {
    const char = format[at] as string
    if (char === '\\') {
      const escape = readEscape(format, at)
      if (escape === null) return `unknown escape '${format.slice(at, at + 2)}'`
      literal += escape.text
      at = escape.end
      continue
    }
    const letter = format[at + 1]
    if (char !== '%') {
      literal += char
      at++
    } else if (letter === undefined) {
      return 'the format ends in a lone %'
    } else if (letter === '%' || letter === '{' || letter === '}') {
      literal += letter
      at += 2
    } else {
      const braces = readBraces(format, at + 2)
      const piece = make(letter, braces?.inside ?? null)
      if (typeof piece === 'string') return piece
      flush()
      pieces.push(piece)
      at = braces?.end ?? at + 2
    }
  }
  flush()
  return pieces
}

function recordPiece(letter: string, modifier: string | null): Piece | string {
  const text = TEXTS[letter]
  if (text !== undefined) {
    const encode = textEncoder(letter, modifier)
    return typeof encode === 'string' ? encode : (record) => encode(text(record))
  }
  const number = NUMBERS[letter]
  if (number !== undefined) {
    const print = numberFormat(modifier ?? '')
    return print === null
      ? `%${letter}{${modifier}}: unknown number format`
      : (record, index) => print(number(record, index))
  }
  if (letter === 'd') return timestampPiece(modifier ?? '')
  if (letter === 'a') return attributesPiece(modifier ?? '')
  if (letter === 'h') return headersPiece(modifier)
  return `unknown %${letter}`
}

function textEncoder(letter: string, modifier: string | null): ((bytes: Uint8Array | null) => Buffer) | string {
  switch (modifier) {
    case null:
      return (bytes) => (bytes === null ? NOTHING : asBuffer(bytes))
    case 'hex':
    case 'base64':
      return (bytes) => Buffer.from(asBuffer(bytes ?? NOTHING).toString(modifier))
    case 'base64raw':
      return (bytes) =>
        Buffer.from(
          asBuffer(bytes ?? NOTHING)
            .toString('base64')
            .replace(/=+$/, ''),
        )
    default:
      return `%${letter}{${modifier}}: hex, base64 and base64raw are known`
  }
}

function timestampPiece(modifier: string): Piece | string {
  const pattern = /^strftime\[(.*)\]$/s.exec(modifier)?.[1]
  if (pattern !== undefined) return ({ timestampMs }) => Buffer.from(strftime(pattern, timestampMs))
  const print = numberFormat(modifier)
  return print === null
    ? `%d{${modifier}}: strftime[…] and number formats are known`
    : (record) => print(record.timestampMs)
}

/** `compression` is a name, or a number when a number format follows: `compression;number`. */
function attributesPiece(modifier: string): Piece | string {
  const [what = '', format] = modifier.split(';')
  const print = numberFormat(format ?? '')
  if (print === null) return `%a{${modifier}}: unknown number format`
  switch (what) {
    case 'compression':
      return ({ attributes }) => {
        const codec = attributes & CODEC_MASK
        return format === undefined ? Buffer.from(CODECS[codec] ?? 'unknown') : print(codec)
      }
    case 'timestamp-type':
      return ({ attributes }) => print((attributes & LOG_APPEND_TIME_FLAG) === 0 ? 0 : 1)
    case 'transactional-bit':
      return ({ attributes }) => print((attributes & TRANSACTIONAL_FLAG) === 0 ? 0 : 1)
    case 'control-bit':
      return ({ attributes }) => print((attributes & CONTROL_FLAG) === 0 ? 0 : 1)
    default:
      return `%a{${modifier}}: compression, timestamp-type, transactional-bit and control-bit are known`
  }
}

function headersPiece(modifier: string | null): Piece | string {
  if (modifier === null) return '%h needs a format for each header, as %h{%k=%v }'
  const pieces = compile<HeaderPiece>(modifier, headerPiece)
  if (typeof pieces === 'string') return pieces
  return ({ headers }) => Buffer.concat(headers.flatMap((header) => pieces.map((piece) => piece(header))))
}

function headerPiece(letter: string, modifier: string | null): HeaderPiece | string {
  if (letter === 'k' || letter === 'v') {
    const encode = textEncoder(letter, modifier)
    if (typeof encode === 'string') return encode
    return letter === 'k' ? ({ key }) => encode(Buffer.from(key)) : ({ value }) => encode(value)
  }
  if (letter === 'K' || letter === 'V') {
    const print = numberFormat(modifier ?? '')
    if (print === null) return `%${letter}{${modifier}}: unknown number format`
    return letter === 'K' ? ({ key }) => print(Buffer.byteLength(key)) : ({ value }) => print(value?.length ?? 0)
  }
  return `unknown %${letter} in %h{…}`
}

/** One line of JSON; keys and values that are no UTF-8 text come as base64 under `keyBase64`, `valueBase64`. */
export function jsonRecord(record: PrintedRecord): string {
  const { topic, partition, offset, timestampMs, key, value, headers } = record
  return JSON.stringify({
    topic,
    partition,
    offset,
    timestampMs,
    ...jsonBytes('key', key),
    ...jsonBytes('value', value),
    ...(headers.length === 0
      ? {}
      : { headers: headers.map((header) => ({ key: header.key, ...jsonBytes('value', header.value) })) }),
  })
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}

function jsonBytes(name: string, bytes: Uint8Array | null): Record<string, string | null> {
  if (bytes === null) return { [name]: null }
  const buffer = asBuffer(bytes)
  const text = buffer.toString('utf8')
  return Buffer.from(text, 'utf8').equals(buffer) ? { [name]: text } : { [`${name}Base64`]: buffer.toString('base64') }
}
