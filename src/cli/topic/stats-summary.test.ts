import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type PartitionStats, summarize } from './stats-summary.ts'

const part = (partition: number, records: number, extra: Partial<PartitionStats> = {}): PartitionStats => ({
  partition,
  records,
  bytes: records * 10,
  oldestMs: null,
  newestMs: null,
  recent: [0, 0, 0],
  ...extra,
})

test('rates, skew and the time that is left are those of the whole topic', () => {
  const stats = summarize(
    'orders',
    [
      part(1, 30, { oldestMs: 5000, newestMs: 9000, recent: [60, 60, 90] }),
      part(0, 10, { oldestMs: 2000, newestMs: 8000, recent: [0, 240, 810] }),
    ],
    { retentionMs: 60_000, nowMs: 10_000 },
  )
  assert.deepEqual(stats.perSecond, [1, 1, 1])
  assert.deepEqual(stats.skew, { records: 1.5, bytes: 1.5 })
  assert.deepEqual([stats.oldestMs, stats.newestMs, stats.oldestGoesInMs], [2000, 9000, 52_000])
  assert.deepEqual([stats.records, stats.bytes], [40, 400])
})

test('an empty topic has no skew and loses nothing, and what is kept for ever never goes', () => {
  const empty = summarize('a', [part(0, 0), part(1, 0)], { retentionMs: 1000, nowMs: 0 })
  assert.deepEqual([empty.skew.records, empty.oldestGoesInMs, empty.newestMs], [1, null, null])
  const kept = summarize('a', [part(0, 1, { oldestMs: 1 })], { retentionMs: -1, nowMs: 0 })
  assert.equal(kept.oldestGoesInMs, null)
})
