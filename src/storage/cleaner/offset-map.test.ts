import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../base/random.ts'
import { hashKey } from './key-hash.ts'
import { KEY_BYTES_MAX, MAP_BYTES_MIN, OffsetMap } from './offset-map.ts'

const seed = { low: 1, high: 2 }

test('the hash is HalfSipHash-2-4', () => {
  // The reference implementation's vectors: key 00..07, input 00, 00 01, and so on.
  const key = { low: 0x03020100, high: 0x07060504 }
  const input = Buffer.from(Array.from({ length: 9 }, (_, i) => i))
  const bytesOf = (length: number) => {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32LE(hashKey(input, 0, length, key))
    return bytes.toString('hex')
  }
  assert.deepEqual([0, 1, 2].map(bytesOf), ['a9359f5b', '27475ab8', 'fa62a603'])
})

test('the map knows what a plain map knows, keys that differ in one byte and empty ones too', () => {
  const random = new Random(3)
  const map = new OffsetMap({ bytesMax: 8 * 1024 ** 2, seed })
  const plain = new Map<string, number>()
  for (let offset = 0; offset < 30_000; offset++) {
    const key = random.bytes(random.pick([0, 1, 2, 3, 7, 8, 60]))
    const around = Buffer.concat([random.bytes(3), key, random.bytes(2)])
    assert.ok(map.set(around, 3, key.length, offset))
    plain.set(key.toString('latin1'), offset)
  }
  assert.equal(map.count, plain.size)
  for (const [text, offset] of plain) {
    const key = Buffer.from(text, 'latin1')
    assert.equal(map.get(key, 0, key.length), offset)
  }
  assert.equal(map.get(Buffer.alloc(61), 0, 61), -1)
})

test('keys that share a hash stay apart', () => {
  const [first, second] = collision()
  const map = new OffsetMap({ bytesMax: MAP_BYTES_MIN, seed })
  map.set(first, 0, first.length, 1)
  map.set(second, 0, second.length, 2)
  assert.deepEqual([map.get(first, 0, first.length), map.get(second, 0, second.length)], [1, 2])
})

/** Two keys of one 32-bit hash: among some hundred thousand there are some. */
function collision(): [Buffer, Buffer] {
  const seen = new Map<number, Buffer>()
  for (let i = 0; ; i++) {
    const key = Buffer.from(`key ${i}`)
    const hash = hashKey(key, 0, key.length, seed)
    const other = seen.get(hash)
    if (other !== undefined) return [other, key]
    seen.set(hash, key)
  }
}

test('a full map refuses new keys, keeps its bound, and still moves known ones', () => {
  const bytesMax = 1024 ** 2
  const map = new OffsetMap({ bytesMax, seed })
  let count = 0
  const keyOf = (i: number) => Buffer.from(`a key of some length ${i}`)
  while (map.set(keyOf(count), 0, keyOf(count).length, count)) count++
  assert.ok(count > 10_000, `${count} keys`)
  assert.ok(map.bytes <= bytesMax)
  assert.equal(map.set(Buffer.alloc(KEY_BYTES_MAX), 0, KEY_BYTES_MAX, 1), false)
  assert.equal(map.count, count)
  assert.ok(map.set(keyOf(0), 0, keyOf(0).length, 77))
  assert.equal(map.get(keyOf(0), 0, keyOf(0).length), 77)
})
