import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test, type TestContext } from 'node:test'
import { Random } from '../../src/base/random.ts'
import { nodeEnv } from '../../src/env-node/node-env.ts'
import { apis } from '../../src/protocol/apis.ts'
import { ApiVersions } from '../../src/protocol/apis/api-versions.ts'
import { CreateTopics } from '../../src/protocol/apis/create-topics.ts'
import { decodeResponse, encodeRequest } from '../../src/protocol/codec.ts'
import { randomStruct } from '../../src/protocol/random-value.ts'
import { structOf } from '../../src/protocol/layout.ts'
import type { AnyApi } from '../../src/protocol/schema.ts'
import { nodeConfig } from '../../src/server/config/node-config.ts'
import { resolveSettings } from '../../src/server/config/settings.ts'
import { Node } from '../../src/server/node.ts'
import { removeTemporary, temporaryDirectory } from '../support/files.ts'

/** Of each API and version. */
const REQUESTS = 12
const AT_ONCE = 24
const PATIENCE_MS = 20_000
/** A request that waits for others, or has no answer by its nature, is left to itself after this. */
const SHORT_PATIENCE_MS = 100

async function startNode(context: TestContext, bugs: unknown[]): Promise<{ port: number; said: string[] }> {
  const said: string[] = []
  const folder = temporaryDirectory('versions')
  const given = {
    'log.dirs': folder,
    listeners: 'PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0',
    'auto.create.topics.enable': 'true',
    'offsets.topic.num.partitions': '2',
    'group.initial.rebalance.delay.ms': '0',
  }
  const settings = Object.entries(given).map(([key, value]) => ({ key, value, origin: 'flag' as const, where: 'test' }))
  const { config } = nodeConfig(resolveSettings(settings).settings)
  const env = nodeEnv({ log: { level: 'warn', write: (line) => said.push(line) } })
  const node = new Node(env, config, { version: 'test', hostName: 'localhost', onBug: (error) => bugs.push(error) })
  context.after(async () => {
    await node.stop()
    removeTemporary(folder)
  })
  await node.start()
  return { port: (node.listeners[0] as (typeof node.listeners)[number]).bound.port, said }
}

/** The answer to one request on a connection of its own; null when there is none: closed, or parked for too long. */
function ask(port: number, pieces: readonly Buffer[], patienceMs = PATIENCE_MS): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    let received: Buffer = Buffer.alloc(0)
    const timer = setTimeout(() => socket.destroy(), patienceMs)
    socket.on('connect', () => socket.write(Buffer.concat(pieces)))
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      if (received.length < 4 || received.length < 4 + received.readInt32BE(0)) return
      resolve(received.subarray(4))
      socket.destroy()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(null)
    })
  })
}

/** For other members of the group, which never come. */
const WAITING: ReadonlySet<string> = new Set(['JoinGroup', 'SyncGroup'])

const header = { correlationId: 1, clientId: 'test' }

test('every version of every API that is advertised answers, whatever well-formed request comes', async (context) => {
  const bugs: unknown[] = []
  const { port, said } = await startNode(context, bugs)
  const topics = ['orders', 'a'].map((name) => ({
    name,
    numPartitions: 2,
    replicationFactor: 1,
    assignments: [],
    configs: [],
  }))
  await ask(port, encodeRequest(CreateTopics, 7, header, { topics, validateOnly: false }))
  const client = { clientSoftwareName: 'test', clientSoftwareVersion: '1' }
  const frame = await ask(port, encodeRequest(ApiVersions, 4, header, client))
  const { apiKeys } = decodeResponse(ApiVersions, 4, frame as Buffer)
  assert.ok(apiKeys.length > 30)

  const random = new Random(7)
  const answered = new Set<string>()
  const wanted = new Set<string>()
  const work: (() => Promise<void>)[] = []
  for (const { apiKey, minVersion, maxVersion } of apiKeys) {
    const api = apis.get(apiKey) as AnyApi
    for (let version = Math.max(minVersion, api.versions[0]); version <= maxVersion; version++) {
      // Whether a member that waits for others is answered in time depends on how fast all this goes.
      if (!WAITING.has(api.name)) wanted.add(`${api.name} v${version}`)
      for (let i = 0; i < REQUESTS; i++) {
        const body = randomStruct(structOf(api.request), version, random)
        if ('maxWaitMs' in body) body['maxWaitMs'] = 10
        const waits = WAITING.has(api.name) || body['acks'] === 0
        work.push(async () => {
          const pieces = encodeRequest(api, version, header, body)
          const answer = await ask(port, pieces, waits ? SHORT_PATIENCE_MS : PATIENCE_MS)
          assert.deepEqual(bugs, [], `${api.name} v${version} ${JSON.stringify(body)}`)
          if (answer === null) return
          decodeResponse(api, version, answer)
          answered.add(`${api.name} v${version}`)
        })
      }
    }
  }
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let next = work.shift(); next !== undefined; next = work.shift()) await next()
    }),
  )
  const silent = [...wanted].filter((name) => !answered.has(name))
  assert.deepEqual(silent, [], said.slice(-50).join(''))
})
