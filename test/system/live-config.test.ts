import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Admin } from '../../src/client/admin.ts'
import { Client } from '../../src/client/client.ts'
import { Producer } from '../../src/client/producer.ts'
import { nodeEnv } from '../../src/env-node/node-env.ts'
import { until } from '../support/process.ts'
import { readyTopic, retried } from '../support/retry.ts'
import type { Server } from '../support/server.ts'
import { testServer } from '../support/test-server.ts'
import { makeBatch } from '../support/wire-batch.ts'
import { createTopic, fetch, listOffset, produce } from '../support/wire-calls.ts'
import { Wire } from '../support/wire.ts'

const env = nodeEnv({ log: { level: 'error' } })
const MESSAGE_TOO_LARGE = 10
const NOW_MS = Date.now()

async function withAdmin(context: TestContext): Promise<{ server: Server; client: Client; admin: Admin }> {
  const server = await testServer(context, {
    config: { 'log.retention.check.interval.ms': '500', 'log.initial.task.delay.ms': '100' },
  })
  const client = new Client(env, { bootstrap: server.address, clientId: 'test' })
  context.after(() => client.close())
  return { server, client, admin: new Admin(client) }
}

const set = (name: string, value: string) => ({ name, operation: 'set' as const, value })
const unset = (name: string) => ({ name, operation: 'delete' as const })

function send({ address }: Server, topic: string, value: string, timestampMs = NOW_MS) {
  const batch = makeBatch([{ value: Buffer.from(value) }], undefined, timestampMs)
  return retried(address, (wire) => produce(wire, { topic, partition: 0, batch }))
}

const startOf = ({ address }: Server, topic: string) =>
  retried(address, (wire) => listOffset(wire, { topic, partition: 0, timestamp: -2 }))

/** Waits until retention has removed everything. */
async function emptied(server: Server, topic: string, endOffset: number): Promise<void> {
  await until(`${topic} is emptied`, async () => ((await startOf(server, topic)) === endOffset ? true : null), {
    timeoutMs: 20_000,
  })
}

test('a default of all brokers that changes reaches the topics that inherit it, and no others', async (context) => {
  const { server, admin } = await withAdmin(context)
  await readyTopic(server.address, 'inherits', 1)
  await readyTopic(server.address, 'has-its-own', 1, { 'retention.ms': '86400000', 'max.message.bytes': '5000' })
  const hourAgoMs = NOW_MS - 3_600_000
  for (const topic of ['inherits', 'has-its-own']) await send(server, topic, 'x'.repeat(1000), hourAgoMs)
  await admin.alterConfigs({ kind: 'broker', name: '' }, [
    set('log.retention.ms', '60000'),
    set('message.max.bytes', '500'),
  ])
  await emptied(server, 'inherits', 1)
  assert.equal(await startOf(server, 'has-its-own'), 0)
  assert.equal((await send(server, 'inherits', 'x'.repeat(1000))).errorCode, MESSAGE_TOO_LARGE)
  assert.equal((await send(server, 'has-its-own', 'x'.repeat(1000))).errorCode, 0)

  await server.kill()
  await server.start()
  assert.equal((await send(server, 'inherits', 'x'.repeat(1000))).errorCode, MESSAGE_TOO_LARGE)
  await admin.alterConfigs({ kind: 'broker', name: '' }, [unset('log.retention.ms'), unset('message.max.bytes')])
  assert.equal((await send(server, 'inherits', 'x'.repeat(1000))).errorCode, 0)
})

test('what a topic sets takes effect at once: size of records and segments, retention', async (context) => {
  const { server, admin } = await withAdmin(context)
  await readyTopic(server.address, 'orders', 1)
  const orders = { kind: 'topic', name: 'orders' } as const
  await admin.alterConfigs(orders, [set('max.message.bytes', '2000')])
  assert.equal((await send(server, 'orders', 'x'.repeat(3000))).errorCode, MESSAGE_TOO_LARGE)
  await admin.alterConfigs(orders, [unset('max.message.bytes'), set('segment.bytes', '1048576')])
  for (let n = 0; n < 6; n++) assert.equal((await send(server, 'orders', 'x'.repeat(500_000))).errorCode, 0)
  await admin.alterConfigs(orders, [set('retention.bytes', '1100000')])
  await until('the first segments are gone', async () => ((await startOf(server, 'orders')) >= 2 ? true : null), {
    timeoutMs: 20_000,
  })
  await admin.alterConfigs(orders, [set('retention.ms', '1'), unset('retention.bytes')])
  await emptied(server, 'orders', 6)
})

test('durability.mode changes in both directions under load, and no acknowledged record is lost', async (context) => {
  const { server, client, admin } = await withAdmin(context)
  await readyTopic(server.address, 'orders', 1)
  const producer = new Producer(client, { acks: 'all', lingerMs: 1 })
  context.after(() => producer.close())
  const acknowledged: Promise<{ offset: number }>[] = []
  let isOver = false
  const load = (async () => {
    for (let n = 0; !isOver; n++) {
      const sent = producer.send({ topic: 'orders', key: null, value: String(n), partition: 0 })
      acknowledged.push(sent)
      if (n % 50 === 0) await sent
    }
  })()
  for (const mode of ['relaxed', 'fsync', 'relaxed', 'fsync', 'relaxed', 'fsync']) {
    await admin.alterConfigs({ kind: 'topic', name: 'orders' }, [set('durability.mode', mode)])
    const before = acknowledged.length
    await until('the load goes on', () => (acknowledged.length > before + 500 ? true : null), { timeoutMs: 20_000 })
  }
  isOver = true
  await load
  const offsets = (await Promise.all(acknowledged)).map(({ offset }) => offset)
  assert.deepEqual(
    offsets,
    offsets.map((_, n) => n),
  )
  await server.kill()
  await server.start()
  const values = await retried(server.address, async (wire) => {
    const read: string[] = []
    while (read.length < offsets.length) {
      const { records } = await fetch(wire, { topic: 'orders', partition: 0, offset: read.length })
      read.push(...records.map(({ value }) => String(value)))
    }
    return read
  })
  assert.deepEqual(values, offsets.map(String))
})

test('max.connections.per.ip set while the node runs holds for the next connections', async (context) => {
  const { server, admin, client } = await withAdmin(context)
  await admin.alterConfigs({ kind: 'broker', name: '' }, [set('max.connections.per.ip', '3')])
  const wires: Wire[] = []
  context.after(() => {
    for (const wire of wires) wire.close()
  })
  for (let n = 0; n < 5; n++) wires.push(await Wire.connect(server.address))
  await until('some are refused', () => (wires.filter(({ closed }) => closed).length >= 2 ? true : null), {
    timeoutMs: 5000,
  })
  await client.close()
  for (const wire of wires) wire.close()
  await retried(server.address, (wire) => createTopic(wire, 'still-served', 1))
})
