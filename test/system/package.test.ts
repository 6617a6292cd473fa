import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { removeTemporary, root, temporaryDirectory } from '../support/files.ts'
import { Background, run, runOrFail, until } from '../support/process.ts'

/** What a project needs for the examples, beside the package itself; as this project has them. */
const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  devDependencies: Record<string, string>
}
/** Another hundred packages, from the network: where everything is wanted. */
const vitest = process.env.MILLRACE_REQUIRE_TOOLS === '1' ? ['vitest@5.1.2'] : []
const tools = [...['typescript', '@types/node'].map((name) => `${name}@${devDependencies[name]}`), ...vitest]

/** The programs in docs/embedding.md, by the names that their first lines give them. */
function examples(): Map<string, string> {
  const text = readFileSync(join(root, 'docs', 'embedding.md'), 'utf8')
  return new Map(
    [...text.matchAll(/```[jt]s\n\/\/ (\S+)\n([\s\S]*?)```/g)].map(([, name, code]) => [name ?? '', code ?? '']),
  )
}

/** An empty project, with the package as it would be published. */
async function project(directory: string): Promise<void> {
  await runOrFail('npm', ['pack', '--silent', '--pack-destination', directory], { cwd: root, timeoutMs: 120_000 })
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ name: 'app', private: true, type: 'module' }))
  const install = ['install', '--prefer-offline', '--no-audit', '--no-fund', './millrace-0.1.0.tgz', ...tools]
  await runOrFail('npm', install, { cwd: directory, timeoutMs: 240_000 })
}

test('the packed package serves in an empty project, and its documented examples compile and run', async (context) => {
  const cwd = temporaryDirectory('package')
  context.after(() => removeTemporary(cwd))
  await project(cwd)
  const programs = examples()
  assert.deepEqual([...programs.keys()], ['orders-test.ts', 'orders.spec.ts', 'keep.mjs'])
  for (const [name, code] of programs) writeFileSync(join(cwd, name), code)

  const tsc = ['tsc', '--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--types', 'node']
  await runOrFail('npx', [...tsc, '--lib', 'es2024,esnext.disposable', 'orders-test.ts'], { cwd })
  const node = join(cwd, 'node_modules', '.bin', 'node')
  // Not as a part of the test that runs it. It finds its own of the two programs, and vitest the other one.
  const args = ['-u', 'NODE_TEST_CONTEXT', node, '--test', '--test-reporter=tap']
  const tested = await run('env', args, { cwd, timeoutMs: 60_000 })
  assert.equal(tested.code, 0, tested.stdout)
  assert.match(tested.stdout, /# pass 2\n/)
  if (vitest.length > 0) await runOrFail('npx', ['vitest', 'run'], { cwd, timeoutMs: 60_000 })
  for (const offset of [0, 1]) assert.equal(await runOrFail(node, ['keep.mjs'], { cwd }), `kept at offset ${offset}\n`)

  const listen = ['--listen', '127.0.0.1:0', '--controller-listen', '127.0.0.1:0', '--http', 'off']
  const server = new Background(
    'packaged',
    join(cwd, 'node_modules', '.bin', 'millrace'),
    ['start', '--data', join(cwd, 'data'), ...listen],
    { outputFile: join(cwd, 'out') },
  )
  context.after(() => server.stop())
  await until('the packaged node serves', () => (server.output().includes('acks=all') ? true : null), {
    timeoutMs: 60_000,
    everyMs: 50,
  })
})
