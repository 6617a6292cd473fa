import assert from 'node:assert/strict'
import fs from 'node:fs'
import { test } from 'node:test'
import { MUTANTS, mutantNamed } from './all.ts'
import { hunt } from './hunt.ts'
import { mutated } from './mutant.ts'

const SOURCES = new URL('../../src/', import.meta.url)

// A line of the product that a mutant names was changed: the mutant has to be written anew, in the folder of this test.
test('every mutant finds the text that it changes', () => {
  for (const mutant of MUTANTS) {
    for (const file of new Set(mutant.edits.map((edit) => edit.file))) {
      const source = fs.readFileSync(new URL(file, SOURCES), 'utf8')
      assert.notEqual(mutated(source, file, mutant), source)
    }
  }
})

test('mutants have names of their own', () => {
  assert.equal(new Set(MUTANTS.map(({ name }) => name)).size, MUTANTS.length)
})

/** Found within a few seeds of a scenario that takes little time: whether mutants are found at all. */
const QUICK = ['directory not synced', 'count old-term entries', 'tombstone early']

for (const name of QUICK) {
  test(`the simulator notices: ${name}`, async () => {
    const { seeds, seedsMax } = await hunt(mutantNamed(name), { seedsMax: 10, jobs: 1 })
    assert.ok(seeds !== null, `not within ${seedsMax} seeds`)
  })
}
