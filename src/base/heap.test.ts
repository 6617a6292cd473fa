import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Heap } from './heap.ts'

test('what comes out is what a stable sort by priority gives', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 20 })), (priorities) => {
      const heap = new Heap<number>()
      for (const [index, priority] of priorities.entries()) heap.push(priority, index)
      const out: number[] = []
      while (heap.size > 0) {
        const next = heap.peek()
        assert.equal(heap.peekPriority(), priorities[next as number])
        assert.equal(heap.pop(), next)
        out.push(next as number)
      }
      const expected = priorities.map((_, index) => index)
      expected.sort((a, b) => (priorities[a] as number) - (priorities[b] as number))
      assert.deepEqual(out, expected)
    }),
  )
})

test('an empty heap says so', () => {
  const heap = new Heap<string>()
  assert.equal(heap.peekPriority(), null)
  assert.equal(heap.peek(), undefined)
  assert.equal(heap.pop(), undefined)
})

test('what is retained comes out as if the rest had never been there', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 20 })), fc.integer({ min: 1, max: 5 }), (priorities, every) => {
      const [pruned, plain] = [new Heap<number>(), new Heap<number>()]
      const isKept = (index: number) => index % every === 0
      for (const [index, priority] of priorities.entries()) {
        pruned.push(priority, index)
        if (isKept(index)) plain.push(priority, index)
      }
      pruned.retain(isKept)
      assert.equal(pruned.size, plain.size)
      while (plain.size > 0) assert.equal(pruned.pop(), plain.pop())
    }),
  )
})
