import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ErrorCode } from '../errors.ts'
import { type BatchToBuild, buildBatch } from './build.ts'
import {
  attributes,
  CODECS,
  CONTROL_FLAG,
  codecOf,
  DELETE_HORIZON_FLAG,
  isLogAppendTime,
  LOG_APPEND_TIME_FLAG,
  maxTimestamp,
  stampCrc,
  verifyCrc,
} from './header.ts'
import { recordsOf } from './records.ts'
import { type BatchLimits, validateProducedBatch } from './validate.ts'

const NOW = 1_700_000_000_000
const limits: BatchLimits = {
  partition: 'orders-0',
  maxBatchBytes: 1_048_588,
  segmentBytes: 1024 ** 3,
  compacted: false,
  logAppendTime: false,
  timestampBeforeMaxMs: Number.MAX_SAFE_INTEGER,
  timestampAfterMaxMs: 3_600_000,
  codec: null,
}

function some(count: number, change: Partial<BatchToBuild> = {}): Buffer {
  const records = Array.from({ length: count }, (_, index) => ({
    key: Buffer.from(`key ${index}`),
    value: Buffer.from('a value that is long enough to be worth packing '.repeat(3)),
    headers: [{ key: 'trace', value: Buffer.from('id') }],
    timestampMs: NOW - 1000 + index,
  }))
  return buildBatch({ records, ...change })
}

function check(batch: Buffer | null, change: Partial<BatchLimits> = {}, produceVersion = 9) {
  return validateProducedBatch(batch, { ...limits, ...change }, { produceVersion, nowMs: NOW })
}

function refusal(batch: Buffer | null, change: Partial<BatchLimits> = {}, produceVersion = 9) {
  const result = check(batch, change, produceVersion)
  assert.equal(result.kind, 'refused')
  return result
}

function accepted(batch: Buffer, change: Partial<BatchLimits> = {}): Buffer {
  const result = check(batch, change)
  assert.ok(result.kind === 'accepted', JSON.stringify(result))
  assert.ok(verifyCrc(result.batch, 0))
  return result.batch
}

/** `batch` with one header field changed and a CRC that is right again. */
function altered(batch: Buffer, change: (batch: Buffer) => void): Buffer {
  const copy = Buffer.from(batch)
  change(copy)
  stampCrc(copy, 0)
  return copy
}

for (const codec of CODECS) {
  test(`${codec}: a sound batch is kept as the bytes that came`, () => {
    const batch = some(50, { codec })
    const before = Buffer.from(batch)
    const kept = accepted(batch)
    assert.equal(kept, batch)
    assert.deepEqual(kept, before)
  })

  test(`${codec}: a CRC that is not the bytes' is CORRUPT_MESSAGE, wherever the bit is`, () => {
    const batch = some(5, { codec })
    for (let at = 21; at < batch.length; at += 7) {
      const broken = Buffer.from(batch)
      broken[at] = (broken[at] as number) ^ 0x10
      assert.equal(refusal(broken).errorCode, ErrorCode.CORRUPT_MESSAGE, `byte ${at}`)
    }
  })

  test(`${codec}: records that do not decode are refused and not stored, though their CRC is right`, () => {
    const batch = some(20, { codec })
    fc.assert(
      fc.property(fc.integer({ min: 61, max: batch.length - 1 }), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const result = check(altered(batch, (copy) => void (copy[at] = (copy[at] as number) ^ flip)))
        // A flip in a key or a value is as good as any other bytes; what is accepted must be readable.
        if (result.kind === 'accepted') assert.equal([...recordsOf(result.batch)].length, 20)
        else
          assert.ok(
            [ErrorCode.INVALID_RECORD, ErrorCode.INVALID_TIMESTAMP, ErrorCode.MESSAGE_TOO_LARGE].includes(
              result.errorCode as never,
            ),
          )
      }),
      { numRuns: 200 },
    )
  })
}

test('no batch, half a batch, and two batches', () => {
  for (const none of [null, Buffer.alloc(0), Buffer.alloc(11), some(1).subarray(0, 60)]) {
    const { errorCode, message } = refusal(none)
    assert.equal(errorCode, ErrorCode.INVALID_RECORD)
    assert.match(message, /at least one record batch/)
  }
  assert.match(refusal(Buffer.concat([some(1), some(1)])).message, /exactly one record batch/)
})

test('bytes after the batch that are no batch are cut off', () => {
  const batch = some(3)
  assert.deepEqual(accepted(Buffer.concat([batch, Buffer.alloc(9, 1)])), batch)
})

test('old formats are refused', () => {
  for (const version of [0, 1]) {
    const { errorCode, message } = refusal(altered(some(1), (copy) => copy.writeInt8(version, 16)))
    assert.equal(errorCode, ErrorCode.INVALID_RECORD)
    assert.match(message, /magic version 2/)
  }
  for (const version of [3, -1]) {
    assert.equal(refusal(altered(some(1), (copy) => copy.writeInt8(version, 16))).errorCode, ErrorCode.CORRUPT_MESSAGE)
  }
})

test('a length shorter than a header is corrupt', () => {
  const batch = some(3)
  batch.writeInt32BE(30, 8)
  assert.equal(refusal(batch).errorCode, ErrorCode.CORRUPT_MESSAGE)
  batch.writeInt32BE(-1, 8)
  assert.equal(refusal(batch).errorCode, ErrorCode.CORRUPT_MESSAGE)
})

test('zstd needs Produce 7, and codecs beyond it are unknown', () => {
  assert.equal(refusal(some(1, { codec: 'zstd' }), {}, 6).errorCode, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
  const strange = altered(some(1), (copy) => copy.writeInt16BE(6, 21))
  assert.equal(refusal(strange).errorCode, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
})

test('what a client must not write in a header', () => {
  const cases: [string, (copy: Buffer) => void][] = [
    ['a base offset', (copy) => void copy.writeInt32BE(1, 4)],
    ['a negative last offset delta', (copy) => void copy.writeInt32BE(-1, 23)],
    ['no records', (copy) => void copy.writeInt32BE(0, 57)],
    ['a count that is not the offsets', (copy) => void copy.writeInt32BE(2, 57)],
    ['a control batch', (copy) => void copy.writeInt16BE(CONTROL_FLAG, 21)],
    ['a delete horizon', (copy) => void copy.writeInt16BE(DELETE_HORIZON_FLAG, 21)],
    ['a producer without a sequence', (copy) => void copy.writeBigInt64BE(5n, 43)],
    ['a transaction without a producer', (copy) => void copy.writeInt16BE(0x10, 21)],
  ]
  for (const [what, change] of cases) {
    assert.equal(refusal(altered(some(3), change)).errorCode, ErrorCode.INVALID_RECORD, what)
  }
  assert.ok(accepted(some(3, { producerId: 5, producerEpoch: 0, baseSequence: 7 })))
})

test('more records than the section holds, and fewer', () => {
  const counts = (count: number) =>
    altered(some(3), (copy) => {
      copy.writeInt32BE(count - 1, 23)
      copy.writeInt32BE(count, 57)
    })
  for (const count of [2, 4, 2 ** 31 - 1]) assert.equal(refusal(counts(count)).errorCode, ErrorCode.INVALID_RECORD)
})

test('records whose offsets are not in order are refused', () => {
  const records = [0, 2].map((offsetDelta) => ({ key: null, value: null, offsetDelta, timestampMs: NOW }))
  const batch = altered(buildBatch({ records }), (copy) => copy.writeInt32BE(1, 23))
  assert.match(refusal(batch).message, /offset delta 2/)
})

test('too large: the whole batch counts, compressed', () => {
  const batch = some(100)
  const { errorCode, message } = refusal(batch, { maxBatchBytes: batch.length - 1 })
  assert.equal(errorCode, ErrorCode.MESSAGE_TOO_LARGE)
  assert.match(message, new RegExp(`${batch.length} bytes.*${batch.length - 1}`))
  accepted(batch, { maxBatchBytes: batch.length })
  accepted(some(100, { codec: 'zstd' }), { maxBatchBytes: batch.length - 1 })
  assert.equal(refusal(batch, { segmentBytes: batch.length - 1 }).errorCode, ErrorCode.RECORD_LIST_TOO_LARGE)
})

test('a bomb is refused with the code that makes a producer split', () => {
  const value = Buffer.alloc(48 * 1024 * 1024)
  for (const codec of ['gzip', 'lz4', 'zstd'] as const) {
    const bomb = buildBatch({ records: [{ key: null, value, timestampMs: NOW }], codec })
    assert.ok(bomb.length < limits.maxBatchBytes)
    assert.equal(refusal(bomb).errorCode, ErrorCode.MESSAGE_TOO_LARGE, codec)
  }
})

test('a compacted topic needs keys: each record without one is named', () => {
  const records = [0, 1, 2].map((n) => ({ key: n === 1 ? Buffer.from('k') : null, value: null, timestampMs: NOW }))
  const { errorCode, recordErrors } = refusal(buildBatch({ records }), { compacted: true })
  assert.equal(errorCode, ErrorCode.INVALID_RECORD)
  assert.deepEqual(
    recordErrors.map(({ batchIndex }) => batchIndex),
    [0, 2],
  )
})

test('timestamps outside the bounds: each record is named, and what has no timestamp passes', () => {
  const at = (timestampMs: number) => ({ key: Buffer.from('k'), value: null, timestampMs })
  const batch = buildBatch({ records: [at(NOW), at(NOW + 3_600_001), at(NOW + 3_600_000), at(-1)] })
  const { errorCode, recordErrors } = refusal(batch)
  assert.equal(errorCode, ErrorCode.INVALID_TIMESTAMP)
  assert.deepEqual(
    recordErrors.map(({ batchIndex }) => batchIndex),
    [1],
  )
  const old = refusal(buildBatch({ records: [at(NOW - 10_001)] }), { timestampBeforeMaxMs: 10_000 })
  assert.equal(old.errorCode, ErrorCode.INVALID_TIMESTAMP)
  accepted(batch, { timestampAfterMaxMs: Number.MAX_SAFE_INTEGER })
})

test('a topic that stamps the append time', () => {
  const batch = some(3)
  const result = check(batch, { logAppendTime: true })
  assert.ok(result.kind === 'accepted')
  assert.equal(result.logAppendTimeMs, NOW)
  assert.ok(isLogAppendTime(batch, 0) && verifyCrc(batch, 0))
  assert.deepEqual(
    [...recordsOf(batch)].map(({ timestampMs }) => timestampMs),
    [NOW, NOW, NOW],
  )
  const presumed = altered(some(1), (copy) => copy.writeInt16BE(LOG_APPEND_TIME_FLAG, 21))
  assert.equal(refusal(presumed, { logAppendTime: true }).errorCode, ErrorCode.INVALID_TIMESTAMP)
})

test('a largest timestamp that is none of the records is set right', () => {
  const lie = altered(some(3), (copy) => copy.writeInt32BE(0x7fff, 35))
  assert.equal(maxTimestamp(accepted(lie), 0), NOW - 998)
})

test('a topic with its own codec: the records are the same, the bytes are not', () => {
  for (const from of CODECS) {
    for (const to of CODECS) {
      const batch = some(30, { codec: from, producerId: 9, producerEpoch: 1, baseSequence: 4 })
      const before = [...recordsOf(batch)].map(plain)
      const stored = accepted(batch, { codec: to })
      assert.equal(codecOf(stored, 0), to)
      assert.equal(attributes(stored, 0) & ~7, attributes(batch, 0) & ~7)
      assert.deepEqual([...recordsOf(stored)].map(plain), before)
      assert.equal(stored === batch, from === to)
    }
  }
})

for (const codec of ['gzip', 'lz4', 'zstd'] as const) {
  test(`${codec}: what a batch decompresses to is no work for the garbage collector`, () => {
    const value = Buffer.from(Array.from({ length: 100_000 }, (_, index) => 97 + ((index * index) % 23)))
    const batch = some(1, { codec, records: [{ key: null, value }] })
    accepted(batch)
    const before = process.memoryUsage().external
    for (let times = 0; times < 50; times++) accepted(batch)
    const left = process.memoryUsage().external - before
    assert.ok(left < 10 * value.length, `${left} bytes are left of 50 times ${value.length}`)
  })
}

function plain(record: {
  key: Buffer | null
  value: Buffer | null
  offset: number
  timestampMs: number
  headers: unknown
}) {
  return { ...record, key: record.key?.toString(), value: record.value?.toString() }
}

test('random bytes never do more than be refused', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      const result = check(Buffer.from(bytes))
      assert.equal(result.kind, 'refused')
    }),
    { numRuns: 500 },
  )
})
