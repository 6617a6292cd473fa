import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RetentionClock } from './retention-clock.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

test('a jump that somebody made on purpose is believed at once', () => {
  let moved = 0
  const clock = new RetentionClock({ wallMs: () => HOUR + moved, monotonicMs: () => 0, movedMs: () => moved })
  moved = 24 * HOUR
  assert.equal(clock.nowMs(), 25 * HOUR)
})

test('a jump forward is believed only after an hour, one back at once', () => {
  let wall = 1_000_000_000
  let monotonic = 0
  const clock = new RetentionClock({ wallMs: () => wall, monotonicMs: () => monotonic })
  const pass = (ms: number) => {
    wall += ms
    monotonic += ms
    return clock.nowMs()
  }
  assert.equal(pass(5 * MINUTE), wall)
  const before = wall
  wall += 3650 * 24 * HOUR
  assert.equal(pass(5 * MINUTE), before + 5 * MINUTE)
  assert.equal(pass(30 * MINUTE), before + 35 * MINUTE)
  wall -= 3650 * 24 * HOUR
  assert.equal(pass(5 * MINUTE), wall, 'it was a mistake and is over')
  wall += 2 * HOUR
  const jumped = pass(5 * MINUTE)
  assert.ok(jumped < wall)
  assert.equal(pass(HOUR), wall, 'it has lasted')
  wall -= HOUR
  assert.equal(pass(MINUTE), wall)
})
