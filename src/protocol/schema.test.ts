import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AssertionError } from '../base/assert.ts'
import { ByteWriter, MalformedError } from '../base/bytes.ts'
import { structDecoder } from './decode.ts'
import { structEncoder } from './encode.ts'
import type { AnyField, InputOf, ValueOf } from './field.ts'
import { UnencodableError } from './field-error.ts'
import { structOf, type Variant } from './layout.ts'
import { MessageReader } from './message-reader.ts'
import { array, bool, bytes, int16, int32, int64, int8, records, string, struct, uuid } from './schema.ts'

const OLD: Variant = { version: 0, flexible: false }
const NEW: Variant = { version: 2, flexible: true }

function encode<F extends AnyField>(schema: F, value: InputOf<F>, variant: Variant): string {
  const writer = new ByteWriter()
  structEncoder(structOf(schema), variant)(writer, value)
  return writer.toBuffer().toString('hex')
}

function decode<F extends AnyField>(schema: F, hex: string, variant: Variant): ValueOf<F> {
  const reader = new MessageReader(Buffer.from(hex, 'hex'))
  const value = structDecoder(structOf(schema), variant)(reader)
  assert.equal(reader.remaining, 0)
  return value as ValueOf<F>
}

test('the old and the compact encoding of lengths and nulls', () => {
  const schema = struct({
    name: string.nullable(),
    items: array(int8).nullable(),
    raw: bytes.nullable(),
    inner: struct({ flag: bool }).nullable(),
  })
  const full = { name: 'ab', items: [1, 2], raw: Buffer.from([9]), inner: { flag: true } }
  assert.equal(
    encode(schema, full, OLD),
    ['0002' + '6162', '00000002' + '0102', '00000001' + '09', '01' + '01'].join(''),
  )
  assert.equal(
    encode(schema, full, NEW),
    ['03' + '6162', '03' + '0102', '02' + '09', '01' + '01' + '00', '00'].join(''),
  )
  const none = { name: null, items: null, raw: null, inner: null }
  assert.equal(encode(schema, none, OLD), 'ffff' + 'ffffffff' + 'ffffffff' + 'ff')
  assert.equal(encode(schema, none, NEW), '00' + '00' + '00' + 'ff' + '00')
  for (const value of [full, none]) {
    for (const variant of [OLD, NEW]) assert.deepEqual(decode(schema, encode(schema, value, variant), variant), value)
  }
})

test('a tagged field is sent only when it differs from its default', () => {
  const schema = struct({
    id: int32,
    epoch: int32.default(-1).tag(3),
    leader: struct({ node: int32.default(-1) }).tag(1),
  })
  assert.equal(encode(schema, { id: 1 }, NEW), '00000001' + '00')
  assert.equal(encode(schema, { id: 1, epoch: -1, leader: { node: -1 } }, NEW), '00000001' + '00')
  const bytes = encode(schema, { id: 1, epoch: 5, leader: { node: 7 } }, NEW)
  assert.equal(bytes, '00000001' + '02' + '0105' + '00000007' + '00' + '0304' + '00000005')
  assert.deepEqual(decode(schema, bytes, NEW), { id: 1, epoch: 5, leader: { node: 7 } })
  assert.deepEqual(decode(schema, '0000000100', NEW), { id: 1, epoch: -1, leader: { node: -1 } })
})

test('a nullable structure in a tag has a varint marker', () => {
  const schema = struct({ extra: struct({ id: int16 }).nullable().default(null).tag(0) })
  const bytes = encode(schema, { extra: { id: 3 } }, NEW)
  assert.equal(bytes, '01' + '00' + '04' + '01' + '0003' + '00')
  assert.deepEqual(decode(schema, bytes, NEW), { extra: { id: 3 } })
})

test('unknown tags are skipped, whatever they hold', () => {
  const schema = struct({ id: int8, known: int8.tag(5) })
  assert.deepEqual(decode(schema, '07' + '03' + '0003aabbcc' + '050109' + 'ff7f00', NEW), { id: 7, known: 9 })
})

test('a tag whose size is not what its field takes is refused', () => {
  const schema = struct({ id: int8, known: int8.tag(5) })
  assert.throws(() => decode(schema, '07' + '01' + '05020900', NEW), /known: ends at 5, its tag says 6/)
  assert.throws(() => decode(schema, '07' + '01' + '057f09', NEW), /tag 5 of 127 bytes, 1 bytes left/)
})

test('fields come and go with versions', () => {
  const schema = struct({ a: int8, b: int8.since(1, { absent: 9 }), c: int8.until(1).ignorable, d: string.nullable(2) })
  assert.equal(encode(schema, { a: 1, c: 3, d: 'x' }, OLD), '01' + '03' + '000178')
  assert.deepEqual(decode(schema, '0103000178', OLD), { a: 1, b: 9, c: 3, d: 'x' })
  assert.equal(encode(schema, { a: 1, b: 2, c: 3, d: null }, NEW), '01' + '02' + '00' + '00')
  assert.deepEqual(decode(schema, '01020000', NEW), { a: 1, b: 2, c: 0, d: null })
  assert.throws(() => encode(schema, { a: 1, b: 2, d: 'x' }, OLD), /b: has no place in version 0/)
  assert.throws(() => encode(schema, { a: 1, d: null }, OLD), /d: null is not allowed in version 0/)
})

test('null where none is allowed, and lengths below -1, are refused', () => {
  const schema = struct({ name: string, items: array(int8), raw: bytes })
  assert.throws(() => decode(schema, 'ffff', OLD), /name: null where none is allowed/)
  assert.throws(() => decode(schema, '0000' + 'ffffffff', OLD), /items: null where none is allowed/)
  assert.throws(() => decode(schema, '0000' + 'fffffffe', OLD), /items: negative length -2/)
  assert.throws(() => decode(schema, 'fffe', OLD), /name: negative length -2/)
  assert.throws(() => decode(schema, '00', NEW), /name: null where none is allowed/)
  const nullable = struct({ name: string.nullable(), items: array(int8).nullable() })
  assert.throws(() => decode(nullable, '8000', OLD), /name: negative length -32768/)
  assert.throws(() => decode(nullable, '0000' + '80000000', OLD), /items: negative length -2147483648/)
})

test('an error names the field by its path', () => {
  const schema = struct({ topics: array(struct({ name: string, partitions: array(struct({ index: int32 })) })) })
  const bytes = '02' + '0261' + '03' + '0000000100' + '0000'
  assert.throws(
    () => decode(schema, bytes, NEW),
    (error: MalformedError) => {
      assert.ok(error instanceof MalformedError)
      assert.match(error.message, /^topics\[0\]\.partitions: 2 elements of at least 5 bytes, 7 bytes left$/)
      return true
    },
  )
  const wrong = { topics: [{ name: 'a', partitions: [{ index: 2 ** 40 }] }] }
  assert.throws(
    () => encode(schema, wrong, NEW),
    (error: Error) => {
      assert.ok(error instanceof AssertionError)
      assert.match(error.message, /topics: .*\[0\]: .*partitions: .*index: /)
      return true
    },
  )
})

test('strings longer than Kafka allows are refused in both directions', () => {
  const schema = struct({ name: string })
  assert.throws(() => encode(schema, { name: 'x'.repeat(32768) }, NEW), UnencodableError)
  const long = new ByteWriter()
  long.uvarint(32769)
  long.bytes(Buffer.alloc(32769))
  assert.throws(() => decode(schema, long.toBuffer().toString('hex'), NEW), /string of 32768 bytes, at most 32767/)
})

test('the elements of a message are limited in all, not only one by one', () => {
  const schema = struct({ rows: array(struct({ cells: array(string), numbers: array(int8) })) })
  const row = '00000002' + '0000'.repeat(2) + '0000000a' + '01'.repeat(10)
  const bytes = Buffer.from('00000003' + row.repeat(3), 'hex')
  const decodeWithin = (elementsMax: number) =>
    structDecoder(structOf(schema), OLD)(new MessageReader(bytes, 0, bytes.length, elementsMax))
  // Three rows, three times two strings, and three times ten numbers, of which ten count as one.
  assert.deepEqual(decodeWithin(12), {
    rows: Array.from({ length: 3 }, () => ({ cells: ['', ''], numbers: Array(10).fill(1) })),
  })
  assert.throws(() => decodeWithin(11), /rows\[2\]\.numbers: 10 elements, the limit leaves 0/)
  assert.throws(() => decodeWithin(10), /rows\[2\]\.cells: 2 elements, the limit leaves 1/)
})

test('records are views when decoded and the very buffers when encoded', () => {
  const schema = struct({ records: records.nullable() })
  const pieces = [Buffer.alloc(600, 1), Buffer.alloc(700, 2)]
  const writer = new ByteWriter()
  structEncoder(structOf(schema), NEW)(writer, { records: pieces })
  const written = writer.finish()
  assert.ok(pieces.every((piece) => written.includes(piece)))
  const all = Buffer.concat(written)
  const decoded = structDecoder(structOf(schema), NEW)(new MessageReader(all)) as { records: Buffer[] }
  assert.equal(decoded.records[0]?.length, 1300)
  assert.equal(decoded.records[0]?.buffer, all.buffer)
})

test('what is not a value of the type is a bug that names the field', () => {
  const schema = struct({ flag: bool, offset: int64, id: uuid })
  const good = { flag: true, offset: 1, id: 'AAAAAAAAAAAAAAAAAAAAAQ' }
  assert.equal(encode(schema, good, OLD), '01' + '0000000000000001' + '00000000000000000000000000000001')
  for (const [name, value] of [
    ['flag', undefined],
    ['offset', 1.5],
    ['offset', Number.NaN],
    ['id', 'short'],
  ] as const) {
    assert.throws(
      () => encode(schema, { ...good, [name]: value } as never, OLD),
      (error: Error) => {
        assert.ok(error instanceof AssertionError)
        assert.ok(error.message.startsWith(name), error.message)
        return true
      },
    )
  }
})
