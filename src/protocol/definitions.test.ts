import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ByteWriter, MalformedError } from '../base/bytes.ts'
import { Random } from '../base/random.ts'
import { structDecoder } from './decode.ts'
import { allDefinitions, type Definition } from './definitions.ts'
import { structEncoder } from './encode.ts'
import type { AnyField, StructType, Type } from './field.ts'
import { UnencodableError } from './field-error.ts'
import { existsIn, type Variant } from './layout.ts'
import { MessageReader } from './message-reader.ts'
import { randomStruct, randomValue } from './random-value.ts'

/** Every structure in every version: what is true of the language must be true of each definition. */
interface Subject {
  readonly title: string
  readonly type: StructType
  readonly variant: Variant
}

function subjectsOf({ name, versions, flexible, body }: Definition): Subject[] {
  return Array.from({ length: versions[1] - versions[0] + 1 }, (_, index) => {
    const version = versions[0] + index
    const variant = { version, flexible: version >= flexible }
    return { title: `${name} v${version}`, type: body.type as StructType, variant }
  })
}

const subjects = allDefinitions().flatMap(subjectsOf)

function encode({ type, variant }: Subject, value: unknown): Buffer {
  const writer = new ByteWriter()
  structEncoder(type, variant)(writer, value)
  return writer.toBuffer()
}

/** Decodes all of `bytes`; what is left over is an error, as in the codecs. */
function decode({ type, variant }: Subject, bytes: Buffer): unknown {
  const reader = new MessageReader(bytes)
  const value = structDecoder(type, variant)(reader)
  if (reader.remaining > 0) throw new MalformedError(`${reader.remaining} bytes too many`)
  return value
}

/** Undefined when the bytes were refused as they should be; anything else that is thrown is a failure. */
function decodeOrRefuse(subject: Subject, bytes: Buffer): unknown {
  try {
    return decode(subject, bytes)
  } catch (error) {
    if (error instanceof MalformedError) return undefined
    throw new Error(`${subject.title} threw ${error} on ${bytes.toString('hex')}`, { cause: error })
  }
}

test('every structure comes back as it was encoded, in every version', () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const random = new Random(seed)
      for (const subject of subjects) {
        const value = randomStruct(subject.type, subject.variant.version, random)
        assert.deepEqual(decode(subject, encode(subject, value)), value, `${subject.title}, seed ${seed}`)
      }
    }),
    { numRuns: 20 },
  )
})

test('a structure cut short anywhere is refused', () => {
  const random = new Random(7)
  for (const subject of subjects) {
    const bytes = encode(subject, randomStruct(subject.type, subject.variant.version, random))
    const step = Math.max(1, Math.floor(bytes.length / 20))
    for (let length = 0; length < bytes.length; length += step) {
      assert.throws(() => decode(subject, bytes.subarray(0, length)), MalformedError, `${subject.title} at ${length}`)
    }
  }
})

test('changed bytes are refused, or mean something that can be said again', () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const random = new Random(seed)
      for (const subject of subjects) {
        const bytes = encode(subject, randomStruct(subject.type, subject.variant.version, random))
        if (bytes.length === 0) continue
        for (let changes = random.between(1, 4); changes > 0; changes--) {
          bytes[random.below(bytes.length)] = random.pick([0, 1, 0x7f, 0x80, 0xff, random.below(256)])
        }
        const value = decodeOrRefuse(subject, bytes)
        if (value !== undefined) assert.deepEqual(decode(subject, encode(subject, value)), value, subject.title)
      }
    }),
    { numRuns: 20 },
  )
})

test('bytes at random are refused or decode', () => {
  const random = new Random(11)
  for (const subject of subjects) {
    for (let round = 0; round < 5; round++) decodeOrRefuse(subject, random.bytes(random.below(200)))
  }
})

/** The encoding of a structure that ends before the field `last`, whose length is about to be claimed. */
function bytesBefore({ type, variant }: Subject, last: string): Buffer {
  const before: Record<string, AnyField> = {}
  for (const [name, field] of Object.entries(type.fields)) {
    if (name === last) break
    if (field.traits.tag === null) before[name] = field
  }
  const head: StructType = { kind: 'struct', fields: before }
  const writer = new ByteWriter()
  structEncoder(head, variant)(writer, randomStruct(head, variant.version, new Random(3)))
  const bytes = writer.toBuffer()
  return variant.flexible ? bytes.subarray(0, bytes.length - 1) : bytes
}

test('a claim of 2^31-1 elements or bytes is refused, whichever field makes it', () => {
  let claims = 0
  for (const subject of subjects) {
    for (const [name, { type, traits }] of Object.entries(subject.type.fields)) {
      const long = type.kind === 'array' || type.kind === 'bytes' || type.kind === 'records'
      if (!long || traits.tag !== null || !existsIn(traits, subject.variant.version)) continue
      const writer = new ByteWriter()
      writer.bytes(bytesBefore(subject, name))
      if (subject.variant.flexible) writer.uvarint(2 ** 31)
      else writer.int32(2 ** 31 - 1)
      writer.bytes(Buffer.alloc(64))
      claims++
      assert.throws(
        () => decode(subject, writer.toBuffer()),
        (error) =>
          error instanceof MalformedError && error.message.startsWith(name) && /2147483647/.test(error.message),
        `${subject.title} ${name}`,
      )
    }
  }
  assert.ok(claims > 500, `${claims} claims tried`)
})

test('a value that the version has no place for is refused, or dropped if it may be', () => {
  for (const subject of subjects) {
    const { type, variant } = subject
    const value = randomStruct(type, variant.version, new Random(5))
    for (const [name, { type: fieldType, traits }] of Object.entries(type.fields)) {
      if (existsIn(traits, variant.version)) continue
      const other = { ...value, [name]: somethingElse(fieldType, traits.absent) }
      if (traits.ignorable) assert.deepEqual(decode(subject, encode(subject, other)), value, `${subject.title} ${name}`)
      else assert.throws(() => encode(subject, other), hasPath(name), `${subject.title} ${name}`)
    }
  }
})

function hasPath(path: string) {
  return (error: unknown) => error instanceof UnencodableError && error.path === path
}

/** A value of the type that is not its default. */
function somethingElse(type: Type, absent: unknown): unknown {
  const random = new Random(1)
  for (;;) {
    const value = randomValue(type, 0, random)
    const isEmpty = typeof value === 'object' && JSON.stringify(value) === JSON.stringify(absent)
    if (value !== absent && value !== '' && !isEmpty) return value
  }
}
