import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ManualEnv } from '../testing/manual-env.ts'
import { AckQueue } from './ack-queue.ts'
import { Deadlines, type Expiring } from './deadlines.ts'

test('waits are answered in order of offset, each once, however they come and go', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('add' as const), offset: fc.nat(50) }),
    fc.record({ kind: fc.constant('reached' as const), offset: fc.nat(60) }),
    fc.record({ kind: fc.constant('remove' as const), offset: fc.nat(50) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const queue = new AckQueue()
      let waiting: { waitOffset: number; acked(code: number): void; answers: number[] }[] = []
      for (const { kind, offset } of steps) {
        if (kind === 'add') {
          const answers: number[] = []
          const wait = { waitOffset: offset, answers, acked: (code: number) => void answers.push(code) }
          waiting.push(wait)
          queue.add(wait)
        } else if (kind === 'reached') {
          queue.reached(offset, 7)
          for (const wait of waiting) assert.deepEqual(wait.answers, wait.waitOffset <= offset ? [7] : [])
          waiting = waiting.filter(({ answers }) => answers.length === 0)
        } else {
          const gone = waiting.find(({ waitOffset }) => waitOffset === offset)
          if (gone !== undefined) queue.remove(gone)
          waiting = waiting.filter((wait) => wait !== gone)
        }
        assert.equal(queue.size, waiting.length)
      }
      queue.fail(6)
      for (const { answers } of waiting) assert.deepEqual(answers, [6])
      assert.equal(queue.size, 0)
    }),
  )
})

test('a deadline passes once, not before its time and little after; one that was removed never', async () => {
  const manual = new ManualEnv()
  const deadlines = new Deadlines(manual.env.clock, manual.env.timers)
  const passed: [number, number][] = []
  const start = manual.env.clock.monotonicMs()
  const items = [0, 1, 5, 30, 30, 31, 500, 2 ** 31].map((afterMs) => {
    const item: Expiring = {
      deadlineSlot: 0,
      expired: () => void passed.push([afterMs, manual.env.clock.monotonicMs() - start]),
    }
    deadlines.add(item, afterMs)
    return item
  })
  deadlines.remove(items[4] as Expiring)
  await manual.advance(1000)
  assert.deepEqual(
    passed.map(([asked]) => asked),
    [0, 1, 5, 30, 31, 500],
  )
  for (const [asked, took] of passed) assert.ok(took >= asked && took <= asked + 20, `${asked} took ${took}`)
  deadlines.close()
  assert.equal(manual.armed, 0)
})
