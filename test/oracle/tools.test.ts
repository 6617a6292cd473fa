import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type KafkaTool, runTool } from '../support/kafka-oracle.ts'
import { retried } from '../support/retry.ts'
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
