import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeTimers } from './timers.ts'

test('a timer never fires before its time, not even when it was set late in a long turn', async () => {
  const start = performance.now()
  while (performance.now() - start < 30);
  const set = performance.now()
  await new Promise<void>((resolve) => nodeTimers.after(20, resolve))
  assert.ok(performance.now() - set >= 20)
})

test('a delay of 0 runs later, in the order given, and a cancelled timer not at all', async () => {
  const order: string[] = []
  nodeTimers.after(0, () => order.push('first'))
  nodeTimers.after(0, () => order.push('cancelled')).cancel()
  const cancelled = nodeTimers.after(5, () => order.push('cancelled too'))
  nodeTimers.after(1, () => cancelled.cancel())
  nodeTimers.after(0, () => order.push('second'))
  order.push('now')
  await new Promise<void>((resolve) => nodeTimers.after(15, resolve))
  cancelled.cancel()
  assert.deepEqual(order, ['now', 'first', 'second'])
})

test('a delay beyond what Node can count waits instead of firing at once', async () => {
  let fired = false
  const timer = nodeTimers.after(2 ** 40, () => {
    fired = true
  })
  await new Promise<void>((resolve) => nodeTimers.after(10, resolve))
  timer.cancel()
  assert.equal(fired, false)
})
