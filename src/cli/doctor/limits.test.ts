import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkClock, checkDescriptors, checkMemory, checkSpace, checkSync } from './limits.ts'

const MIB = 1024 ** 2

test('limits are judged by what a node needs', () => {
  const statusOf = (limits: readonly number[], check: (about: string, limit: number) => { status: string }) =>
    limits.map((limit) => check('node 1', limit).status)
  assert.deepEqual(statusOf([64, 1024, 4096], checkDescriptors), ['fail', 'warn', 'ok'])
  assert.deepEqual(statusOf([64 * MIB, 256 * MIB, 1024 * MIB], checkMemory), ['fail', 'warn', 'ok'])
  const space = (freeBytes: number, isFull = false) => checkSpace('x', { totalBytes: 1000, freeBytes, isFull }).status
  assert.deepEqual([space(10), space(50), space(500), space(500, true)], ['fail', 'warn', 'ok', 'fail'])
  const sync = (p50Ms: number, p99Ms: number) => checkSync('x', { count: 1, p50Ms, p99Ms }).status
  assert.deepEqual([sync(0.4, 5), sync(20, 30), sync(1, 200)], ['ok', 'warn', 'warn'])
})

test('a clock counts as wrong only as far as the answer was fast enough to tell', () => {
  const clock = (offsetMs: number, withinMs: number) => checkClock('node 1', 'ours', { offsetMs, withinMs })
  assert.equal(clock(1500, 2000).text, 'its clock agrees with ours, within 2000 ms')
  assert.equal(clock(1500, 600).status, 'ok')
  assert.equal(clock(-1500, 10).status, 'warn')
  assert.equal(clock(-1500, 10).text, 'its clock is 1500 ms behind ours (± 10 ms)')
  assert.equal(clock(61_100, 10).status, 'fail')
})

test('whatever is not well comes with what to do', () => {
  for (const finding of [
    checkDescriptors('x', 1),
    checkMemory('x', 1),
    checkSpace('x', { totalBytes: 1, freeBytes: 0, isFull: false }),
    checkSync('x', { count: 1, p50Ms: 1000, p99Ms: 1000 }),
    checkClock('x', 'y', { offsetMs: 1e9, withinMs: 1 }),
  ]) {
    assert.ok((finding.advice ?? '').length > 10, finding.check)
  }
})
