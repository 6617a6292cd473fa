import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Metadata } from '../protocol/apis/metadata.ts'
import { ManualEnv } from '../testing/manual-env.ts'
import { type Asked, PlayedServer } from '../testing/played-server.ts'
import { ConnectionError } from './errors.ts'
import { Peers } from './peers.ts'

const OPTIONS = { clientId: 'node-1', connectTimeoutMs: 1000, requestTimeoutMs: 5000 }
const ADDRESS = { host: '127.0.0.1', port: 9092 }
const BODY = { topics: [], allowAutoTopicCreation: false }

function start() {
  const world = new ManualEnv()
  const server = new PlayedServer()
  return { world, server, peers: new Peers(server, world.env.timers, OPTIONS) }
}

test('requests of one lane share a connection, those of another have their own', async () => {
  const { world, server, peers } = start()
  const first = peers.request(ADDRESS, 'fetch', Metadata, BODY)
  const second = peers.request(ADDRESS, 'fetch', Metadata, BODY)
  await world.settle()
  assert.equal(server.connections, 1)
  for (const asked of server.asked.slice(1)) server.answer(asked, `c${asked.correlationId}`)
  assert.notEqual((await first).clusterId, (await second).clusterId)
  void peers.request(ADDRESS, 'control', Metadata, BODY).catch(() => {})
  await world.settle()
  assert.equal(server.connections, 2)
})

test('after a connection broke the next request opens another', async () => {
  const { world, server, peers } = start()
  const lost = assert.rejects(peers.request(ADDRESS, 'fetch', Metadata, BODY), ConnectionError)
  await world.settle()
  server.hangUp()
  await lost
  const again = peers.request(ADDRESS, 'fetch', Metadata, BODY)
  await world.settle()
  server.answer(server.asked.at(-1) as Asked)
  assert.equal((await again).clusterId, 'c')
})

test('the end of a connection is told when the other side made it, and only then', async () => {
  const lost: string[] = []
  const { world, server } = start()
  const peers = new Peers(server, world.env.timers, OPTIONS, ({ host }) => lost.push(host))
  const waits = assert.rejects(peers.request(ADDRESS, 'fetch', Metadata, BODY), ConnectionError)
  await world.settle()
  peers.drop(ADDRESS)
  await waits
  assert.deepEqual(lost, [])
  const again = assert.rejects(peers.request(ADDRESS, 'fetch', Metadata, BODY), ConnectionError)
  await world.settle()
  server.hangUp()
  await again
  assert.deepEqual(lost, [ADDRESS.host])
})

test('a refused connection is not remembered, and nothing opens after the end', async () => {
  const { world, server, peers } = start()
  server.refuses = true
  await assert.rejects(peers.request(ADDRESS, 'fetch', Metadata, BODY), ConnectionError)
  server.refuses = false
  const waits = assert.rejects(peers.request(ADDRESS, 'fetch', Metadata, BODY), ConnectionError)
  await world.settle()
  peers.close()
  await waits
  await assert.rejects(peers.request(ADDRESS, 'fetch', Metadata, BODY), /stopping/)
})
