import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MalformedError } from '../base/bytes.ts'
import type { TopicId } from '../model/ids.ts'
import { buildBatch, controlRecordKey } from '../protocol/batch/build.ts'
import { stampBatch } from '../protocol/batch/header.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { NO_TIME } from './index-format.ts'
import { decodeSnapshot, encodeSnapshot, type LogNote } from './producer-snapshot.ts'
import { ProducerStates } from './producer-states.ts'

interface Sent {
  readonly id?: number
  readonly epoch?: number
  readonly sequence: number
  readonly records?: number
  readonly isTransactional?: boolean
}

function batchOf({ id = 7, epoch = 0, sequence, records = 1, isTransactional = false }: Sent): Buffer {
  return buildBatch({
    records: Array.from({ length: records }, () => ({ key: null, value: Buffer.alloc(1), timestampMs: 5 })),
    producerId: id,
    producerEpoch: epoch,
    baseSequence: sequence,
    isTransactional,
  })
}

function markerOf({ id = 7, epoch = 0, isAbort = false, coordinatorEpoch = 3 }): Buffer {
  const value = Buffer.alloc(6)
  value.writeInt32BE(coordinatorEpoch, 2)
  const records = [{ key: controlRecordKey(isAbort ? 0 : 1), value, timestampMs: 9 }]
  return buildBatch({ records, producerId: id, producerEpoch: epoch, isTransactional: true, isControl: true })
}

/** A log of one partition, as far as producers go. */
class Log {
  readonly states = new ProducerStates()
  endOffset = 0

  append(batch: Buffer) {
    stampBatch(batch, 0, { baseOffset: this.endOffset, leaderEpoch: 0 })
    this.endOffset += batch.readInt32BE(23) + 1
    return this.states.apply(batch, 0, 1000)
  }

  send(sent: Sent): string | number {
    const batch = batchOf(sent)
    const verdict = this.states.check(batch, 0)
    if (verdict.kind === 'refuse') return verdict.errorCode
    if (verdict.kind === 'duplicate') return `duplicate at ${verdict.batch.lastOffset - verdict.batch.offsetDelta}`
    this.append(batch)
    return 'appended'
  }
}

test('the last five batches are recognised, an older one and a gap are out of order', () => {
  const log = new Log()
  for (let i = 0; i < 7; i++) assert.equal(log.send({ sequence: i * 2, records: 2 }), 'appended')
  for (let i = 2; i < 7; i++) assert.equal(log.send({ sequence: i * 2, records: 2 }), `duplicate at ${i * 2}`)
  assert.equal(log.send({ sequence: 2, records: 2 }), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
  assert.equal(
    log.send({ sequence: 12, records: 1 }),
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    'part of a batch is no duplicate',
  )
  assert.equal(log.send({ sequence: 15 }), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
  assert.equal(log.send({ sequence: 14 }), 'appended')
})

test('sequences go on at 0 after 2147483647, also within a batch', () => {
  const log = new Log()
  assert.equal(log.send({ sequence: 2147483646, records: 2 }), 'appended')
  assert.equal(log.send({ sequence: 0, records: 1 }), 'appended')
  assert.equal(log.send({ sequence: 2147483646, records: 2 }), 'duplicate at 0')
  const other = new Log()
  assert.equal(other.send({ sequence: 2147483646, records: 5 }), 'appended')
  assert.equal(other.send({ sequence: 2147483646, records: 5 }), 'duplicate at 0')
  assert.equal(other.send({ sequence: 3 }), 'appended')
})

test('a new epoch begins at sequence 0 and fences the old one', () => {
  const log = new Log()
  log.send({ sequence: 0 })
  assert.equal(log.send({ epoch: 1, sequence: 1 }), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
  assert.equal(log.send({ epoch: 1, sequence: 0 }), 'appended')
  assert.equal(log.send({ epoch: 0, sequence: 1 }), ErrorCode.INVALID_PRODUCER_EPOCH)
  assert.equal(log.send({ epoch: 0, sequence: 0 }), ErrorCode.INVALID_PRODUCER_EPOCH, 'even a duplicate of then')
})

test('an unknown producer may begin anywhere, and is unknown again once it has expired', () => {
  const log = new Log()
  assert.equal(log.send({ sequence: 500 }), 'appended')
  log.states.expire(1000 + 9999, 10_000)
  assert.equal(log.states.size, 1)
  log.states.expire(1000 + 10_000, 10_000)
  assert.equal(log.states.size, 0)
  assert.equal(log.send({ sequence: 3 }), 'appended')
})

test('an open transaction holds the stable offset, keeps its producer, and ends with its marker below the high watermark', () => {
  const log = new Log()
  log.send({ id: 1, sequence: 0, records: 3, isTransactional: true })
  log.send({ id: 2, sequence: 0 })
  log.send({ id: 3, sequence: 0, isTransactional: true })
  assert.equal(log.states.lastStableOffset(5), 0)
  assert.equal(log.send({ id: 1, sequence: 3 }), ErrorCode.INVALID_TXN_STATE)
  log.states.expire(1e12, 1)
  assert.deepEqual(
    [...log.states.entries].map(({ producerId }) => producerId),
    [1, 3],
  )
  assert.deepEqual(log.append(markerOf({ id: 1, isAbort: true })), {
    producerId: 1,
    firstOffset: 0,
    lastOffset: 5,
    isAborted: true,
  })
  assert.equal(log.states.lastStableOffset(5), 0, 'the marker itself is not committed')
  assert.equal(log.states.lastStableOffset(6), 4, 'the other transaction is open')
  log.append(markerOf({ id: 3 }))
  assert.equal(log.states.lastStableOffset(7), 7)
})

test('markers of an old producer epoch or an old coordinator are refused', () => {
  const log = new Log()
  log.send({ id: 1, epoch: 5, sequence: 0, isTransactional: true })
  const marker = { producerId: 1, producerEpoch: 5, coordinatorEpoch: 3, bumped: false }
  assert.equal(log.states.checkMarker({ ...marker, producerEpoch: 4 })?.errorCode, ErrorCode.INVALID_PRODUCER_EPOCH)
  assert.equal(log.states.checkMarker({ ...marker, bumped: true })?.errorCode, ErrorCode.INVALID_PRODUCER_EPOCH)
  assert.equal(log.states.checkMarker(marker), null)
  log.append(markerOf({ id: 1, epoch: 5 }))
  assert.equal(
    log.states.checkMarker({ ...marker, coordinatorEpoch: 2 })?.errorCode,
    ErrorCode.TRANSACTION_COORDINATOR_FENCED,
  )
})

const note: LogNote = {
  topicId: 'dGVzdC10b3BpYy1pZC0wMQ' as TopicId,
  partition: 3,
  offset: 42,
  segmentBase: 40,
  position: 1234,
  createdMs: 5,
  firstTimestampMs: null,
  newest: NO_TIME,
  abortedCount: 0,
  abortedBefore: -1,
  epochs: [{ epoch: 1, startOffset: 0 }],
}

test('what a snapshot held decides afterwards as before', () => {
  const send = fc.record({
    id: fc.integer({ min: 1, max: 3 }),
    epoch: fc.integer({ min: 0, max: 2 }),
    sequence: fc.integer({ min: 0, max: 12 }),
    records: fc.integer({ min: 1, max: 3 }),
    isTransactional: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(send), fc.array(send), (before, after) => {
      const log = new Log()
      for (const sent of before) log.send(sent)
      const reloaded = new Log()
      reloaded.endOffset = log.endOffset
      const { producers, note: decoded } = decodeSnapshot(encodeSnapshot(log.states.entries, note))
      reloaded.states.load(producers, 1000)
      assert.deepEqual(decoded, note)
      for (const sent of after) assert.equal(reloaded.send(sent), log.send(sent))
      assert.equal(reloaded.states.lastStableOffset(1e9), log.states.lastStableOffset(1e9))
    }),
  )
})

test('a snapshot with any byte changed is refused', () => {
  const log = new Log()
  log.send({ sequence: 0 })
  log.send({ sequence: 1 })
  const content = encodeSnapshot(log.states.entries, note)
  for (let at = 0; at < content.length; at++) {
    const broken = Buffer.from(content)
    broken[at] = (broken[at] as number) ^ 0x20
    assert.throws(() => decodeSnapshot(broken), MalformedError, `byte ${at}`)
    assert.throws(() => decodeSnapshot(content.subarray(0, at)), MalformedError, `cut at ${at}`)
  }
})

test('a producer id below -1 is none, and is not remembered', () => {
  const log = new Log()
  log.append(batchOf({ id: -2, sequence: 0 }))
  assert.equal([...log.states.entries].length, 0)
})
