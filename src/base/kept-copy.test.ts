import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keptCopy } from './bytes.ts'

test('what is kept keeps nothing else alive', () => {
  const bytes = Buffer.from('a few bytes of a large pool')
  const copy = keptCopy(bytes)
  assert.deepEqual(copy, bytes)
  assert.equal(copy.buffer.byteLength, bytes.length)
})
