import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { letGoBlock, letGoBlocks, poisonFreeBlocks, takeBlock } from '../base/blocks.ts'
import { buildBatch } from '../protocol/batch/build.ts'
import { stampBatch } from '../protocol/batch/header.ts'
import { Segment } from './segment.ts'
import { Tail } from './tail.ts'
import { TailBudget } from './tail-budget.ts'

poisonFreeBlocks()

interface Piece {
  readonly bytes: Buffer
  readonly baseOffset: number
  readonly endOffset: number
}

const actions = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('push' as const),
      bytes: fc.integer({ min: 0, max: 5000 }),
      hole: fc.integer({ min: 0, max: 2 }),
    }),
    fc.record({ kind: fc.constant('write' as const), bytes: fc.integer({ min: 1, max: 9000 }) }),
    fc.record({ kind: fc.constant('trim' as const), bytes: fc.integer({ min: 0, max: 9000 }) }),
    fc.record({ kind: fc.constant('cut' as const), back: fc.integer({ min: 0, max: 6 }) }),
    fc.record({ kind: fc.constant('roll' as const) }),
  ),
)

/** The tail and a plain list of batches beside it. */
function run(
  list: typeof actions extends fc.Arbitrary<infer T> ? T : never,
  check: (tail: Tail, pieces: Piece[]) => void,
) {
  const tail = new Tail(0)
  let pieces: Piece[] = []
  let segment = new Segment(0, 0)
  let endOffset = 0
  for (const action of list) {
    if (action.kind === 'push') {
      const records = [0, 1].map(() => ({ key: null, value: Buffer.alloc(action.bytes / 2, pieces.length) }))
      const built = buildBatch({ records })
      const bytes = takeBlock(built.length)
      built.copy(bytes)
      const baseOffset = endOffset + action.hole
      stampBatch(bytes, 0, { baseOffset, leaderEpoch: 1 })
      endOffset = baseOffset + 2
      tail.push(bytes, { baseOffset, endOffset }, segment, segment.bytes)
      segment.bytes += bytes.length
      pieces.push({ bytes: Buffer.from(bytes), baseOffset, endOffset })
      letGoBlock(bytes) // as a request does that has been answered
    } else if (action.kind === 'write') tail.written(tail.gather(action.bytes, 3))
    else if (action.kind === 'trim') tail.trim(action.bytes)
    else if (action.kind === 'roll') segment = new Segment(endOffset, 0)
    else {
      const offset = Math.max(tail.startOffset, endOffset - action.back)
      endOffset = Math.min(tail.cutTo(offset), endOffset)
      pieces = pieces.filter((piece) => piece.endOffset <= offset)
      // What comes next is appended elsewhere in the file; the tail does not mind.
      segment = new Segment(endOffset, 0)
    }
    check(tail, pieces)
  }
}

test('a read gives the whole batches that a plain list gives', () => {
  fc.assert(
    fc.property(
      actions,
      fc.nat(60),
      fc.nat(12_000),
      fc.nat(80),
      fc.boolean(),
      (list, from, maxBytes, limit, atLeastOneBatch) => {
        run(list, (tail, pieces) => {
          const offset = Math.max(from, tail.startOffset)
          const read = tail.read(offset, { maxBytes, limitOffset: limit, atLeastOneBatch })
          const wanted: Piece[] = []
          let bytes = 0
          for (const piece of pieces.filter(({ endOffset }) => endOffset > offset)) {
            if (piece.endOffset > limit) break
            if (bytes + piece.bytes.length > maxBytes && !(atLeastOneBatch && wanted.length === 0)) break
            wanted.push(piece)
            bytes += piece.bytes.length
          }
          assert.deepEqual(Buffer.concat(read.buffers), Buffer.concat(wanted.map((piece) => piece.bytes)))
          assert.equal(read.bytes, bytes)
          assert.equal(read.endOffset, wanted.at(-1)?.endOffset ?? offset)
          assert.equal(read.startOffset, wanted[0]?.baseOffset ?? offset)
        })
      },
    ),
  )
})

test('what is not written never goes, and the counters agree', () => {
  fc.assert(
    fc.property(actions, (list) => {
      run(list, (tail, pieces) => {
        assert.equal(tail.hasUnwritten, tail.unwrittenBytes > 0)
        assert.ok(tail.retainedBytes >= 0)
        const kept = pieces.filter(({ endOffset }) => endOffset > tail.startOffset)
        const read = tail.read(tail.startOffset, { maxBytes: 1e9, limitOffset: 1e9, atLeastOneBatch: true })
        assert.equal(
          read.bytes,
          kept.reduce((sum, { bytes }) => sum + bytes.length, 0),
        )
      })
    }),
  )
})

test('a small slice of a large frame does not keep the frame', () => {
  const tail = new Tail(0)
  const frame = Buffer.alloc(1_000_000)
  const batch = buildBatch({ records: [{ key: null, value: Buffer.alloc(20_000) }] })
  batch.copy(frame, 5000)
  tail.push(frame.subarray(5000, 5000 + batch.length), { baseOffset: 0, endOffset: 1 }, new Segment(0, 0), 0)
  const [buffer] = tail.read(0, { maxBytes: 1e9, limitOffset: 1e9, atLeastOneBatch: true }).buffers
  assert.notEqual(buffer?.buffer, frame.buffer)
  const large = Buffer.alloc(600_000)
  batch.copy(large)
  tail.push(large, { baseOffset: 1, endOffset: 2 }, new Segment(1, 0), 0)
  assert.equal(
    tail.read(1, { maxBytes: 1e9, limitOffset: 1e9, atLeastOneBatch: true }).buffers[0]?.buffer,
    large.buffer,
  )
})

test('the budget takes from the log that was appended to least recently', () => {
  const budget = new TailBudget({ tailBytesPerLogMax: 50_000, tailBytesMax: 60_000 })
  const append = (tail: Tail, offset: number) => {
    const batch = buildBatch({ records: [{ key: null, value: Buffer.alloc(10_000) }] })
    stampBatch(batch, 0, { baseOffset: offset, leaderEpoch: 0 })
    const grown = tail.push(batch, { baseOffset: offset, endOffset: offset + 1 }, new Segment(0, 0), 0)
    tail.written(tail.gather(1e9, 10))
    budget.grew(tail, grown)
  }
  const [old, busy] = [new Tail(0), new Tail(0)]
  for (let i = 0; i < 3; i++) append(old, i)
  for (let i = 0; i < 10; i++) append(busy, i)
  assert.equal(old.startOffset, 2, 'the old one kept what fits beside the bound of the other')
  assert.equal(busy.retainedBytes <= 50_000 && busy.retainedBytes > 30_000, true)
  assert.ok(budget.retainedBytes <= 60_000)
  assert.equal(budget.retainedBytes, old.retainedBytes + busy.retainedBytes)
})

test('what a reader holds stays as it was, whatever the tail lets go of meanwhile', () => {
  const held: { buffers: Buffer[]; copy: Buffer }[] = []
  fc.assert(
    fc.property(actions, fc.nat(3), (list, patience) => {
      run(list, (tail) => {
        const result = tail.read(tail.startOffset, { maxBytes: 1e6, limitOffset: 1e9, atLeastOneBatch: true })
        held.push({ buffers: result.buffers, copy: Buffer.concat(result.buffers) })
        while (held.length > patience) {
          const { buffers, copy } = held.shift() as (typeof held)[number]
          assert.ok(Buffer.concat(buffers).equals(copy))
          letGoBlocks(buffers)
        }
      })
    }),
  )
})
