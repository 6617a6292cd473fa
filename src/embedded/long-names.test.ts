import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check, Client } from '../client/client.ts'
import { Consumer } from '../client/consumer.ts'
import { nodeEnv } from '../env-node/node-env.ts'
import { DescribeGroups } from '../protocol/apis/describe-groups.ts'
import { IncrementalAlterConfigs } from '../protocol/apis/incremental-alter-configs.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { MemoryBroker } from './memory-broker.ts'

/** The longest text that a request carries. */
const LONG = 'x'.repeat(32_767)

test('an error about a name of 32 KB has no room for the name, and the node goes on', async () => {
  await using broker = await MemoryBroker.start()
  const client = new Client(nodeEnv({ log: { level: 'error' } }), { bootstrap: broker.bootstrapServers })
  await broker.createTopic('t')
  // The topic of the groups comes into being with the first question.
  await client.retry('coordinator', () => client.findCoordinator(LONG))
  await client.retry('groups', async () => {
    const { groups } = await client.request('any', DescribeGroups, { groups: [LONG] })
    check(groups[0]?.errorCode === ErrorCode.GROUP_ID_NOT_FOUND ? 0 : (groups[0]?.errorCode ?? 0), 'groups')
  })
  const { groups } = await client.request('any', DescribeGroups, { groups: [LONG] })
  assert.match(String(groups[0]?.errorMessage), /^Group x{390,} … x{380,} not found\.$/)
  const configs = [{ name: 'retention.ms', configOperation: 0, value: LONG }]
  const resources = [{ resourceType: 2, resourceName: 't', configs }]
  const { responses } = await client.request('any', IncrementalAlterConfigs, { resources, validateOnly: false })
  assert.match(String(responses[0]?.errorMessage), /^Invalid value x+ … x+ for configuration retention\.ms/)
  await client.close()
})

test('a member whose client and group have names of 32 KB joins and reads', async () => {
  await using broker = await MemoryBroker.start()
  await broker.produce('t', ['a'])
  const options = { bootstrap: broker.bootstrapServers, clientId: LONG }
  const client = new Client(nodeEnv({ log: { level: 'error' } }), options)
  const consumer = new Consumer(client, { groupId: LONG, autoOffsetReset: 'earliest' })
  consumer.subscribe(['t'])
  const [record] = await consumer.poll(10_000)
  assert.equal(String(record?.value), 'a')
  await consumer.close()
  await client.close()
})
