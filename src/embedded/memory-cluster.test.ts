import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from '../client/client.ts'
import { Consumer } from '../client/consumer.ts'
import { Producer } from '../client/producer.ts'
import { nodeEnv } from '../env-node/node-env.ts'
import { MemoryCluster } from './memory-cluster.ts'
import { millisecondsOf } from './steered-clock.ts'

const TOPIC = 'orders'
const READ_WITHIN_MS = 60_000

function clientOf(cluster: MemoryCluster): Client {
  return new Client(nodeEnv({ log: { level: 'error' } }), { bootstrap: cluster.bootstrapServers })
}

async function produce(producer: Producer, from: number, to: number): Promise<void> {
  const sending = []
  for (let i = from; i < to; i++) sending.push(producer.send({ topic: TOPIC, partition: 0, value: `order ${i}` }))
  await Promise.all(sending)
}

/** All values of partition 0, from its first record on. */
async function read(client: Client, count: number): Promise<string[]> {
  const consumer = new Consumer(client, { autoOffsetReset: 'earliest' })
  consumer.assign([{ topic: TOPIC, partition: 0 }])
  const values: string[] = []
  const untilMs = performance.now() + READ_WITHIN_MS
  while (values.length < count) {
    assert.ok(performance.now() < untilMs, `${values.length} of ${count} records within ${READ_WITHIN_MS} ms`)
    for (const { value } of await consumer.poll(1000)) values.push(String(value))
  }
  await consumer.close()
  return values
}

const orders = (count: number) => Array.from({ length: count }, (_, i) => `order ${i}`)

test('a cluster in memory outlives its leader, which comes back with what it had', async () => {
  await using cluster = await MemoryCluster.start({ nodes: 3, zones: 3 })
  await cluster.createTopic(TOPIC, { partitions: 1, replicationFactor: 3, configs: { 'min.insync.replicas': '2' } })
  const client = clientOf(cluster)
  const producer = new Producer(client)
  await produce(producer, 0, 100)
  const leader = cluster.leaderOf(TOPIC, 0)
  const sending = produce(producer, 100, 200)
  await leader.kill()
  await sending
  assert.notEqual(cluster.leaderOf(TOPIC, 0), leader)
  assert.deepEqual(await read(client, 200), orders(200))
  await leader.start()
  await cluster.settled()
  for (const other of cluster.nodes.filter((node) => node !== leader)) await other.stop()
  await client.close()
})

test('a node that stands still leads no more, and goes on', { timeout: 60_000 }, async () => {
  await using cluster = await MemoryCluster.start({
    nodes: 3,
    settings: {
      'broker.session.timeout.ms': '500',
      'broker.heartbeat.interval.ms': '100',
      'controller.quorum.fetch.timeout.ms': '500',
    },
  })
  await cluster.createTopic(TOPIC, { partitions: 1, replicationFactor: 3, configs: { 'min.insync.replicas': '2' } })
  const client = clientOf(cluster)
  const producer = new Producer(client)
  await produce(producer, 0, 10)
  const leader = cluster.leaderOf(TOPIC, 0)
  leader.pause()
  while (cluster.leaderOf(TOPIC, 0) === leader) await new Promise((resolve) => setTimeout(resolve, 20))
  leader.resume()
  await cluster.settled()
  await produce(producer, 10, 20)
  assert.deepEqual(await read(client, 20), orders(20))
  await client.close()
})

test('what retention removes is gone when its time has come, and not before', async () => {
  await using cluster = await MemoryCluster.start({ settings: { 'log.retention.ms': String(millisecondsOf('1d')) } })
  await cluster.createTopic(TOPIC, { partitions: 1 })
  const client = clientOf(cluster)
  const producer = new Producer(client)
  await produce(producer, 0, 10)
  await cluster.clock.advance('23h')
  assert.deepEqual(await read(client, 10), orders(10))
  await cluster.clock.advance('2h')
  // By the clock of whoever sends it, it would be a day old, and gone with the next look.
  await producer.send({ topic: TOPIC, partition: 0, value: 'order 10', timestampMs: cluster.clock.now().getTime() })
  assert.deepEqual(await read(client, 1), ['order 10'])
  await client.close()
})

test('nothing is left of a cluster that was closed', async () => {
  const cluster = await MemoryCluster.start()
  const client = clientOf(cluster)
  await cluster.close()
  await assert.rejects(client.refresh(), /connect|refused/i)
  await client.close()
})

test('a duration is a number of milliseconds, or a number with its unit', () => {
  assert.equal(millisecondsOf('7d'), 604_800_000)
  assert.equal(millisecondsOf('1.5s'), 1500)
  assert.equal(millisecondsOf(20), 20)
  assert.throws(() => millisecondsOf('soon' as '1s'), /'soon' is no duration/)
})
