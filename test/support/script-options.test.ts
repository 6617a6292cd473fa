import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from './files.ts'
import { run } from './process.ts'

const script = (...args: string[]) => run(process.execPath, [join(root, 'test', 'crash', 'main.ts'), ...args])

test('a script says how it is used, and refuses what it does not know', async () => {
  const help = await script('kill', '--help')
  assert.equal(help.code, 0)
  assert.match(help.stdout, /npm run kill -- \[--cycles 300\]/)
  const unknown = await script('kill', '--cycle', '3')
  assert.equal(unknown.code, 2)
  assert.match(unknown.stderr, /^Unknown option '--cycle'.*\n$/)
  const senseless = await script('kill', '--cycles', 'many')
  assert.equal(senseless.code, 2)
  assert.equal(senseless.stderr, '--cycles many: not a number from 0 on (--help lists them)\n')
})
