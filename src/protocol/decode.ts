import { assert } from '../base/assert.ts'
import { MalformedError } from '../base/bytes.ts'
import { MalformedFieldError, malformedAt } from './field-error.ts'
import { existsIn, isNullable, minSize, perVariant, type Variant } from './layout.ts'
import type { MessageReader } from './message-reader.ts'
import type { AnyField, ScalarKind, StructType, Type } from './field.ts'

/**
 * Turns a schema into code that decodes one version of it. The function for a structure is generated as text from our own
 * definitions (never from input): an object literal with the reads in place, which costs a third of what
 * a loop over closures does and gives all objects of a structure one shape.
 */

export type Decode = (reader: MessageReader) => unknown

const STRING_BYTES_MAX = 0x7fff

/** Scalars that read with one call of the reader's method of the same name. */
const DIRECT: ReadonlySet<ScalarKind> = new Set(['int8', 'int16', 'uint16', 'int32', 'uint32', 'int64', 'float64'])

/** The decoder of a structure, made once for each variant. */
export const structDecoder: (type: StructType, variant: Variant) => Decode = perVariant(makeStructDecoder)

function makeStructDecoder(type: StructType, variant: Variant): Decode {
  const names = Object.keys(type.fields)
  const parts: unknown[] = []
  const tagged = new Map<number, TaggedField>()
  const properties = names.map((name, index) => {
    const field = type.fields[name] as AnyField
    const { traits } = field
    assert(/^[A-Za-z]\w*$/.test(name), `field name ${name}`)
    if (!existsIn(traits, variant.version) || traits.tag !== null) {
      if (existsIn(traits, variant.version)) tagged.set(traits.tag as number, taggedField(name, field, variant))
      parts[index] = traits.absent
      return `${name}: parts[${index}]`
    }
    if (DIRECT.has(field.type.kind as ScalarKind)) return `${name}: (at = ${index}, reader.${field.type.kind}())`
    parts[index] = valueDecoder(field.type, isNullable(traits, variant.version), variant)
    return `${name}: (at = ${index}, part${index}(reader))`
  })
  assert(variant.flexible || tagged.size === 0, `tagged fields before the first flexible version: ${names}`)
  const locals = names.map((_, index) => `const part${index} = parts[${index}]`)
  const body = `
    ${locals.join('\n')}
    return (reader) => {
      let at = 0 // the field in hand; past the last one it is the tag section
      try {
        const value = { ${properties.join(', ')} }
        at = ${names.length}
        ${variant.flexible ? 'readTags(reader, value, tagged)' : ''}
        return value
      } catch (error) {
        throw malformedAt(names[at], error)
      }
    }`
  // oxlint-disable-next-line typescript/no-implied-eval -- made of our own definitions only
  const make = new Function('parts', 'names', 'tagged', 'readTags', 'malformedAt', body)
  return make(parts, [...names, ''], tagged, readTags, malformedAt)
}

/** A decoder of one value with its length or null marker. */
export function valueDecoder(type: Type, nullable: boolean, variant: Variant): Decode {
  switch (type.kind) {
    case 'bool':
      return (reader) => reader.int8() !== 0
    case 'bigint64':
      return (reader) => reader.buffer.readBigInt64BE(reader.skip(8))
    case 'string':
      return nullable
        ? variant.flexible
          ? compactNullableString
          : nullableString
        : variant.flexible
          ? compactString
          : plainString
    case 'uuid':
      return decodeUuid
    case 'bytes':
      return lengthPrefixed(nullable, variant, (reader, length) => reader.bytes(length))
    case 'records':
      return lengthPrefixed(nullable, variant, (reader, length) => (length === 0 ? [] : [reader.bytes(length)]))
    case 'array':
      return arrayDecoder(type.of, nullable, variant)
    case 'struct': {
      const decode = structDecoder(type, variant)
      return nullable ? (reader) => (reader.int8() < 0 ? null : decode(reader)) : decode
    }
    default: {
      const { kind } = type
      return (reader) => reader[kind]()
    }
  }
}

/** Reads a length that may not be null: -1 in the old encoding, 0 in the compact one. */
function requiredLength(reader: MessageReader, flexible: boolean): number {
  const length = optionalLength(reader, flexible)
  if (length < 0) throw new MalformedError('null where none is allowed')
  return length
}

/** Reads a length; -1 means null. */
function optionalLength(reader: MessageReader, flexible: boolean): number {
  const length = flexible ? reader.uvarint() - 1 : reader.int32()
  if (length < -1) throw new MalformedError(`negative length ${length}`)
  return length
}

function stringOf(reader: MessageReader, length: number): string {
  if (length > STRING_BYTES_MAX) throw new MalformedError(`string of ${length} bytes, at most ${STRING_BYTES_MAX}`)
  if (length < 0) throw new MalformedError(length === -1 ? 'null where none is allowed' : `negative length ${length}`)
  return reader.utf8(length)
}

const plainString: Decode = (reader) => stringOf(reader, reader.int16())
const compactString: Decode = (reader) => stringOf(reader, reader.uvarint() - 1)
const nullableString: Decode = (reader) => {
  const length = reader.int16()
  return length === -1 ? null : stringOf(reader, length)
}
const compactNullableString: Decode = (reader) => {
  const length = reader.uvarint() - 1
  return length === -1 ? null : stringOf(reader, length)
}

const decodeUuid: Decode = (reader) => {
  const at = reader.skip(16)
  return reader.buffer.toString('base64url', at, at + 16)
}

function lengthPrefixed(
  nullable: boolean,
  { flexible }: Variant,
  read: (reader: MessageReader, length: number) => unknown,
): Decode {
  if (!nullable) return (reader) => read(reader, requiredLength(reader, flexible))
  return (reader) => {
    const length = optionalLength(reader, flexible)
    return length < 0 ? null : read(reader, length)
  }
}

function arrayDecoder(of: Type, nullable: boolean, variant: Variant): Decode {
  const decode = valueDecoder(of, false, variant)
  const element = { bytes: minSize(of, false, variant), weight: DIRECT.has(of.kind as ScalarKind) ? 0.1 : 1 }
  assert(element.bytes > 0, `an array whose elements take no bytes in version ${variant.version}`)
  return lengthPrefixed(nullable, variant, (reader, length) => {
    reader.claim(length, element)
    const values: unknown[] = []
    let index = 0
    try {
      for (; index < length; index++) values.push(decode(reader))
    } catch (error) {
      throw malformedAt(`[${index}]`, error)
    }
    return values
  })
}

interface TaggedField {
  readonly name: string
  readonly decode: Decode
}

function taggedField(name: string, { type, traits }: AnyField, variant: Variant): TaggedField {
  const nullable = isNullable(traits, variant.version)
  if (type.kind !== 'struct' || !nullable) return { name, decode: valueDecoder(type, nullable, variant) }
  // The marker of a nullable structure is a varint here, not the byte that it is outside of tags.
  const decode = structDecoder(type, variant)
  return { name, decode: (reader) => (reader.uvarint() === 0 ? null : decode(reader)) }
}

/** Reads the tag section. Tags that we do not know are skipped: a newer or different peer may send what it likes there. */
function readTags(
  reader: MessageReader,
  value: Record<string, unknown>,
  tagged: ReadonlyMap<number, TaggedField>,
): void {
  const count = reader.uvarint()
  for (let i = 0; i < count; i++) {
    const tag = reader.uvarint()
    const size = reader.uvarint()
    if (size > reader.remaining) throw new MalformedError(`tag ${tag} of ${size} bytes, ${reader.remaining} bytes left`)
    const field = tagged.get(tag)
    if (field === undefined) {
      reader.skip(size)
      continue
    }
    const end = reader.position + size
    try {
      value[field.name] = field.decode(reader)
    } catch (error) {
      throw malformedAt(field.name, error)
    }
    if (reader.position !== end) {
      throw new MalformedFieldError(field.name, `ends at ${reader.position}, its tag says ${end}`)
    }
  }
}
