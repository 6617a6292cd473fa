import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseTarget } from './target.ts'

const NOW = Date.UTC(2026, 0, 31, 12)

test('a rewind goes to an end, an age, a moment or an offset', () => {
  assert.deepEqual(parseTarget('earliest', NOW), { type: 'earliest' })
  assert.deepEqual(parseTarget('latest', NOW), { type: 'latest' })
  assert.deepEqual(parseTarget('2h', NOW), { type: 'time', timestampMs: NOW - 7_200_000 })
  assert.deepEqual(parseTarget('-90m', NOW), { type: 'time', timestampMs: NOW - 5_400_000 })
  assert.deepEqual(parseTarget('2026-01-31T12:00:00Z', NOW), { type: 'time', timestampMs: NOW })
  assert.deepEqual(parseTarget(String(NOW), NOW), { type: 'time', timestampMs: NOW })
  assert.deepEqual(parseTarget('1700000000', NOW), { type: 'offset', offset: 1_700_000_000 })
  assert.equal(parseTarget('yesterday', NOW), null)
  assert.equal(parseTarget('', NOW), null)
})
