import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulate } from '../sim/sim.ts'
import { batchOf, fetchRequest, ReplicaNode } from '../testing/replica-node.ts'
import { AnswerBudget } from './answer-budget.ts'
import type { RequestContext } from './types.ts'

const MIB = 1024 ** 2

test('a quarter of what is free is given at a time, never less than a mebibyte, and nothing when that is not free', () => {
  const budget = new AnswerBudget(16 * MIB)
  assert.equal(budget.reserve(100 * MIB), 4 * MIB)
  assert.equal(budget.reserve(100 * MIB), 3 * MIB)
  assert.equal(budget.reserve(1000), 1000)
  budget.hold(8 * MIB)
  assert.equal(budget.reserve(100 * MIB), 0)
  assert.equal(budget.reserve(1000), 1000)
  budget.release(8 * MIB)
  assert.ok(budget.reserve(100 * MIB) > 0)
})

test('fetches of clients that do not read hold no more than the budget; the others wait and are answered in their order', () =>
  simulate({ seed: 4 }, async (sim) => {
    const answers = new AnswerBudget(4 * MIB)
    const storage = { tailBytesPerLogMax: 100_000 }
    const node = await ReplicaNode.start(sim.addMachine('one').boot().env, { answers, storage })
    await node.createTopic('a')
    for (let n = 0; n < 40; n++) await node.produce('a', batchOf(['x'.repeat(200_000)]))
    const answered: number[] = []
    const contexts: RequestContext[] = []
    for (let n = 0; n < 12; n++) {
      const context = node.context(12)
      contexts.push(context)
      const fetched = node.replicas.fetch(fetchRequest([['a', {}]], { maxWaitMs: 60_000 }), context)
      void Promise.resolve(fetched).then(() => answered.push(n))
    }
    await sim.runFor(1000)
    assert.ok(answered.length > 1 && answered.length < 6, `${answered.length} were answered`)
    assert.ok(answers.heldBytes <= 5 * MIB, `${answers.heldBytes} bytes are held`)
    assert.equal(answers.waiting, 12 - answered.length)
    const firstCount = answered.length
    // One that nobody waits for any more does not take room.
    contexts[11]?.abandoned?.()
    for (let sent = 0; sent < 11; sent++) {
      await sim.runFor(100)
      answers.release(contexts[sent]?.heldBytes as number)
    }
    await sim.runFor(100)
    // Those that found room at once are read side by side.
    const first = answered.slice(0, firstCount).sort((a, b) => a - b)
    assert.deepEqual([...first, ...answered.slice(firstCount)], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    assert.equal(answers.heldBytes, 0)
    assert.equal(answers.waiting, 0)
  }).then(() => undefined))

test('a fetch that waits for room is answered without records when its time is over', () =>
  simulate({ seed: 4 }, async (sim) => {
    const answers = new AnswerBudget(MIB)
    const node = await ReplicaNode.start(sim.addMachine('one').boot().env, { answers })
    await node.createTopic('a')
    await node.produce('a', batchOf(['x']))
    answers.hold(MIB)
    const fetched = await node.fetch('a', { maxWaitMs: 500, maxBytes: 50 * MIB })
    assert.deepEqual([fetched.errorCode, fetched.highWatermark, fetched.records], [0, 1, []])
    answers.release(MIB)
    assert.equal((await node.fetch('a', { maxWaitMs: 500 })).records?.length, 1)
  }).then(() => undefined))
