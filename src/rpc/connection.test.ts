import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NetError } from '../env/net.ts'
import { Heartbeat } from '../protocol/apis/heartbeat.ts'
import { Metadata } from '../protocol/apis/metadata.ts'
import { Produce } from '../protocol/apis/produce.ts'
import { ManualEnv } from '../testing/manual-env.ts'
import { type Asked, PlayedServer } from '../testing/played-server.ts'
import { BrokerConnection, parseAddresses } from './connection.ts'
import { ConnectionError, ProtocolError, TimeoutError, UnsupportedVersionError } from './errors.ts'

const OPTIONS = { clientId: 'test', connectTimeoutMs: 1000, requestTimeoutMs: 5000 }
const ADDRESS = { host: '127.0.0.1', port: 9092 }

async function open(peer = new PlayedServer()) {
  const world = new ManualEnv()
  const opening = BrokerConnection.open(peer, world.env.timers, ADDRESS, OPTIONS)
  await world.settle()
  const connection = await opening
  peer.asked.length = 0
  return { world, peer, connection }
}

const ask = (connection: BrokerConnection) => connection.request(Metadata, { topics: [], allowAutoTopicCreation: true })

test('the newest version that both sides speak is used', async () => {
  const { peer, connection } = await open()
  const asking = ask(connection)
  assert.equal(peer.asked[0]?.version, 9)
  peer.answer(peer.asked[0] as Asked)
  assert.equal((await asking).clusterId, 'c')
})

test('a server that knows ApiVersions only in older versions is asked again in one of those', async () => {
  const peer = new PlayedServer()
  peer.apiVersionsMax = 2
  const { connection } = await open(peer)
  assert.equal(connection.versionOf(Metadata), 9)
})

test('an API that the server does not have, or not in our versions, is told before anything is sent', async () => {
  const { peer, connection } = await open()
  const heartbeat = { groupId: 'g', generationId: 1, memberId: 'm' }
  await assert.rejects(connection.request(Heartbeat, heartbeat), UnsupportedVersionError)
  await assert.rejects(connection.request(Produce, { acks: 1, timeoutMs: 1, topicData: [] }), UnsupportedVersionError)
  assert.equal(peer.asked.length, 0)
})

test('answers go to their requests in order', async () => {
  const { peer, connection } = await open()
  const one = ask(connection)
  const two = ask(connection)
  peer.answer(peer.asked[0] as Asked, 'first')
  peer.answer(peer.asked[1] as Asked, 'second')
  assert.deepEqual([(await one).clusterId, (await two).clusterId], ['first', 'second'])
})

test('an answer that is late ends the connection and all that waits behind it', async () => {
  const { world, peer, connection } = await open()
  const outcomes = Promise.allSettled([ask(connection), ask(connection)])
  await world.advance(5001)
  for (const outcome of await outcomes)
    assert.ok(outcome.status === 'rejected' && outcome.reason instanceof TimeoutError)
  assert.ok(peer.isDestroyed && !connection.isOpen)
  await assert.rejects(ask(connection), TimeoutError)
  assert.equal(world.armed, 0)
})

test('a broken connection rejects what waits, and tells its owner', async () => {
  const { peer, connection } = await open()
  let told = 0
  connection.onClosed = () => told++
  const asking = ask(connection)
  peer.hangUp()
  await assert.rejects(asking, ConnectionError)
  assert.equal(told, 1)
})

test('an answer that makes no sense ends the connection', async () => {
  for (const nonsense of [
    (peer: PlayedServer) => peer.answer({ ...(peer.asked[0] as Asked), correlationId: 77 }),
    (peer: PlayedServer) => peer.send(Buffer.from([0, 0, 0, 5, 0, 0, 0, peer.asked[0]?.correlationId ?? 0, 1])),
    (peer: PlayedServer) => peer.send(Buffer.from('HTTP/1.1 400 Bad Request')),
  ]) {
    const { peer, connection } = await open()
    const asking = ask(connection)
    const outcome = Promise.allSettled([asking])
    nonsense(peer)
    const [{ reason }] = (await outcome) as [PromiseRejectedResult]
    assert.ok(reason instanceof ProtocolError, String(reason))
    assert.ok(!connection.isOpen)
  }
})

test('a server that cannot be reached is told as such', async () => {
  const peer = new PlayedServer()
  peer.refuses = true
  const world = new ManualEnv()
  await assert.rejects(BrokerConnection.open(peer, world.env.timers, ADDRESS, OPTIONS), (error: ConnectionError) => {
    assert.ok(error instanceof ConnectionError && error.retriable && error.cause instanceof NetError)
    assert.match(error.message, /127\.0\.0\.1:9092.*connection refused/)
    return true
  })
})

test('addresses are read as people write them', () => {
  const fail = (message: string) => new Error(message)
  assert.deepEqual(parseAddresses('a:1, [::1]:2,', fail), [
    { host: 'a', port: 1 },
    { host: '::1', port: 2 },
  ])
  for (const text of ['', 'a', 'a:0', 'a:99999', ':1', '::1:2']) assert.throws(() => parseAddresses(text, fail), text)
})

test('a server that lets us in and says nothing is given up before an ordinary request would be', async () => {
  const world = new ManualEnv()
  const silent = new PlayedServer()
  silent.isSilent = true
  const opening = BrokerConnection.open(silent, world.env.timers, ADDRESS, { ...OPTIONS, versionsTimeoutMs: 1000 })
  const refused = assert.rejects(opening, /did not answer ApiVersions within 1000 ms/)
  await world.advance(1000)
  await refused
})

test('a port that speaks something else is told from a broken server', async () => {
  const world = new ManualEnv()
  const http = new PlayedServer()
  http.isSilent = true
  const opening = BrokerConnection.open(http, world.env.timers, ADDRESS, OPTIONS)
  const refused = assert.rejects(opening, /no answer in Kafka's protocol/)
  await world.settle()
  http.send(Buffer.from('HTTP/1.1 400 Bad Request'))
  await refused
})
