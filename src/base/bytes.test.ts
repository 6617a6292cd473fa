import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ByteReader, ByteWriter, MalformedError, utf8Length } from './bytes.ts'

type Width = 'int8' | 'int16' | 'uint16' | 'int32' | 'uint32' | 'int64' | 'uvarint' | 'varint' | 'varlong'

const ranges: Record<Width, [number, number]> = {
  int8: [-0x80, 0x7f],
  int16: [-0x8000, 0x7fff],
  uint16: [0, 0xffff],
  int32: [-0x80000000, 0x7fffffff],
  uint32: [0, 0xffffffff],
  int64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  uvarint: [0, 0xffffffff],
  varint: [-0x80000000, 0x7fffffff],
  varlong: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
}

for (const [name, [min, max]] of Object.entries(ranges) as [Width, [number, number]][]) {
  test(`${name} comes back as written over its whole range`, () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.constantFrom(min, max, 0, min + 1, max - 1), (any, edge) => {
        for (const value of [edge, min + (Math.abs(any) % (max - min + 1))]) {
          if (value < min || value > max || !Number.isSafeInteger(value)) continue
          const writer = new ByteWriter(1)
          writer[name](value)
          const reader = new ByteReader(writer.toBuffer())
          assert.equal(reader[name](), value)
          assert.equal(reader.remaining, 0)
        }
      }),
    )
  })
}

test('the ends of int64 come back as themselves', () => {
  for (const hex of ['7fffffffffffffff', '8000000000000000', 'ffffffffffffffff']) {
    const bytes = Buffer.from(hex, 'hex')
    const writer = new ByteWriter()
    writer.int64(new ByteReader(bytes).int64())
    assert.equal(writer.toBuffer().toString('hex'), hex)
  }
})

test('a length past the end is refused before anything is allocated', () => {
  const reader = new ByteReader(Buffer.from([0xff, 0xff, 0xff, 0xff, 0x07]))
  assert.throws(() => reader.bytes(reader.uvarint()), MalformedError)
  assert.throws(() => new ByteReader(Buffer.alloc(3)).int32(), MalformedError)
  assert.throws(() => new ByteReader(Buffer.alloc(3)).bytes(-1), MalformedError)
})

test('an overlong varint is refused', () => {
  assert.throws(() => new ByteReader(Buffer.alloc(6, 0xff)).uvarint(), MalformedError)
  assert.throws(() => new ByteReader(Buffer.alloc(11, 0xff)).varlong(), MalformedError)
})

test('bytes added by reference are neither copied nor reordered', () => {
  const large = Buffer.alloc(4096, 7)
  const writer = new ByteWriter(4)
  writer.int32(1)
  writer.bytesByReference(large)
  writer.int32(2)
  const pieces = writer.finish()
  assert.equal(pieces[1], large)
  const all = Buffer.concat(pieces)
  assert.equal(all.length, 4 + 4096 + 4)
  assert.equal(all.readInt32BE(0), 1)
  assert.equal(all.readInt32BE(4100), 2)
})

test('an int32 can be patched before and after growth', () => {
  const writer = new ByteWriter(2)
  writer.int32(0)
  writer.bytes(Buffer.alloc(5000))
  writer.patchInt32(0, 5000)
  assert.equal(writer.toBuffer().readInt32BE(0), 5000)
})

test('text is written as UTF-8, whatever its length and its characters', () => {
  const texts = [
    '',
    'orders',
    'é',
    'a\u0000b',
    'naïve',
    '𝄞',
    '\ud800',
    'x'.repeat(64),
    'x'.repeat(65),
    `${'x'.repeat(63)}é`,
  ]
  for (const text of texts) {
    const writer = new ByteWriter(1)
    assert.equal(writer.utf8(text), Buffer.byteLength(text))
    assert.equal(utf8Length(text), Buffer.byteLength(text))
    assert.deepEqual(writer.toBuffer(), Buffer.from(text))
  }
})
