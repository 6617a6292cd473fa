import assert from 'node:assert/strict'
import { test } from 'node:test'
import { durationMs, momentMs } from './times.ts'

test('times and durations are ISO 8601 as Java reads it', () => {
  const noon = Date.UTC(2026, 0, 31, 12)
  for (const text of ['2026-01-31T12:00:00.000', '2026-01-31T12:00:00.000Z', '2026-01-31T14:00:00.000+02:00'])
    assert.equal(momentMs(text), noon, text)
  assert.throws(() => momentMs('2026-01-31'), /It does not contain a 'T'/)
  assert.throws(() => momentMs('2026-01-31T12:00'), /Unparseable date/)
  assert.equal(durationMs('PT1H'), 3_600_000)
  assert.equal(durationMs('P1DT2H3M4.5S'), 93_784_500)
  assert.equal(durationMs('-PT1S'), -1000)
  for (const text of ['1h', 'P', 'PT', 'P1Y']) assert.throws(() => durationMs(text), /cannot be parsed to a Duration/)
})
