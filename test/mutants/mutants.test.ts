import assert from 'node:assert/strict'
import fs from 'node:fs'
import { test } from 'node:test'
import { MUTANTS } from './all.ts'
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
