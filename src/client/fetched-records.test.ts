import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BatchToBuild, buildBatch, ControlRecordType, controlRecordKey } from '../protocol/batch/build.ts'
import { lastOffset } from '../protocol/batch/header.ts'
import { ProtocolError } from '../rpc/errors.ts'
import { FetchedRecords } from './fetched-records.ts'

/** A log of batches one after the other; each is given as the values of its records. */
function log(batches: readonly (Partial<BatchToBuild> & { values: readonly string[] })[]): Buffer {
  let baseOffset = 0
  return Buffer.concat(
    batches.map(({ values, ...rest }) => {
      const records = values.map((value) => ({ key: null, value: Buffer.from(value), timestampMs: 1 }))
      const batch = buildBatch({ records, baseOffset, leaderEpoch: 3, ...rest })
      baseOffset = lastOffset(batch, 0) + 1
      return batch
    }),
  )
}

function marker(producerId: number, type: number): Partial<BatchToBuild> & { values: string[] } {
  const records = [{ key: controlRecordKey(type), value: Buffer.alloc(6), timestampMs: 1 }]
  return { values: [], records, producerId, producerEpoch: 0, isTransactional: true, isControl: true }
}

function transactional(producerId: number, ...values: string[]) {
  return { values, producerId, producerEpoch: 0, baseSequence: 0, isTransactional: true }
}

function read(fetched: FetchedRecords): string[] {
  const values: string[] = []
  for (let record = fetched.next(); record !== null; record = fetched.next()) values.push(String(record.value))
  return values
}

const fetch = (buffer: Buffer, position = 0, aborted: { producerId: number; firstOffset: number }[] | null = null) =>
  new FetchedRecords({ topic: 't', partition: 0, position, buffer, aborted })

test('records below the position are left out, though their batch came along', () => {
  const buffer = log([{ values: ['a', 'b', 'c'] }, { values: ['d'], codec: 'zstd' }])
  const fetched = fetch(buffer, 2)
  const first = fetched.next()
  assert.deepEqual([first?.offset, String(first?.value), first?.leaderEpoch], [2, 'c', 3])
  assert.equal(fetched.position, 3)
  assert.deepEqual(read(fetched), ['d'])
  assert.equal(fetched.position, 4)
})

test('the position passes over what compaction and markers left', () => {
  const buffer = log([{ values: ['a'], lastOffsetDelta: 9 }, marker(7, ControlRecordType.COMMIT)])
  const fetched = fetch(buffer)
  assert.deepEqual(read(fetched), ['a'])
  assert.equal(fetched.position, 11)
})

test('records of aborted transactions are hidden, those around them are not', () => {
  const buffer = log([
    { values: ['plain'] }, // 0
    transactional(7, 'aborted'), // 1
    transactional(8, 'committed'), // 2
    { values: ['between'] }, // 3
    transactional(7, 'aborted too'), // 4
    marker(7, ControlRecordType.ABORT), // 5
    transactional(7, 'of the next transaction'), // 6
    marker(8, ControlRecordType.COMMIT), // 7
    marker(7, ControlRecordType.COMMIT), // 8
    transactional(7, 'aborted again'), // 9
    marker(7, ControlRecordType.ABORT), // 10
  ])
  const aborted = [
    { producerId: 7, firstOffset: 9 },
    { producerId: 7, firstOffset: 1 },
  ]
  assert.deepEqual(read(fetch(buffer, 0, aborted)), ['plain', 'committed', 'between', 'of the next transaction'])
  // Begun in the middle of the transaction.
  assert.deepEqual(read(fetch(buffer, 4, aborted)), ['of the next transaction'])
  const uncommitted = read(fetch(buffer))
  assert.equal(uncommitted.length, 7)
  assert.ok(uncommitted.includes('aborted too'))
})

test('a broken batch is not handed out', () => {
  const buffer = log([{ values: ['a'] }, { values: ['b'] }])
  buffer[buffer.length - 3] = 0x7f
  const fetched = fetch(buffer)
  assert.equal(String(fetched.next()?.value), 'a')
  assert.throws(() => fetched.next(), ProtocolError)
})

test('a batch that is cut off at the end is left for the next answer', () => {
  const buffer = log([{ values: ['a'] }, { values: ['b'] }])
  const fetched = fetch(buffer.subarray(0, buffer.length - 1))
  assert.deepEqual(read(fetched), ['a'])
  assert.equal(fetched.position, 1)
})

test('where to ask next is known before anything is read, but not behind a broken batch', () => {
  const buffer = log([{ values: ['a', 'b'] }, { values: ['c'] }, { values: ['d'] }])
  assert.equal(fetch(buffer).endOffset, 4)
  assert.equal(fetch(buffer.subarray(0, buffer.length - 1)).endOffset, 3, 'the last batch is cut')
  assert.equal(fetch(Buffer.alloc(0), 17).endOffset, 17)
  const broken = Buffer.from(buffer)
  broken.writeInt32BE(-5, 8)
  assert.equal(fetch(broken).endOffset, null)
})
