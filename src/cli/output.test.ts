import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { table } from './output.ts'

test('a table of very many rows is printed', () => {
  const rows = Array.from({ length: 200_000 }, (_, index) => ['group', index])
  assert.equal(table(['NAME', 'LAG'], rows).at(-1), 'group  199999')
})

test('an output that cannot be written is said in one line, and the command has failed', (context) => {
  const full = openSync('/dev/full', 'w')
  context.after(() => closeSync(full))
  const main = join(import.meta.dirname, 'main.ts')
  const { status, stderr } = spawnSync(process.execPath, [main, 'completion', 'bash'], {
    stdio: ['ignore', full, 'pipe'],
    encoding: 'utf8',
  })
  assert.equal(status, 1)
  assert.match(stderr, /^millrace: the output cannot be written: .*ENOSPC.*\n$/)
})
