import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Admin } from './client.ts'
import { MemoryBroker } from './memory-broker.ts'

test('the configs of a broker can be the first thing that a client asks for', async () => {
  await using broker = await MemoryBroker.start()
  await using asking = new Admin(broker.bootstrapServers)
  const { brokers } = await asking.describeCluster()
  await using fresh = new Admin(broker.bootstrapServers)
  const [described] = await fresh.describeConfigs([{ kind: 'broker', name: String(brokers[0]?.nodeId) }])
  assert.ok(described?.configs.some(({ name }) => name === 'num.partitions'))
})
