import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MalformedError } from '../base/bytes.ts'
import { decodeEpochs, LeaderEpochs } from './leader-epochs.ts'

/** Epochs 2, 4 and 7 began at 0, 10 and 25; the log ends at 30. */
function example(): LeaderEpochs {
  return new LeaderEpochs([
    { epoch: 2, startOffset: 0 },
    { epoch: 4, startOffset: 10 },
    { epoch: 7, startOffset: 25 },
  ])
}

test('the end of an epoch is answered as OffsetForLeaderEpoch wants it', () => {
  const epochs = example()
  const answer = (epoch: number) => Object.values(epochs.endOffsetFor(epoch, 30))
  assert.deepEqual(answer(7), [7, 30], 'the newest ends with the log')
  assert.deepEqual(answer(4), [4, 25])
  assert.deepEqual(answer(5), [4, 25], 'between two: the largest below')
  assert.deepEqual(answer(2), [2, 10])
  assert.deepEqual(answer(1), [1, 0], 'below all: nothing of it is here')
  assert.deepEqual(answer(8), [-1, -1], 'never heard of')
  assert.deepEqual(answer(-1), [-1, -1])
  assert.deepEqual(Object.values(new LeaderEpochs().endOffsetFor(0, 30)), [-1, -1])
})

test('an epoch that wrote nothing gives way to the next at the same offset', () => {
  const epochs = example()
  assert.equal(epochs.assign(8, 30), true)
  assert.equal(epochs.assign(9, 30), true)
  assert.equal(epochs.assign(9, 31), false)
  assert.equal(epochs.assign(3, 40), false)
  assert.deepEqual(epochs.entries.at(-1), { epoch: 9, startOffset: 30 })
  assert.equal(epochs.entries.length, 4)
  assert.equal(epochs.epochAt(29), 7)
  assert.equal(epochs.epochAt(30), 9)
})

test('cutting either end keeps the epochs of what is left, and no others', () => {
  const spans = fc.array(fc.record({ gap: fc.integer({ min: 1, max: 3 }), records: fc.integer({ min: 1, max: 5 }) }))
  fc.assert(
    fc.property(spans, fc.nat(40), fc.nat(40), (list, one, two) => {
      // The dumb version: the epoch of every single offset.
      const epochOf: number[] = []
      const epochs = new LeaderEpochs()
      let epoch = 0
      for (const { gap, records } of list) {
        epoch += gap
        epochs.assign(epoch, epochOf.length)
        for (let i = 0; i < records; i++) epochOf.push(epoch)
      }
      const [start, end] = [Math.min(one, two, epochOf.length), Math.min(Math.max(one, two), epochOf.length)]
      epochs.truncateFromEnd(end)
      if (start < end) epochs.truncateFromStart(start)
      for (let offset = start; offset < end; offset++) assert.equal(epochs.epochAt(offset), epochOf[offset])
      for (const entry of epochs.entries) assert.ok(entry.startOffset < end || end === 0)
      const decoded = decodeEpochs(epochs.encode())
      assert.deepEqual(decoded.entries, epochs.entries)
    }),
  )
})

test('a checkpoint of epochs that is not whole, or does not grow, is refused', () => {
  for (const text of [
    '',
    '0\n',
    '1\n0\n',
    '0\n2\n0 0\n',
    '0\n1\n0 0 0\n',
    '0\n1\nx 0\n',
    '0\n2\n3 0\n3 5\n',
    '0\n2\n3 5\n4 5\n',
  ]) {
    assert.throws(() => decodeEpochs(Buffer.from(text)), MalformedError, JSON.stringify(text))
  }
  assert.deepEqual(decodeEpochs(Buffer.from('0\n1\n5 12\n')).entries, [{ epoch: 5, startOffset: 12 }])
})
