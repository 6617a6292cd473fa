import assert from 'node:assert/strict'
import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Admin } from '../../src/client/admin.ts'
import { Client } from '../../src/client/client.ts'
import { nodeEnv } from '../../src/env-node/node-env.ts'
import { Produce } from '../../src/protocol/apis/produce.ts'
import { ErrorCode } from '../../src/protocol/errors.ts'
import { LoopDisk } from '../crash/loop-disk.ts'
import { temporaryDirectory } from '../support/files.ts'
import { until } from '../support/process.ts'
import { readyTopic, retried } from '../support/retry.ts'
import type { Server } from '../support/server.ts'
import { testServer } from '../support/test-server.ts'
import { skipWithout } from '../support/toolchain.ts'
import { makeBatch } from '../support/wire-batch.ts'
import { commitOffset, committedOffset, fetch, findCoordinator, listOffset } from '../support/wire-calls.ts'

const skip = await skipWithout('mount')
const env = nodeEnv({ log: { level: 'error' } })
const RECORD_BYTES = 250_000

interface FullNode {
  readonly server: Server
  readonly mountPoint: string
  readonly client: Client
  readonly admin: Admin
}

/** A node whose data lies on a small file system of its own. */
async function smallNode(context: TestContext, megabytes: number): Promise<FullNode> {
  const { mountPoint } = await LoopDisk.create(temporaryDirectory('full-disk'), megabytes)
  const config = { 'log.segment.bytes': '4000000', 'log.retention.check.interval.ms': '300000' }
  const server = await testServer(context, { kind: 'millrace', dataDirectory: join(mountPoint, 'data'), config })
  const client = new Client(env, { bootstrap: server.address, clientId: 'test' })
  context.after(() => client.close())
  return { server, mountPoint, client, admin: new Admin(client) }
}

/** One record, whose first bytes say which it is. */
async function send(client: Client, topic: string, n: number, timeoutMs = 20_000) {
  const value = Buffer.alloc(RECORD_BYTES, n)
  value.write(`${n};`)
  const index = 0
  const records = [makeBatch([{ value }])]
  const { responses } = await client.request(
    'any',
    Produce,
    {
      acks: -1,
      timeoutMs,
      topicData: [{ name: topic, partitionData: [{ index, records }] }],
    },
    { versions: [3, 12] },
  )
  const answer = responses[0]?.partitionResponses[0]
  assert.ok(answer)
  return answer
}

/** Sends until the node refuses; returns how many it acknowledged, and the refusal. */
async function sendUntilRefused(client: Client, topic: string) {
  for (let n = 0; n < 1000; n++) {
    const answer = await send(client, topic, n)
    if (answer.errorCode !== ErrorCode.NONE) return { acknowledged: n, refusal: answer }
  }
  throw new Error('the disk was never full')
}

async function readNumbers({ address }: Server, topic: string): Promise<number[]> {
  return retried(address, async (wire) => {
    const numbers: number[] = []
    for (let offset = 0; ; ) {
      const { records } = await fetch(wire, { topic, partition: 0, offset, maxWaitMs: 0 })
      const last = records.at(-1)
      if (last === undefined) return numbers
      numbers.push(...records.map(({ value }) => Number.parseInt(value?.subarray(0, 10).toString() ?? '', 10)))
      offset = last.offset + 1
    }
  })
}

const upTo = (count: number) => Array.from({ length: count }, (_, n) => n)

async function acknowledgedAgain(client: Client, topic: string): Promise<void> {
  await until('records are taken again', async () => (await send(client, topic, 9999)).errorCode === 0 || null, {
    timeoutMs: 30_000,
  })
}

test('a full disk refuses records, serves reads, deletes topics, and takes records again without a restart', {
  skip,
}, async (context) => {
  const { server, client, admin, mountPoint } = await smallNode(context, 48)
  await readyTopic(server.address, 'kept', 1)
  await readyTopic(server.address, 'big', 1)
  await retried(server.address, (wire) => findCoordinator(wire, 'readers'))
  for (const n of upTo(5)) assert.equal((await send(client, 'kept', n)).errorCode, 0)

  const { acknowledged, refusal } = await sendUntilRefused(client, 'big')
  assert.equal(refusal.errorCode, ErrorCode.KAFKA_STORAGE_ERROR)
  assert.match(refusal.errorMessage ?? '', /no room in .*data.*log\.min\.free\.bytes/)
  assert.ok(acknowledged > 50)
  const { bavail, bsize } = statfsSync(mountPoint)
  assert.ok(bavail * bsize > 1_000_000, 'there is room left for the node itself')

  assert.deepEqual(await readNumbers(server, 'big'), upTo(acknowledged))
  const commit = { group: 'readers', topic: 'kept', partition: 0 }
  await retried(server.address, (wire) => commitOffset(wire, { ...commit, offset: 3 }))

  await server.kill()
  await server.start()
  assert.deepEqual(await readNumbers(server, 'big'), upTo(acknowledged), 'a start on the full disk')
  assert.equal((await send(client, 'kept', 5)).errorCode, ErrorCode.KAFKA_STORAGE_ERROR)
  assert.equal(await retried(server.address, (wire) => committedOffset(wire, commit)), 3)
  assert.equal(await server.stop(), 0)
  await server.start()
  assert.equal((await send(client, 'kept', 5)).errorCode, ErrorCode.KAFKA_STORAGE_ERROR)

  const [deleted] = await admin.deleteTopics(['big'])
  assert.equal(deleted?.error, null)
  await acknowledgedAgain(client, 'kept')
  assert.deepEqual(await readNumbers(server, 'kept'), [0, 1, 2, 3, 4, 9999])
})

test('records deleted, and a retention that was shortened, make room on a full disk', { skip }, async (context) => {
  const { server, client, admin } = await smallNode(context, 40)
  await readyTopic(server.address, 'big', 1)
  const first = await sendUntilRefused(client, 'big')
  await admin.deleteRecords([{ topic: 'big', partition: 0, offset: first.acknowledged }])
  await acknowledgedAgain(client, 'big')
  await sendUntilRefused(client, 'big')
  await admin.alterConfigs({ kind: 'topic', name: 'big' }, [
    { name: 'retention.bytes', operation: 'set', value: '1000000' },
  ])
  await acknowledgedAgain(client, 'big')
  const start = await retried(server.address, (wire) => listOffset(wire, { topic: 'big', partition: 0, timestamp: -2 }))
  assert.ok(start > first.acknowledged)
})

test('where others take the last byte of the disk, every refusal says so, and nothing acknowledged is lost', {
  skip,
}, async (context) => {
  const { server, client, admin, mountPoint } = await smallNode(context, 40)
  await readyTopic(server.address, 'big', 1)
  await readyTopic(server.address, 'other', 1)
  for (const n of upTo(8)) assert.equal((await send(client, 'big', n)).errorCode, 0)
  const ballast = join(mountPoint, 'ballast')
  assert.throws(() => writeFileSync(ballast, Buffer.alloc(64_000_000)), /ENOSPC/)
  await until(
    'records are refused',
    async () => (await send(client, 'big', 8, 100)).errorCode === ErrorCode.KAFKA_STORAGE_ERROR || null,
    {
      timeoutMs: 10_000,
    },
  )
  assert.deepEqual((await readNumbers(server, 'big')).slice(0, 8), upTo(8))
  await server.kill()
  await server.launch()
  rmSync(ballast)
  await server.ready(30_000)
  await acknowledgedAgain(client, 'big')
  assert.deepEqual((await readNumbers(server, 'big')).slice(0, 8), upTo(8))
  const [deleted] = await admin.deleteTopics(['other'])
  assert.equal(deleted?.error, null)
})
