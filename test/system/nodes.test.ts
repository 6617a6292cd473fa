import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Admin } from '../../src/client/admin.ts'
import { Client } from '../../src/client/client.ts'
import { nodeEnv } from '../../src/env-node/node-env.ts'
import { removeTemporary, root, temporaryDirectory } from '../support/files.ts'
import { freePorts } from '../support/ports.ts'
import { Background, run, until } from '../support/process.ts'

const env = nodeEnv({ log: { level: 'error' } })
const STARTED = { timeoutMs: 60_000, everyMs: 50 }

async function startNodes(context: TestContext, directory: string) {
  const base = await freePorts(22)
  const args = ['start', '--nodes', '3', '--data', join(directory, 'data'), '--http', 'off', '--zone', 'a,b,c']
  args.push('--listen', `127.0.0.1:${base}`, '--controller-listen', `127.0.0.1:${base + 1}`)
  const command = join(root, 'bin', 'millrace')
  const start = async () => {
    const outputFile = join(directory, 'out')
    const supervisor = new Background('nodes', command, args, { outputFile, errorFile: join(directory, 'err') })
    context.after(() => supervisor.stop())
    await until('the banner', () => (supervisor.output().includes('acks=all') ? true : null), STARTED)
    return supervisor
  }
  const client = new Client(env, { bootstrap: `127.0.0.1:${base},127.0.0.1:${base + 10}`, clientId: 'test' })
  context.after(() => client.close())
  return { start, admin: new Admin(client), base }
}

/** The process of node `name`. */
async function pidOf(directory: string, name: string): Promise<number> {
  const { stdout } = await run('pgrep', ['-f', `data ${join(directory, 'data', name)} `])
  return Number(stdout.trim().split('\n')[0])
}

function isClean(directory: string, name: string): boolean {
  return existsSync(join(directory, 'data', name, '.kafka_cleanshutdown'))
}

const NAMES = ['node-1', 'node-2', 'node-3']

test('--nodes 3: a cluster on one host, whose killed process comes back and whose stop is clean', {
  timeout: 180_000,
}, async (context) => {
  const directory = temporaryDirectory('nodes')
  context.after(() => removeTemporary(directory))
  const { start, admin, base } = await startNodes(context, directory)
  let supervisor = await start()
  assert.equal(supervisor.output().match(/clients 127\.0\.0\.1:/g)?.length, 3)
  const { brokers, clusterId } = await admin.describeCluster()
  assert.deepEqual(
    brokers.map(({ nodeId, port, rack }) => [nodeId, port - base, rack]),
    [
      [1, 0, 'a'],
      [2, 10, 'b'],
      [3, 20, 'c'],
    ],
  )
  const pid = await pidOf(directory, 'node-2')
  const shown = /node 2 +pid (\d+) /.exec(supervisor.output())?.[1]
  assert.equal(shown, String(pid), 'who wants to kill one is told which it is')
  process.kill(pid, 'SIGKILL')
  const fenced = async () => (await admin.describeCluster()).brokers.filter(({ isFenced }) => isFenced).length
  const said = () => readFileSync(join(directory, 'err'), 'utf8')
  await until(
    'it is started again',
    () => (/node-2 \| ended by SIGKILL[^]*started again/.test(said()) ? true : null),
    STARTED,
  )
  assert.match(said(), /node-2 \| started again, pid \d+/)
  await until('it serves again', async () => ((await fenced()) === 0 ? true : null), STARTED)

  assert.equal(await supervisor.stop(30_000), 0)
  for (const name of NAMES) assert.ok(isClean(directory, name), name)

  supervisor = await start()
  assert.equal((await admin.describeCluster()).clusterId, clusterId)
  // Whoever runs them dies: they end by themselves.
  await supervisor.kill()
  await until('all have ended', () => (NAMES.every((name) => isClean(directory, name)) ? true : null), STARTED)
})

test('--nodes: what is refused for one node ends all', { timeout: 60_000 }, async () => {
  const outcome = await run(join(root, 'bin', 'millrace'), [
    'start',
    '--nodes',
    '2',
    '--data',
    '/proc/x',
    '--http',
    'off',
  ])
  assert.equal(outcome.code, 3, outcome.stderr)
  assert.match(outcome.stderr, /node-1 cannot start/)
  const wrong = await run(join(root, 'bin', 'millrace'), ['start', '--nodes', 'many'])
  assert.equal(wrong.code, 2)
  assert.match(wrong.stderr, /--nodes many is not a number/)
})
