import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type KafkaTool, runTool } from '../support/kafka-oracle.ts'
import { readyTopic, retried } from '../support/retry.ts'
import { testServer } from '../support/test-server.ts'
import { skipWithout } from '../support/toolchain.ts'
import { commitOffset, findCoordinator, listOffset, produce } from '../support/wire-calls.ts'
import { makeBatch } from '../support/wire-batch.ts'

const skip = await skipWithout('kafka')

test("Kafka's own command-line tools work against a node", { skip }, async (context) => {
  const server = await testServer(context)
  const tool = async (name: KafkaTool, ...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runTool(name, ['--bootstrap-server', server.address, ...args])
    assert.equal(code, 0, `${name} ${args.join(' ')}\n${stdout}${stderr}`)
    return stdout
  }
  await tool('topics', '--create', '--topic', 'orders', '--partitions', '3', '--config', 'retention.ms=3600000')
  assert.match(await tool('topics', '--list'), /^orders$/m)
  const described = await tool('topics', '--describe', '--topic', 'orders')
  assert.match(described, /PartitionCount: 3\s+ReplicationFactor: 1\s+Configs: .*retention\.ms=3600000/)
  assert.equal(described.match(/Leader: 1\s/g)?.length ?? described.match(/Leader: \d+/g)?.length, 3)
  await tool('topics', '--alter', '--topic', 'orders', '--partitions', '4')

  await tool('configs', '--alter', '--topic', 'orders', '--add-config', 'max.message.bytes=2000000')
  assert.match(await tool('configs', '--describe', '--topic', 'orders'), /max\.message\.bytes=2000000/)

  const batch = makeBatch([{ value: Buffer.from('a') }, { value: Buffer.from('b') }, { value: Buffer.from('c') }])
  await retried(server.address, (wire) => produce(wire, { topic: 'orders', partition: 1, batch }))
  assert.match(await tool('get-offsets', '--topic', 'orders'), /^orders:1:3$/m)

  await retried(server.address, (wire) => findCoordinator(wire, 'readers'))
  await retried(server.address, (wire) =>
    commitOffset(wire, { group: 'readers', topic: 'orders', partition: 1, offset: 1 }),
  )
  assert.match(await tool('consumer-groups', '--list'), /^readers$/m)
  assert.match(await tool('consumer-groups', '--describe', '--group', 'readers'), /readers\s+orders\s+1\s+1\s+3\s+2/)
  await tool(
    'consumer-groups',
    '--reset-offsets',
    '--group',
    'readers',
    '--topic',
    'orders',
    '--to-earliest',
    '--execute',
  )
  assert.match(await tool('consumer-groups', '--describe', '--group', 'readers'), /readers\s+orders\s+1\s+0\s+3\s+3/)

  const file = join(server.dataDirectory, '..', 'delete.json')
  writeFileSync(file, JSON.stringify({ partitions: [{ topic: 'orders', partition: 1, offset: 2 }], version: 1 }))
  await tool('delete-records', '--offset-json-file', file)
  const earliest = await retried(server.address, (wire) =>
    listOffset(wire, { topic: 'orders', partition: 1, timestamp: -2 }),
  )
  assert.equal(earliest, 2)

  assert.match(await tool('log-dirs', '--describe', '--topic-list', 'orders'), /"partition":"orders-1"/)
  assert.match(await tool('metadata-quorum', 'describe', '--status'), /LeaderId:\s+\d+/)
  const versions = await tool('broker-api-versions')
  assert.match(versions, /Produce\(0\): 0 to 13/)
  if (server.kind === 'millrace')
    assert.doesNotMatch(versions, /ShareFetch\(78\): \d/, 'what is not served is not advertised')
  await tool('topics', '--delete', '--topic', 'orders')
  assert.doesNotMatch(await tool('topics', '--list'), /^orders$/m)
})

test("Kafka's verifiable clients, its offset resets and its feature tool work against a node", {
  skip,
}, async (context) => {
  const server = await testServer(context)
  const tool = async (name: KafkaTool, args: string[], expectedCode = 0): Promise<string> => {
    const { code, stdout, stderr } = await runTool(name, ['--bootstrap-server', server.address, ...args])
    assert.equal(code, expectedCode, `${name} ${args.join(' ')}\n${stdout}${stderr}`)
    return stdout
  }
  await readyTopic(server.address, 'numbers', 1)
  assert.match(
    await tool('verifiable-producer', ['--topic', 'numbers', '--max-messages', '20']),
    /"sent":20,"acked":20/,
  )
  const consumed = await tool('verifiable-consumer', [
    ...['--topic', 'numbers', '--group-id', 'counters', '--max-messages', '20', '--verbose'],
    ...['--assignment-strategy', 'org.apache.kafka.clients.consumer.CooperativeStickyAssignor'],
  ])
  assert.deepEqual(
    [...consumed.matchAll(/"name":"record_data".*"value":"(\d+)"/g)].map(([, value]) => Number(value)),
    Array.from({ length: 20 }, (_, n) => n),
  )
  const reset = ['--reset-offsets', '--group', 'counters', '--topic', 'numbers']
  for (const [how, offset] of [
    [['--to-offset', '7'], 7],
    [['--shift-by', '3'], 10],
    [['--by-duration', 'PT1H'], 0],
    [['--to-datetime', '2999-01-01T00:00:00.000'], 20],
  ] as const) {
    const shown = await tool('consumer-groups', [...reset, ...how, '--execute'])
    assert.match(shown, new RegExp(`counters\\s+numbers\\s+0\\s+${offset}\\s`), how.join(' '))
  }
  await tool('consumer-groups', ['--delete-offsets', '--group', 'counters', '--topic', 'numbers'])
  await tool('consumer-groups', ['--delete', '--group', 'counters'])
  assert.doesNotMatch(await tool('consumer-groups', ['--list']), /counters/)

  await tool('leader-election', ['--election-type', 'preferred', '--topic', 'numbers', '--partition', '0'])
  assert.match(await tool('features', ['describe']), /metadata\.version\s+.*FinalizedVersionLevel: 4\.4-IV2/)
  // What newer records say would be lost.
  const refused = await tool('features', ['downgrade', '--feature', 'metadata.version=20'], 1)
  assert.match(refused, /Refusing to perform the requested downgrade/)
})
