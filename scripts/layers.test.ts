import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkImport, importsOf } from './layers.ts'
import { codeOnly } from './tidy.ts'

test('imports go downward only, and never across a level', () => {
  assert.equal(checkImport('src/protocol/codec.ts', '../base/bytes.ts'), null)
  assert.match(checkImport('src/base/bytes.ts', '../protocol/codec.ts') ?? '', /upward/)
  assert.match(checkImport('src/replica/manager.ts', '../quorum/driver.ts') ?? '', /same level/)
  assert.match(checkImport('src/protocol/codec.ts', '../env/env.ts') ?? '', /may import only/)
  assert.match(checkImport('src/server/node.ts', 'node:net') ?? '', /env-node/)
  assert.match(checkImport('src/env-node/net.ts', 'net') ?? '', /node:net/)
  assert.match(checkImport('src/server/node.ts', '../testing/temp-dir.ts') ?? '', /only tests/)
  assert.equal(checkImport('src/server/node.test.ts', '../testing/temp-dir.ts'), null)
  assert.equal(checkImport('src/env-node/net.ts', 'node:net'), null)
  assert.match(checkImport('src/server/node.ts', '../../scripts/layers.ts') ?? '', /outside src/)
})

test('imports of every form are seen, with their lines', () => {
  const source = [
    "import a from './a.ts'",
    'import {',
    '  b,',
    "} from './b.ts'",
    "export { c } from './c.ts'",
    "const d = await import('./d.ts')",
    "import './e.ts'",
    "import type { F } from './f.ts'",
  ].join('\n')
  assert.deepEqual(
    importsOf(source).map(({ specifier }) => specifier),
    ['./a.ts', './b.ts', './c.ts', './d.ts', './e.ts', './f.ts'],
  )
})

test('words in comments and strings are not code', () => {
  const code = codeOnly("// await nothing\nconst text = 'new Date()' /* async */\nreturn await x\n")
  assert.equal(code.match(/await|async|Date/g)?.join(), 'await')
})
