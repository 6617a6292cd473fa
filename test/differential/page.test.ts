import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../support/files.ts'
import { differencesPage, PAGE } from './page.ts'

test('docs/differences.md is what the table says (npm run differential -- --page writes it)', () => {
  assert.equal(readFileSync(join(root, PAGE), 'utf8'), differencesPage())
})
