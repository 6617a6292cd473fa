import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Knobs } from './knobs.ts'
import { shrink } from './shrink.ts'

const ITEMS = Array.from({ length: 20 }, (_, index) => index)

/** A scenario that fails when `condition` holds. */
function failing(condition: (faults: readonly number[], producers: number) => boolean) {
  let runs = 0
  const attempt = async (given: ReadonlyMap<string, string>): Promise<Knobs | null> => {
    runs++
    const knobs = new Knobs(given)
    return condition(knobs.list('faults', ITEMS), knobs.number('producers', 8, 1)) ? knobs : null
  }
  return { attempt, runs: () => runs }
}

test('only what is needed to fail is left', async () => {
  const { attempt } = failing((faults, producers) => faults.includes(3) && faults.includes(17) && producers >= 2)
  const first = await attempt(new Map())
  assert.ok(first)
  const smallest = await shrink(first, attempt, 200)
  assert.deepEqual(Object.fromEntries(smallest), { faults: '3,17', producers: '2' })
})

test('a run that fails whatever is left out needs nothing', async () => {
  const { attempt } = failing(() => true)
  const smallest = await shrink((await attempt(new Map())) as Knobs, attempt, 200)
  assert.deepEqual(Object.fromEntries(smallest), { faults: '', producers: '1' })
})

test('it stops after as many runs as it was given', async () => {
  const { attempt, runs } = failing((faults) => faults.length === ITEMS.length)
  await shrink((await attempt(new Map())) as Knobs, attempt, 10)
  assert.equal(runs(), 11)
})
