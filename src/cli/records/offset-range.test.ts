import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseOffsetRange } from './offset-range.ts'
import { formatDuration, parseDuration, parseMoment } from './time-text.ts'

const NOW = Date.UTC(2026, 0, 31, 12)
const HOUR = 3_600_000
const start = { type: 'start' }
const end = { type: 'end' }
const exact = (offset: number) => ({ type: 'exact', offset })
const time = (timestampMs: number) => ({ type: 'time', timestampMs })

const understood: [string, unknown, unknown][] = [
  ['start', start, null],
  ['end', end, null],
  [':end', start, end],
  ['+5', { type: 'after-start', count: 5 }, null],
  ['-5', { type: 'before-end', count: 5 }, null],
  ['-5:end', { type: 'before-end', count: 5 }, end],
  ['17', exact(17), null],
  ['17:', exact(17), null],
  [':17', start, exact(17)],
  ['3:17', exact(3), exact(17)],
  ['3:end', exact(3), end],
  ['@1700000000000', time(1_700_000_000_000), null],
  ['@170000000', time(170_000_000_000), null],
  ['@2022-02-14', time(Date.UTC(2022, 1, 14)), null],
  ['@2022-02-14:1h', time(Date.UTC(2022, 1, 14)), time(Date.UTC(2022, 1, 14, 1))],
  ['@2022-02-14T10:20:30Z', time(Date.UTC(2022, 1, 14, 10, 20, 30)), null],
  ['@2022-02-14T10:20:30Z:', time(Date.UTC(2022, 1, 14, 10, 20, 30)), null],
  ['@2022-02-14T10:20:30Z:2022-02-15', time(Date.UTC(2022, 1, 14, 10, 20, 30)), time(Date.UTC(2022, 1, 15))],
  ['@-48h:-24h', time(NOW - 48 * HOUR), time(NOW - 24 * HOUR)],
  ['@-1m:end', time(NOW - 60_000), end],
  ['@:-1hr', start, time(NOW - HOUR)],
]

for (const [text, from, until] of understood) {
  test(`offsets ${text}`, () => assert.deepEqual(parseOffsetRange(text, NOW), { from, until }))
}

test('what is not in the grammar is refused, not guessed', () => {
  for (const text of ['', ':', '@', '@:', 'newest', '1:2:3', '--5', '@yesterday', '5-', '1.5', '@2022-02-14:soon']) {
    assert.equal(parseOffsetRange(text, NOW), null, text)
  }
})

test('durations and moments', () => {
  assert.equal(parseDuration('1m3ms'), 60_003)
  assert.equal(parseDuration('7d'), 7 * 24 * HOUR)
  assert.equal(parseDuration('1x'), null)
  assert.equal(parseMoment('2026-01-31T12:00:00.5Z'), NOW + 500)
  assert.equal(parseMoment('2026-01-31T13:00:00+01:00'), NOW)
  assert.equal(parseMoment('31.1.2026'), null)
  assert.equal(formatDuration(90_061_000), '1d 1h')
  assert.equal(formatDuration(830), '830ms')
})
