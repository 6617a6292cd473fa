import assert from 'node:assert/strict'
import { test } from 'node:test'
import { doAll, type Outcome, type Worker } from './crew.ts'
import type { Run } from './plan.ts'

const runs: Run[] = Array.from({ length: 20 }, (_, i) => {
  return { scenario: { name: i < 10 ? 'first' : 'second', options: { seeds: 10 }, body: async () => {} }, seed: i }
})

/** Takes a turn more for each seed that is even: so outcomes come out of order. */
function worker(begun: number[]): Worker {
  return {
    async run({ seed }): Promise<Outcome> {
      begun.push(seed)
      for (let turn = 0; turn < (seed % 2 === 0 ? 5 : 1); turn++) await Promise.resolve()
      return seed === 3 ? { failure: 'three' } : { report: { seed, hash: String(seed), steps: 1, virtualMs: 1 } }
    },
    end() {},
  }
}

test('outcomes are told in the order of the runs, however many workers there are', async () => {
  for (const count of [1, 2, 7, 30]) {
    const [begun, told]: [number[], number[]] = [[], []]
    const workers = Array.from({ length: count }, () => worker(begun))
    await doAll(runs, workers, { isWanted: () => true, onOutcome: ({ seed }) => told.push(seed) })
    assert.deepEqual(told, [...runs.keys()])
    assert.deepEqual(
      begun.toSorted((a, b) => a - b),
      told,
    )
  }
})

test('what is not wanted any more is passed over, and what comes behind it is not', async () => {
  for (const count of [1, 3]) {
    const begun: number[] = []
    const workers = Array.from({ length: count }, () => worker(begun))
    let failed = ''
    await doAll(runs, workers, {
      isWanted: ({ scenario }) => scenario.name !== failed,
      onOutcome({ scenario }, outcome) {
        if ('failure' in outcome) failed = scenario.name
      },
    })
    assert.ok(!begun.includes(9))
    assert.ok(begun.includes(19))
  }
})
