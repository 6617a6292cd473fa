import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { MalformedError } from '../../base/bytes.ts'
import { buildBatch, ControlRecordType, controlRecordKey } from './build.ts'
import {
  baseOffset,
  baseSequence,
  batchBytes,
  CODECS,
  hasDeleteHorizon,
  isControl,
  isTransactional,
  lastOffset,
  lastSequence,
  maxTimestamp,
  partitionLeaderEpoch,
  producerEpoch,
  producerId,
  recordCount,
  stampBatch,
  stampCrc,
  verifyCrc,
} from './header.ts'
import { batchesOf, recordsOf } from './records.ts'

const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array))
const record = fc.record(
  {
    key: fc.option(bytes),
    value: fc.option(bytes),
    timestampMs: fc.integer({ min: -1, max: 2 ** 45 }),
    headers: fc.array(fc.record({ key: fc.string(), value: fc.option(bytes) }, { noNullPrototype: true }), {
      maxLength: 3,
    }),
  },
  { noNullPrototype: true },
)

test('every record that was built is read again', () => {
  fc.assert(
    fc.property(fc.array(record, { minLength: 1, maxLength: 30 }), fc.constantFrom(...CODECS), (records, codec) => {
      const batch = buildBatch({ records, codec, baseOffset: 1000 })
      assert.ok(verifyCrc(batch, 0))
      assert.equal(batchBytes(batch, 0), batch.length)
      const read = [...recordsOf(batch)]
      assert.deepEqual(
        read,
        records.map((built, index) => ({ ...built, offset: 1000 + index })),
      )
      assert.equal(maxTimestamp(batch, 0), Math.max(...records.map(({ timestampMs }) => timestampMs)))
    }),
    { numRuns: 150 },
  )
})

/** By name; see the head of the file. */
function javaBatches(): Map<string, Buffer> {
  const text = readFileSync(new URL('testdata/java-batches.txt', import.meta.url), 'utf8')
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.split(' ')[0] as string, Buffer.from(line.split(' ')[1] as string, 'hex')]))
}

const first = { key: Buffer.from('k'), value: Buffer.from('v'), headers: [{ key: 'h', value: Buffer.from('x') }] }

test('an uncompressed batch and a marker have the bytes that Kafka writes', () => {
  const batch = buildBatch({
    records: [{ ...first, timestampMs: 1000 }],
    baseOffset: 5,
    leaderEpoch: 3,
    producerId: 7,
    producerEpoch: 2,
    baseSequence: 11,
  })
  assert.equal(batch.toString('hex'), javaBatches().get('none')?.toString('hex'))
  const marker = { key: controlRecordKey(ControlRecordType.COMMIT), value: Buffer.from('000000000006', 'hex') }
  const commit = buildBatch({
    records: [{ ...marker, timestampMs: 2000 }],
    baseOffset: 20,
    leaderEpoch: 4,
    producerId: 9,
    producerEpoch: 1,
    isTransactional: true,
    isControl: true,
  })
  assert.equal(commit.toString('hex'), javaBatches().get('commit')?.toString('hex'))
})

test('what Kafka compressed is read', () => {
  for (const codec of CODECS) {
    const batch = javaBatches().get(codec) as Buffer
    assert.ok(verifyCrc(batch, 0))
    const records = [...recordsOf(batch)]
    assert.deepEqual(records[0], { ...first, offset: 5, timestampMs: 1000 })
    if (codec === 'none') continue
    assert.equal(records.length, 40)
    const last = {
      offset: 44,
      timestampMs: 1039,
      key: Buffer.from('key 39'),
      value: Buffer.from('value value value value 3'),
    }
    assert.deepEqual(records[39], { ...last, headers: [] })
  }
})

test('a stamp changes offset and epoch, and the CRC stays right', () => {
  const batch = buildBatch({
    records: [1, 2, 3].map(() => ({ key: null, value: null })),
    producerId: 4,
    producerEpoch: 1,
    baseSequence: 2 ** 31 - 2,
  })
  stampBatch(batch, 0, { baseOffset: 2 ** 40, leaderEpoch: 77 })
  assert.ok(verifyCrc(batch, 0))
  assert.equal(baseOffset(batch, 0), 2 ** 40)
  assert.equal(lastOffset(batch, 0), 2 ** 40 + 2)
  assert.equal(partitionLeaderEpoch(batch, 0), 77)
  assert.deepEqual([producerId(batch, 0), producerEpoch(batch, 0), baseSequence(batch, 0)], [4, 1, 2 ** 31 - 2])
  assert.equal(lastSequence(batch, 0), 0)
})

test('a control batch, a compacted batch and an empty one', () => {
  const marker = buildBatch({
    records: [
      { key: controlRecordKey(ControlRecordType.COMMIT), value: Buffer.from('000000000001', 'hex'), timestampMs: 5 },
    ],
    isControl: true,
    isTransactional: true,
    producerId: 1,
    producerEpoch: 0,
  })
  assert.ok(isControl(marker, 0) && isTransactional(marker, 0))
  assert.equal([...recordsOf(marker)][0]?.key?.toString('hex'), '00000001')
  const survivors = [3, 9].map((offsetDelta) => ({ key: null, value: null, offsetDelta, timestampMs: 100 }))
  const sparse = buildBatch({ records: survivors, baseOffset: 10, lastOffsetDelta: 12, deleteHorizonMs: 5000 })
  assert.ok(hasDeleteHorizon(sparse, 0))
  assert.deepEqual(
    [...recordsOf(sparse)].map(({ offset, timestampMs }) => [offset, timestampMs]),
    [
      [13, 100],
      [19, 100],
    ],
  )
  assert.equal(lastOffset(sparse, 0), 22)
  const empty = buildBatch({ records: [], lastOffsetDelta: 4 })
  assert.equal(recordCount(empty, 0), 0)
  assert.deepEqual([...recordsOf(empty)], [])
})

test('batches one after the other, and a last one that is cut', () => {
  const one = buildBatch({ records: [{ key: null, value: Buffer.from('x') }] })
  const two = Buffer.concat([one, one])
  assert.deepEqual([...batchesOf(two)], [0, one.length])
  const cut = two.subarray(0, two.length - 1)
  assert.deepEqual([...batchesOf(cut, { allowCut: true })], [0])
  assert.throws(() => [...batchesOf(cut)], MalformedError)
})

test('any broken byte in a section is malformed, or reads as other bytes of the same shape', () => {
  const built = Array.from({ length: 8 }, (_, index) => ({
    key: Buffer.from([index]),
    value: Buffer.alloc(index * 20),
    timestampMs: index,
  }))
  const batch = buildBatch({ records: built })
  for (let at = 61; at < batch.length; at++) {
    for (const flip of [0x01, 0x80, 0xff]) {
      const broken = Buffer.from(batch)
      broken[at] = (broken[at] as number) ^ flip
      stampCrc(broken, 0)
      try {
        assert.equal([...recordsOf(broken)].length, 8)
      } catch (error) {
        assert.ok(error instanceof MalformedError, `byte ${at}: ${error}`)
      }
    }
  }
})
