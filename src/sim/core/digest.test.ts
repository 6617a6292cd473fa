import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../base/random.ts'
import { digestOf, digestOfName } from './digest.ts'

test('any byte that changes changes the digest, and so does a byte more or less', () => {
  const random = new Random(1)
  for (const length of [1, 3, 4, 5, 64, 511, 512, 513, 2000]) {
    const bytes = random.bytes(length)
    const digest = digestOf(bytes)
    assert.equal(digestOf(Buffer.from(bytes)), digest)
    assert.notEqual(digestOf(bytes.subarray(1)), digest)
    for (let at = 0; at < length; at++) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] as number) ^ (1 + random.below(255))
      assert.notEqual(digestOf(changed), digest, `byte ${at} of ${length}`)
    }
  }
})

test('zeros count', () => {
  const digests = Array.from({ length: 600 }, (_, length) => digestOf(Buffer.alloc(length)))
  assert.equal(new Set(digests).size, digests.length)
})

test('a name has the digest it had before', () => {
  const before = digestOfName('/data/orders-0')
  for (let i = 0; i < 20_000; i++) digestOfName(`/data/orders-${i}`)
  assert.equal(digestOfName('/data/orders-0'), before)
})
