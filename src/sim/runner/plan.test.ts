import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Scenario } from '../scenario.ts'
import { eachScenario, mixed } from './plan.ts'

const named = (name: string, share?: number): Scenario => ({
  name,
  options: { seeds: 2, ...(share === undefined ? {} : { share }) },
  body: async () => {},
})

test('every scenario gets the seeds it asks for, or those that are asked for', () => {
  const chosen = [named('one'), named('two')]
  const text = (runs: ReturnType<typeof mixed>) => runs.map(({ scenario, seed }) => `${scenario.name} ${seed}`)
  assert.deepEqual(text(eachScenario(chosen, { first: 5, count: null })), ['one 5', 'one 6', 'two 5', 'two 6'])
  assert.deepEqual(text(eachScenario(chosen, { first: 1, count: 1 })), ['one 1', 'two 1'])
})

test('a mixed campaign runs each seed once, draws by shares, and draws the same wherever it begins', () => {
  const chosen = [named('rare'), named('swarm', 8), named('other')]
  const runs = mixed(chosen, { first: 1, count: 10_000 })
  assert.deepEqual(
    runs.map(({ seed }) => seed),
    Array.from({ length: 10_000 }, (_, i) => i + 1),
  )
  const swarms = runs.filter(({ scenario }) => scenario.name === 'swarm').length
  assert.ok(swarms > 7700 && swarms < 8300, `${swarms} of 10,000`)
  for (const name of ['rare', 'other']) assert.ok(runs.some(({ scenario }) => scenario.name === name))
  assert.deepEqual(mixed(chosen, { first: 4001, count: 500 }), runs.slice(4000, 4500))
})
