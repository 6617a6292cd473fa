import { assert, bug } from '../base/assert.ts'
import { ByteWriter, utf8Length } from '../base/bytes.ts'
import { UnencodableError, unencodableAt } from './field-error.ts'
import { existsIn, fixedSize, isNullable, perVariant, type Variant } from './layout.ts'
import type { AnyField, ScalarKind, StructType, Type } from './field.ts'

/** Turns a schema into code that encodes one version of it; the counterpart of `decode.ts`, generated for the same reason. */

// oxlint-disable-next-line typescript/no-explicit-any -- the types were checked where the value came in.
export type Encode = (writer: ByteWriter, value: any) => void

const STRING_BYTES_MAX = 0x7fff

/** An error names what it is about, and that may be a name of 32 KB that a client made up: then there is no room for both. */
const ERROR_TEXT = /[eE]rrorMessage$/
/** Of either end of an error's text that has no room. */
const KEPT_CHARACTERS = 400

/** Scalars that the writer's method of the same name checks and writes. */
const DIRECT: ReadonlySet<ScalarKind> = new Set(['int8', 'int16', 'uint16', 'int32', 'uint32', 'float64'])

/** The encoder of a structure, made once for each variant. */
export const structEncoder: (type: StructType, variant: Variant) => Encode = perVariant(makeStructEncoder)

function makeStructEncoder(type: StructType, variant: Variant): Encode {
  const names = Object.keys(type.fields)
  const encoders: unknown[] = []
  const defaults: unknown[] = []
  const tagged: TaggedField[] = []
  const steps = names.map((name, index) => {
    const field = type.fields[name] as AnyField
    const { traits } = field
    assert(/^[A-Za-z]\w*$/.test(name), `field name ${name}`)
    if (!existsIn(traits, variant.version)) {
      if (traits.ignorable) return ''
      encoders[index] = refuseUnlessDefault(field, variant)
      return `if (value.${name} !== undefined) { at = ${index}; encode${index}(value.${name}) }`
    }
    if (traits.tag !== null) {
      tagged.push(taggedField(name, field, variant))
      return ''
    }
    defaults[index] = traits.absent
    const given = traits.optional ? `value.${name} === undefined ? defaults[${index}] : value.${name}` : `value.${name}`
    if (DIRECT.has(field.type.kind as ScalarKind)) return `at = ${index}; writer.${field.type.kind}(${given})`
    const encode = valueEncoder(field.type, isNullable(traits, variant.version), variant)
    encoders[index] = ERROR_TEXT.test(name)
      ? (writer: ByteWriter, text: unknown) => encode(writer, fitting(text))
      : encode
    return `at = ${index}; encode${index}(writer, ${given})`
  })
  tagged.sort((a, b) => a.tag - b.tag)
  const locals = names.map((_, index) => `const encode${index} = encoders[${index}]`)
  const body = `
    ${locals.join('\n')}
    return (writer, value) => {
      let at = 0
      try {
        ${steps.join('\n')}
      } catch (error) {
        throw unencodableAt(names[at], error)
      }
      ${variant.flexible ? (tagged.length === 0 ? 'writer.uvarint(0)' : 'writeTags(writer, value, tagged)') : ''}
    }`
  // oxlint-disable-next-line typescript/no-implied-eval -- made of our own definitions only
  const make = new Function('encoders', 'defaults', 'names', 'tagged', 'writeTags', 'unencodableAt', body)
  return make(encoders, defaults, names, tagged, writeTags, unencodableAt)
}

/** An encoder of one value with its length or null marker. */
export function valueEncoder(type: Type, nullable: boolean, variant: Variant): Encode {
  const { flexible, version } = variant
  switch (type.kind) {
    case 'bool':
      return (writer, value) => {
        if (typeof value !== 'boolean') bug(`bool ${value}`)
        writer.int8(value ? 1 : 0)
      }
    case 'int64':
      return (writer, value) => {
        if (!Number.isInteger(value)) bug(`int64 ${value}`)
        writer.int64(value)
      }
    case 'bigint64':
      return (writer, value) => {
        const raw = Buffer.allocUnsafe(8)
        raw.writeBigInt64BE(value)
        writer.bytes(raw)
      }
    case 'uuid':
      return (writer, value) => {
        writer.bytes(uuidBytes(value))
      }
    case 'string':
      return orNull(
        nullable,
        version,
        (writer) => (flexible ? writer.uvarint(0) : writer.int16(-1)),
        flexible ? compactString : plainString,
      )
    case 'bytes':
      return orNull(nullable, version, nullLength(flexible), (writer, value: Uint8Array) => {
        writeLength(writer, value.length, flexible)
        writer.bytes(value)
      })
    case 'records':
      return orNull(nullable, version, nullLength(flexible), (writer, pieces: readonly Buffer[]) => {
        let length = 0
        for (const piece of pieces) length += piece.length
        writeLength(writer, length, flexible)
        for (const piece of pieces) writer.bytesByReference(piece)
      })
    case 'array':
      return orNull(nullable, version, nullLength(flexible), arrayEncoder(type.of, variant))
    case 'struct': {
      const encode = structEncoder(type, variant)
      if (!nullable) return orNull(false, version, refuseNull, encode)
      return orNull(
        true,
        version,
        (writer) => writer.int8(-1),
        (writer, value) => {
          writer.int8(1)
          encode(writer, value)
        },
      )
    }
    default: {
      const { kind } = type
      return (writer, value) => writer[kind](value)
    }
  }
}

function orNull(nullable: boolean, version: number, writeNull: (writer: ByteWriter) => void, encode: Encode): Encode {
  if (nullable) return (writer, value) => (value === null ? writeNull(writer) : encode(writer, value))
  return (writer, value) => {
    if (value === null) throw new UnencodableError('', `null is not allowed in version ${version}`)
    encode(writer, value)
  }
}

function nullLength(flexible: boolean): (writer: ByteWriter) => void {
  return flexible ? (writer) => writer.uvarint(0) : (writer) => writer.int32(-1)
}

function refuseNull(): never {
  throw new UnencodableError('', 'null is not allowed')
}

function writeLength(writer: ByteWriter, length: number, flexible: boolean): void {
  if (flexible) writer.uvarint(length + 1)
  else writer.int32(length)
}

const UUID_BYTES = 16
const UUID_TEXT_LENGTH = 22
const uuids = new Map<string, Buffer>()
/** Ids kept: those of topics come in every request. */
const UUIDS_MAX = 20_000

function uuidBytes(value: string): Buffer {
  let raw = uuids.get(value)
  if (raw === undefined) {
    // In memory of its own: a part of Node's pool would keep 64 KB alive for these few bytes.
    raw = Buffer.allocUnsafeSlow(UUID_BYTES)
    assert(raw.write(value, 'base64url') === UUID_BYTES && value.length === UUID_TEXT_LENGTH, `uuid ${value}`)
    if (uuids.size >= UUIDS_MAX) uuids.clear()
    uuids.set(value, raw)
  }
  return raw
}

function stringLength(value: string): number {
  const length = utf8Length(value)
  if (length > STRING_BYTES_MAX)
    throw new UnencodableError('', `string of ${length} bytes, at most ${STRING_BYTES_MAX}`)
  return length
}

const plainString: Encode = (writer, value: string) => {
  writer.int16(stringLength(value))
  writer.utf8(value)
}
const compactString: Encode = (writer, value: string) => {
  writer.uvarint(stringLength(value) + 1)
  writer.utf8(value)
}

function arrayEncoder(of: Type, variant: Variant): Encode {
  const encode = valueEncoder(of, false, variant)
  return (writer, values: readonly unknown[]) => {
    writeLength(writer, values.length, variant.flexible)
    let index = 0
    try {
      for (; index < values.length; index++) encode(writer, values[index])
    } catch (error) {
      throw unencodableAt(`[${index}]`, error)
    }
  }
}

/** For a field that this version lacks: losing what the caller said would be a lie, so only the default may be dropped. */
function refuseUnlessDefault({ type, traits }: AnyField, { version }: Variant): (value: unknown) => void {
  const isDefault = defaultTest(type, traits.absent)
  return (value) => {
    if (!isDefault(value)) throw new UnencodableError('', `has no place in version ${version}`)
  }
}

/** Whether a value is the default and so may be left out. Defaults of arrays and bytes are empty or null, of structures all defaults or null. */
function defaultTest(type: Type, absent: unknown): (value: unknown) => boolean {
  if (absent === null) return (value) => value === null
  if (type.kind === 'array' || type.kind === 'bytes' || type.kind === 'records') {
    assert((absent as { length: number }).length === 0, `a default ${type.kind} that is not empty`)
    return (value) => value !== null && (value as { length: number }).length === 0
  }
  if (type.kind !== 'struct') return (value) => value === absent
  const tests = Object.entries(type.fields).map(
    ([name, field]) => [name, defaultTest(field.type, field.traits.absent)] as const,
  )
  return (value) => {
    if (value === null) return false
    const struct = value as Record<string, unknown>
    return tests.every(([name, isDefault]) => struct[name] === undefined || isDefault(struct[name]))
  }
}

interface TaggedField {
  readonly name: string
  readonly tag: number
  readonly isDefault: (value: unknown) => boolean
  readonly encode: Encode
  /** The bytes of every value, or undefined when they must be counted. */
  readonly size: number | undefined
}

function taggedField(name: string, { type, traits }: AnyField, variant: Variant): TaggedField {
  const nullable = isNullable(traits, variant.version)
  const common = { name, tag: traits.tag as number, isDefault: defaultTest(type, traits.absent) }
  if (type.kind !== 'struct' || !nullable) {
    return {
      ...common,
      encode: valueEncoder(type, nullable, variant),
      size: nullable ? undefined : fixedSize(type, variant),
    }
  }
  // The marker of a nullable structure is a varint here, not the byte that it is outside of tags.
  const inner = structEncoder(type, variant)
  const encode: Encode = (writer, value) => {
    writer.uvarint(value === null ? 0 : 1)
    if (value !== null) inner(writer, value)
  }
  return { ...common, encode, size: undefined }
}

/** Writes the tag section: fields with a value other than the default, in the order of their tags. */
function writeTags(writer: ByteWriter, struct: Record<string, unknown>, tagged: readonly TaggedField[]): void {
  let count = 0
  for (const { name, isDefault } of tagged) {
    const value = struct[name]
    if (value !== undefined && !isDefault(value)) count++
  }
  writer.uvarint(count)
  if (count === 0) return
  for (const field of tagged) {
    const value = struct[field.name]
    if (value === undefined || field.isDefault(value)) continue
    try {
      writer.uvarint(field.tag)
      writeTag(writer, field, value)
    } catch (error) {
      throw unencodableAt(field.name, error)
    }
  }
}

function writeTag(writer: ByteWriter, { encode, size }: TaggedField, value: unknown): void {
  if (size !== undefined) {
    writer.uvarint(size)
    encode(writer, value)
    return
  }
  const inner = new ByteWriter(64)
  encode(inner, value)
  const encoded = inner.toBuffer()
  writer.uvarint(encoded.length)
  writer.bytes(encoded)
}

function fitting(text: unknown): unknown {
  if (typeof text !== 'string' || utf8Length(text) <= STRING_BYTES_MAX) return text
  return `${text.slice(0, KEPT_CHARACTERS)} … ${text.slice(-KEPT_CHARACTERS)}`
}
