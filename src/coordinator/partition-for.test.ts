import assert from 'node:assert/strict'
import { test } from 'node:test'
import { partitionForKey } from './partition-for.ts'

test('the partition is the one Java comes to', () => {
  const big = 2 ** 31
  // String.hashCode of these, from the JDK.
  assert.equal(partitionForKey('', big), 0)
  assert.equal(partitionForKey('hello', big), 99_162_322)
  assert.equal(partitionForKey('console-consumer-1', 50), Math.abs(javaHash('console-consumer-1')) % 50)
  assert.equal(partitionForKey('hello', 50), 22)
  // Hashes to -2^31, whose absolute value Java cannot say.
  assert.equal(partitionForKey('polygenelubricants', 50), 0)
})

/** The definition of the language specification, slowly. */
function javaHash(text: string): number {
  let hash = 0n
  for (let i = 0; i < text.length; i++) hash = BigInt.asIntN(32, 31n * hash + BigInt(text.charCodeAt(i)))
  return Number(hash)
}
