import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AssertionError } from './assert.ts'
import {
  dropFreeBlocks,
  freeBlockBytes,
  holdBlock,
  letGoBlock,
  poisonFreeBlocks,
  takeBlock,
  trimFreeBlocks,
} from './blocks.ts'

poisonFreeBlocks()

test('a block is given again only after its last holder let go, and its bytes are gone at once', () => {
  dropFreeBlocks()
  const block = takeBlock(100_000).fill(1)
  const view = block.subarray(10, 20)
  holdBlock(view)
  letGoBlock(block)
  assert.notEqual(takeBlock(100_000).buffer, block.buffer)
  assert.deepEqual([...view], new Array(10).fill(1))
  letGoBlock(view)
  assert.ok(view.every((byte) => byte !== 1))
  assert.equal(takeBlock(110_000).buffer, block.buffer)
})

test('letting go once too often, and holding what is free, are bugs that stop the node', () => {
  const block = takeBlock(100_000)
  letGoBlock(block)
  assert.throws(() => letGoBlock(block), AssertionError)
  assert.throws(() => holdBlock(block), AssertionError)
})

test('ordinary buffers may be held and let go like blocks', () => {
  const buffer = Buffer.from('an ordinary one')
  holdBlock(buffer)
  letGoBlock(buffer)
  letGoBlock(buffer)
  assert.equal(buffer.toString(), 'an ordinary one')
})

test('free memory is bounded, and can be given back', () => {
  dropFreeBlocks()
  const many = Array.from({ length: 100 }, () => takeBlock(1024 ** 2))
  for (const block of many) letGoBlock(block)
  assert.equal(freeBlockBytes(), 32 * 1024 ** 2)
  dropFreeBlocks()
  assert.equal(freeBlockBytes(), 0)
})

test('sizes that nobody asks for any more make room for those that are wanted now', () => {
  dropFreeBlocks()
  const many = Array.from({ length: 100 }, () => takeBlock(1024 ** 2))
  for (const block of many) letGoBlock(block)
  const wanted = Array.from({ length: 10 }, () => takeBlock(3 * 1024 ** 2))
  for (const block of wanted) letGoBlock(block)
  const again = Array.from({ length: 10 }, () => takeBlock(3 * 1024 ** 2))
  assert.deepEqual(new Set(again.map(({ buffer }) => buffer)), new Set(wanted.map(({ buffer }) => buffer)))
  for (const block of again) letGoBlock(block)
})

test('a trim gives back what was free all the time, and no more', () => {
  dropFreeBlocks()
  const many = Array.from({ length: 10 }, () => takeBlock(1024 ** 2))
  for (const block of many) letGoBlock(block)
  trimFreeBlocks()
  assert.equal(freeBlockBytes(), 10 * 1024 ** 2)
  const [one, two] = [takeBlock(1024 ** 2), takeBlock(1024 ** 2)]
  letGoBlock(one)
  letGoBlock(two)
  trimFreeBlocks()
  assert.equal(freeBlockBytes(), 2 * 1024 ** 2)
  trimFreeBlocks()
  assert.equal(freeBlockBytes(), 0)
})

test('no two holders share a byte, whatever is taken and let go in whatever order', () => {
  const step = fc.record({ bytes: fc.integer({ min: 0, max: 3_000_000 }), letGo: fc.nat(), keep: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const held: { block: Buffer; mark: number }[] = []
      steps.forEach(({ bytes, letGo, keep }, index) => {
        const block = takeBlock(bytes)
        assert.equal(block.length, bytes)
        assert.ok(block.buffer.byteLength <= Math.max(bytes * 1.25, 4096))
        block.fill(index)
        held.push({ block, mark: index })
        if (!keep) {
          const [gone] = held.splice(letGo % held.length, 1)
          letGoBlock((gone as { block: Buffer }).block)
        }
        for (const { block: other, mark } of held)
          assert.ok(other.length === 0 || (other[0] === mark && other.at(-1) === mark))
      })
      for (const { block } of held) letGoBlock(block)
    }),
    { numRuns: 50 },
  )
})
