import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeConfig } from '../../server/config/node-config.ts'
import { resolveSettings } from '../../server/config/settings.ts'
import type { StartFlags } from './command.ts'
import { planNodes, withoutJoin } from './nodes-plan.ts'
import { readSettings } from './read-settings.ts'

async function planned(count: number, flags: StartFlags) {
  const { settings } = await readSettings(flags, {})
  const { config } = nodeConfig(resolveSettings(settings).settings)
  return planNodes(count, flags, config).map(({ args }) => args.join(' '))
}

test('each node gets a folder of its own, ports ten above those of the one before, zones in turn', async () => {
  assert.deepEqual(await planned(3, { data: '/d', zone: 'a,b', http: '127.0.0.1:9644' }), [
    '--data /d/node-1 -o listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093 --http 127.0.0.1:9644 --zone a --join 127.0.0.1:9102,127.0.0.1:9112',
    '--data /d/node-2 -o listeners=PLAINTEXT://127.0.0.1:9102,CONTROLLER://127.0.0.1:9103 --http 127.0.0.1:9654 --zone b --join 127.0.0.1:9092,127.0.0.1:9112',
    '--data /d/node-3 -o listeners=PLAINTEXT://127.0.0.1:9112,CONTROLLER://127.0.0.1:9113 --http 127.0.0.1:9664 --zone a --join 127.0.0.1:9092,127.0.0.1:9102',
  ])
})

test('what was said for one holds for all, its place in a cluster included', async () => {
  const [, second] = await planned(2, {
    data: '/d',
    http: 'off',
    nodeId: '5',
    join: 'elsewhere:9092',
    advertise: 'here:9092',
    option: ['num.partitions=3'],
    roles: 'broker',
  })
  assert.equal(
    second,
    '-o num.partitions=3 --roles broker --data /d/node-2 -o listeners=PLAINTEXT://127.0.0.1:9102,CONTROLLER://127.0.0.1:9103 ' +
      '--http off -o advertised.listeners=PLAINTEXT://here:9102 --node-id 6 --join elsewhere:9092',
  )
})

test('free ports stay free ports, and the first of a new cluster joins nobody', async () => {
  const [first] = await planned(2, { data: '/d', listen: '127.0.0.1:0', http: '127.0.0.1:0' })
  assert.match(first ?? '', /PLAINTEXT:\/\/127\.0\.0\.1:0,.* --http 127\.0\.0\.1:0/)
  assert.deepEqual(withoutJoin(['--a', '--join', 'x:1', '-o', 'b=c']), ['--a', '-o', 'b=c'])
  assert.deepEqual(withoutJoin(['--a']), ['--a'])
})
