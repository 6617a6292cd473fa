import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Admin } from '../../src/client/admin.ts'
import { Client } from '../../src/client/client.ts'
import type { Address } from '../../src/env/net.ts'
import { nodeEnv } from '../../src/env-node/node-env.ts'
import { DescribeQuorum } from '../../src/protocol/apis/describe-quorum.ts'
import { BrokerConnection } from '../../src/rpc/connection.ts'
import { parseHostPort } from '../../src/server/config/listeners.ts'
import { removeTemporary, root, temporaryDirectory } from '../support/files.ts'
import { freePort } from '../support/ports.ts'
import { run, until } from '../support/process.ts'
import { Server } from '../support/server.ts'
import { describeQuorum } from '../support/wire-admin.ts'
import { Wire } from '../support/wire.ts'

const env = nodeEnv({ log: { level: 'error' } })
const WITHIN = { timeoutMs: 30_000, everyMs: 20 }

/** A node without a number of its own. */
async function prepare(context: TestContext, directory: string, name: string, member: string | null): Promise<Server> {
  const home = join(directory, name)
  mkdirSync(home, { recursive: true })
  const address = async () => `127.0.0.1:${await freePort()}`
  const controllerAddress = await address()
  const place = {
    nodeId: 1,
    zone: null,
    address: await address(),
    controllerAddress,
    httpAddress: await address(),
    voters: [{ nodeId: 1, address: controllerAddress }],
    join: member,
  }
  const server = await Server.prepare({ kind: 'millrace', directory: home, place })
  context.after(() => server.kill())
  return server
}

async function quorumOf(server: Server) {
  const wire = await Wire.connect(server.address, 1000)
  try {
    return await describeQuorum(wire)
  } finally {
    wire.close()
  }
}

/** The directory ids of the voters. */
async function voterFolders({ address }: Server): Promise<string[]> {
  const options = { clientId: 'test', connectTimeoutMs: 1000, requestTimeoutMs: 1000 }
  const to = parseHostPort(address) as Address
  const connection = await BrokerConnection.open(env.net, env.timers, to, options)
  try {
    const asked = { topics: [{ topicName: '__cluster_metadata', partitions: [{ partitionIndex: 0 }] }] }
    const { topics } = await connection.request(DescribeQuorum, asked, { versions: [2, 2] })
    return (topics[0]?.partitions[0]?.currentVoters ?? []).map(({ replicaDirectoryId }) => replicaDirectoryId)
  } finally {
    connection.close()
  }
}

function idOf(server: Server): number {
  return Number(/node\.id=(\d+)/.exec(readFileSync(join(server.dataDirectory, 'meta.properties'), 'utf8'))?.[1])
}

test('nodes that join get numbers of their own, also at the same time; the fourth is no controller', {
  timeout: 120_000,
}, async (context) => {
  const directory = temporaryDirectory('joining')
  context.after(() => removeTemporary(directory))
  const first = await prepare(context, directory, 'a', null)
  await first.start()
  // By either listener of the first, at once.
  const second = await prepare(context, directory, 'b', first.address)
  const third = await prepare(context, directory, 'c', first.place.controllerAddress)
  await Promise.all([second.start(), third.start()])
  assert.deepEqual(new Set([first, second, third].map(idOf)), new Set([1, 2, 3]))
  const allVote = async () => ((await quorumOf(second)).voters.length === 3 ? true : null)
  await until('three vote', () => allVote().catch(() => null), WITHIN)

  const fourth = await prepare(context, directory, 'd', third.place.controllerAddress)
  await fourth.start()
  assert.equal(idOf(fourth), 4)
  const client = new Client(env, { bootstrap: fourth.address, clientId: 'test' })
  context.after(() => client.close())
  const admin = new Admin(client)
  const { brokers } = await admin.describeCluster()
  assert.deepEqual(
    brokers.map(({ nodeId }) => nodeId),
    [1, 2, 3, 4],
  )
  const [topic] = await admin.createTopics([{ name: 't', partitions: 1, replicationFactor: 3 }])
  assert.equal(topic?.error, null, 'passed on by a mere broker')
  assert.deepEqual(new Set((await quorumOf(fourth)).voters), new Set([1, 2, 3]))
  // It knows what it is without being told.
  assert.equal(await fourth.stop(), 0)
  fourth.saysJoin = false
  await fourth.start()
  assert.deepEqual((await quorumOf(fourth)).voters.length, 3)
})

test('a folder of another cluster is refused, and a folder that was to join never becomes a cluster', {
  timeout: 120_000,
}, async (context) => {
  const directory = temporaryDirectory('joining-refused')
  context.after(() => removeTemporary(directory))
  const one = await prepare(context, directory, 'one', null)
  const other = await prepare(context, directory, 'other', null)
  await Promise.all([one.start(), other.start()])
  await other.kill()
  const free = ['--listen', '127.0.0.1:0', '--controller-listen', '127.0.0.1:0', '--http', 'off']
  const start = (...args: string[]) =>
    run(join(root, 'bin', 'millrace'), ['start', ...free, ...args], { timeoutMs: 20_000 })
  const refused = await start('--data', other.dataDirectory, '--join', one.address)
  assert.equal(refused.code, 3)
  assert.match(
    refused.stderr,
    /other\/data belongs to cluster \S+, and 127\.0\.0\.1:\d+ is cluster \S+: join with an empty folder/,
  )

  // A node that joined, and lost what it knew of its cluster.
  const joined = await prepare(context, directory, 'joined', one.address)
  await joined.start()
  await joined.kill()
  await one.kill()
  rmSync(join(joined.dataDirectory, '__cluster_metadata-0'), { recursive: true })
  joined.saysJoin = false
  await joined.launch()
  await until(
    'it looks for its cluster',
    () => (/No controller took/.test(joined.process.output()) ? true : null),
    WITHIN,
  )
  assert.doesNotMatch(joined.process.output(), /A new cluster/)
  assert.equal(await joined.stop(), 0, 'and can be stopped while it does')
})

test('a voter that lost its folder votes again under its number, with its new one', {
  timeout: 120_000,
}, async (context) => {
  const directory = temporaryDirectory('joining-wiped')
  context.after(() => removeTemporary(directory))
  const first = await prepare(context, directory, 'a', null)
  await first.start()
  const second = await prepare(context, directory, 'b', first.address)
  const third = await prepare(context, directory, 'c', first.address)
  await Promise.all([second.start(), third.start()])
  const directories = async () => {
    const voters = await voterFolders(first)
    return voters.length === 3 ? voters : null
  }
  const before = await until('three vote', () => directories().catch(() => null), WITHIN)

  await third.kill()
  const number = idOf(third)
  rmSync(third.dataDirectory, { recursive: true })
  third.saysNumber = number
  await third.start()
  assert.equal(idOf(third), number)
  const isReplaced = async () => {
    const now = await directories()
    return now?.every((id) => before.includes(id)) === false ? true : null
  }
  await until('the new folder votes in place of the old', () => isReplaced().catch(() => null), WITHIN)
})

test('a node that waits for its cluster is alive, not ready, and says what it waits for', {
  timeout: 60_000,
}, async (context) => {
  const directory = temporaryDirectory('joining-waits')
  context.after(() => removeTemporary(directory))
  const server = await prepare(context, directory, 'a', `127.0.0.1:${await freePort()}`)
  await server.launch()
  const ask = async (path: string) => {
    const response = await fetch(`http://${server.place.httpAddress}${path}`)
    return { status: response.status, text: await response.text() }
  }
  const live = await until('it serves HTTP', () => ask('/livez').catch(() => null), WITHIN)
  assert.equal(live.status, 200)
  const ready = await ask('/readyz')
  assert.equal(ready.status, 503)
  assert.match(ready.text, /start: looking for its cluster/)
  assert.equal(await server.stop(), 0)
})
