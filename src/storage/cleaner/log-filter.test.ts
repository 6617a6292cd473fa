import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BatchToBuild, buildBatch, ControlRecordType, controlRecordKey } from '../../protocol/batch/build.ts'
import {
  CODECS,
  attributes,
  baseTimestamp,
  codecOf,
  DELETE_HORIZON_FLAG,
  lastOffset,
  lastSequence,
  maxTimestamp,
  recordCount,
  verifyCrc,
} from '../../protocol/batch/header.ts'
import { recordsOf } from '../../protocol/batch/records.ts'
import { ProducerStates } from '../producer-states.ts'
import { AbortedRanges } from './aborted-ranges.ts'
import { KnownProducers } from './known-producers.ts'
import { LogFilter } from './log-filter.ts'
import { KEY_BYTES_MAX, OffsetMap } from './offset-map.ts'

const NOW = 1_700_000_000_000
const DAY = 86_400_000

interface Record {
  readonly key: string | null
  readonly value: string | null
}

function batchOf(baseOffset: number, records: readonly Record[], more: Partial<BatchToBuild> = {}): Buffer {
  const built = records.map(({ key, value }, i) => ({
    key: key === null ? null : Buffer.from(key),
    value: value === null ? null : Buffer.from(value),
    timestampMs: NOW - 1000 + i,
  }))
  return buildBatch({ records: built, baseOffset, leaderEpoch: 4, ...more })
}

function markerOf(baseOffset: number, producerId: number, isAbort = true): Buffer {
  const key = controlRecordKey(isAbort ? ControlRecordType.ABORT : ControlRecordType.COMMIT)
  const records = [{ key, value: Buffer.alloc(6), timestampMs: NOW - 500 }]
  return buildBatch({ records, baseOffset, producerId, producerEpoch: 0, isControl: true, isTransactional: true })
}

interface World {
  readonly newest?: readonly [string, number][]
  readonly aborted?: readonly (readonly [producerId: number, firstOffset: number, lastOffset: number])[]
  readonly producers?: ProducerStates
  readonly endOffset?: number
  readonly wallMs?: number
}

function filterOf({ newest = [], aborted = [], producers, endOffset = 1000, wallMs = NOW }: World): LogFilter {
  const map = new OffsetMap({ bytesMax: 1e6, seed: { low: 1, high: 2 } })
  for (const [key, offset] of newest) map.set(Buffer.from(key), 0, key.length, offset)
  return new LogFilter({
    newest: map,
    endOffset,
    aborted: new AbortedRanges(
      aborted.map(([producerId, firstOffset, last]) => ({
        producerId,
        firstOffset,
        lastOffset: last,
        lastStableOffset: last,
      })),
    ),
    producers: new KnownProducers(producers ?? new ProducerStates(), 1000),
    wallMs,
    deleteRetentionMs: DAY,
  })
}

const keysAt = (batch: Buffer | null) =>
  batch === null ? null : [...recordsOf(batch)].map(({ offset, key }) => `${offset}:${key}`)

test('a record goes when its key has a newer one, be it the next; the rest stays byte for byte', () => {
  for (const codec of CODECS) {
    const batch = batchOf(
      10,
      [
        { key: 'a', value: '1' },
        { key: 'a', value: '2' },
        { key: 'b', value: '3' },
      ],
      { codec, producerId: 5, producerEpoch: 1, baseSequence: 7 },
    )
    const kept = filterOf({
      newest: [
        ['a', 11],
        ['b', 12],
      ],
    }).apply(batch, 0, false) as Buffer
    assert.deepEqual(keysAt(kept), ['11:a', '12:b'])
    assert.deepEqual([...recordsOf(kept)], [...recordsOf(batch)].slice(1))
    assert.ok(verifyCrc(kept, 0))
    assert.deepEqual([codecOf(kept, 0), lastOffset(kept, 0), lastSequence(kept, 0)], [codec, 12, 9])
    // The newest of its records is the newest of the batch.
    const older = filterOf({
      newest: [
        ['a', 11],
        ['b', 500],
      ],
    }).apply(batch, 0, false) as Buffer
    assert.equal(maxTimestamp(older, 0), NOW - 999)
    assert.equal(
      filterOf({
        newest: [
          ['a', 99],
          ['b', 99],
        ],
      }).apply(batch, 0, false),
      null,
    )
  }
})

test('nothing at or beyond the end of the part that was looked at is touched', () => {
  const batch = batchOf(10, [
    { key: 'a', value: '1' },
    { key: 'b', value: '2' },
  ])
  const newest: [string, number][] = [
    ['a', 99],
    ['b', 99],
  ]
  assert.deepEqual(filterOf({ newest, endOffset: 11 }).apply(batch, 0, false), batch)
  assert.equal(filterOf({ newest, endOffset: 12 }).apply(batch, 0, false), null)
})

test('records without a key, or with one too long to be compared, stay, their tombstones too', () => {
  const long = 'x'.repeat(KEY_BYTES_MAX + 1)
  const records = [
    { key: null, value: 'a' },
    { key: long, value: null },
  ]
  const tombstones = batchOf(10, records, { deleteHorizonMs: NOW - DAY })
  assert.deepEqual(filterOf({}).apply(tombstones, 0, false), tombstones)
})

test('a tombstone gets a time when it is first seen, and goes after it', () => {
  const batch = batchOf(
    10,
    [
      { key: 'a', value: null },
      { key: 'b', value: 'stays' },
    ],
    { codec: 'zstd' },
  )
  const seen = filterOf({}).apply(batch, 0, false) as Buffer
  assert.equal(attributes(seen, 0) & DELETE_HORIZON_FLAG, DELETE_HORIZON_FLAG)
  assert.equal(baseTimestamp(seen, 0), NOW + DAY)
  assert.deepEqual([...recordsOf(seen)], [...recordsOf(batch)])
  assert.ok(verifyCrc(seen, 0))
  assert.deepEqual(filterOf({ wallMs: NOW + DAY - 1 }).apply(seen, 0, false), seen)
  const later = filterOf({ wallMs: NOW + DAY }).apply(seen, 0, false) as Buffer
  assert.deepEqual(keysAt(later), ['11:b'])
  assert.deepEqual([...recordsOf(later)], [...recordsOf(batch)].slice(1))
})

test('a tombstone whose timestamp cannot be counted from that time stays as it is', () => {
  const records = [{ key: Buffer.from('a'), value: null, timestampMs: 2 ** 52 }]
  const batch = buildBatch({ records, baseOffset: 1 })
  assert.deepEqual(filterOf({}).apply(batch, 0, false), batch)
})

test('timestamps of the append stay those', () => {
  const batch = batchOf(
    10,
    [
      { key: 'a', value: '1' },
      { key: 'b', value: null },
    ],
    { logAppendTimeMs: NOW - 7 },
  )
  const kept = filterOf({ newest: [['a', 99]] }).apply(batch, 0, false) as Buffer
  assert.deepEqual(
    [...recordsOf(kept)].map(({ timestampMs }) => timestampMs),
    [NOW - 7],
  )
})

test('aborted records go, those of the transactions around them do not', () => {
  const options = { producerId: 5, producerEpoch: 0, isTransactional: true }
  const at = (offset: number) =>
    batchOf(offset, [{ key: `only ${offset}`, value: 'v' }], { ...options, baseSequence: offset })
  const filter = filterOf({
    aborted: [
      [5, 10, 20],
      [5, 30, 40],
      [6, 1, 100],
    ],
  })
  const kept = [9, 10, 19, 21, 30, 41].map((offset) => keysAt(filter.apply(at(offset), 0, false)) !== null)
  assert.deepEqual(kept, [true, false, false, true, false, true])
  const plain = batchOf(15, [{ key: 'k', value: 'v' }], { producerId: 5, producerEpoch: 0, baseSequence: 1 })
  assert.deepEqual(filter.apply(plain, 0, false), plain)
})

test('a marker outlives its records, then waits, then goes', () => {
  const data = batchOf(10, [{ key: 'a', value: 'v' }], {
    producerId: 5,
    producerEpoch: 0,
    baseSequence: 0,
    isTransactional: true,
  })
  const marker = markerOf(11, 5)
  // The round that removes the records leaves the marker as it is.
  const first = filterOf({ aborted: [[5, 10, 11]] })
  assert.equal(first.apply(data, 0, false), null)
  assert.deepEqual(first.apply(marker, 0, false), marker)
  // The next finds no records.
  const waiting = filterOf({}).apply(marker, 0, false) as Buffer
  assert.equal(baseTimestamp(waiting, 0), NOW + DAY)
  assert.deepEqual([...recordsOf(waiting)], [...recordsOf(marker)])
  assert.deepEqual(filterOf({ wallMs: NOW + DAY - 1 }).apply(waiting, 0, false), waiting)
  assert.equal(filterOf({ wallMs: NOW + DAY }).apply(waiting, 0, false), null)
  // Not while a batch of the transaction is there, be it empty.
  const late = filterOf({ wallMs: NOW + 2 * DAY, aborted: [[5, 10, 11]] })
  const empty = late.apply(data, 0, true) as Buffer
  assert.equal(recordCount(empty, 0), 0)
  assert.deepEqual(late.apply(waiting, 0, false), waiting)
})

test('markers are never compared by their keys', () => {
  const filter = filterOf({ newest: [[controlRecordKey(ControlRecordType.COMMIT).toString('latin1'), 900]] })
  for (const offset of [11, 13]) {
    const data = batchOf(offset - 1, [{ key: `${offset}`, value: 'v' }], {
      producerId: 5,
      producerEpoch: 0,
      baseSequence: 0,
      isTransactional: true,
    })
    filter.apply(data, 0, false)
    assert.deepEqual(filter.apply(markerOf(offset, 5, false), 0, false), markerOf(offset, 5, false))
  }
})

test('what must stay, stays without its records: the last of a segment, and what producers are known by', () => {
  const newest: [string, number][] = [['a', 500]]
  const producer = { producerId: 5, producerEpoch: 2 }
  const batch = batchOf(10, [{ key: 'a', value: '1' }], { ...producer, baseSequence: 3, codec: 'gzip' })
  const last = filterOf({ newest }).apply(batch, 0, true) as Buffer
  assert.deepEqual([recordCount(last, 0), lastOffset(last, 0), lastSequence(last, 0)], [0, 10, 3])
  assert.ok(verifyCrc(last, 0))

  const producers = new ProducerStates()
  producers.apply(batch, 0, 0)
  assert.deepEqual(filterOf({ newest, producers }).apply(batch, 0, false), last)
  assert.deepEqual(filterOf({ newest, producers }).apply(last, 0, false), last)
  assert.equal(filterOf({ newest }).apply(last, 0, false), null)

  // Only a marker says which epoch this one has reached.
  const byMarker = new ProducerStates()
  byMarker.apply(markerOf(20, 6), 0, 0)
  const old = { producers: byMarker, wallMs: NOW + DAY }
  const waiting = filterOf({ producers: byMarker }).apply(markerOf(20, 6), 0, false) as Buffer
  const kept = filterOf(old).apply(waiting, 0, false) as Buffer
  assert.equal(recordCount(kept, 0), 0)
  assert.deepEqual(filterOf(old).apply(kept, 0, false), kept)
})
