import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Admin } from '../../src/client/admin.ts'
import { Client } from '../../src/client/client.ts'
import { Consumer } from '../../src/client/consumer.ts'
import { Producer } from '../../src/client/producer.ts'
import { GroupCoordinator } from '../../src/coordinator/group-coordinator.ts'
import { nodeEnv } from '../../src/env-node/node-env.ts'
import { DEFAULT_GROUP_CONFIG } from '../../src/group/types.ts'
import { batchBytes } from '../../src/protocol/batch/header.ts'
import { batchesOf } from '../../src/protocol/batch/records.ts'
import { ManualEnv } from '../../src/testing/manual-env.ts'
import { MemoryLog } from '../../src/testing/memory-log.ts'
import { runTool } from '../support/kafka-oracle.ts'
import { until } from '../support/process.ts'
import { testServer } from '../support/test-server.ts'
import { skipWithout } from '../support/toolchain.ts'

/** The batches of a partition directory, in the order of the log. */
function batchesIn(directory: string): Buffer[] {
  const files = readdirSync(directory).filter((name) => name.endsWith('.log'))
  return files.sort().flatMap((name) => {
    const bytes = readFileSync(join(directory, name))
    return [...batchesOf(bytes)].map((at) => bytes.subarray(at, at + batchBytes(bytes, at)))
  })
}

test('what Apache Kafka wrote about its groups is loaded', {
  skip: await skipWithout('kafka'),
  timeout: 120_000,
}, async (context) => {
  const env = nodeEnv({ log: { level: 'error' } })
  const server = await testServer(context, { kind: 'kafka', config: { 'offsets.topic.num.partitions': '3' } })
  const client = new Client(env, { bootstrap: server.address, clientId: 'writer' })
  const admin = new Admin(client)
  await admin.createTopics([{ name: 'orders', partitions: 2, replicationFactor: 1 }])
  await client.retry('the topic', () => client.topic('orders'))
  const producer = new Producer(client)
  await Promise.all(
    Array.from({ length: 100 }, (_, index) => producer.send({ topic: 'orders', key: `${index}`, value: 'x' })),
  )
  await producer.close()

  // A group at work, with a static member; one that has ended; one of the newer protocol; one of offsets only.
  const consumer = new Consumer(client, { groupId: 'working', groupInstanceId: 'one', autoOffsetReset: 'earliest' })
  consumer.subscribe(['orders'])
  let read = 0
  await until(
    'all records are read',
    async () => {
      read += (await consumer.poll(500)).length
      return read === 100 ? true : null
    },
    { timeoutMs: 20_000 },
  )
  await consumer.commit()
  const tool = async (group: string, protocol: string) => {
    const outcome = await runTool('console-consumer', [
      ...['--bootstrap-server', server.address, '--topic', 'orders', '--group', group, '--from-beginning'],
      ...['--max-messages', '100', '--timeout-ms', '20000', '--command-property', `group.protocol=${protocol}`],
    ])
    assert.equal(outcome.code, 0, outcome.stderr)
  }
  await tool('ended', 'classic')
  await tool('newer', 'consumer')
  await admin.groups.commitOffsets('simple', [{ topic: 'orders', partition: 1, offset: 5, metadata: 'by hand' }])
  const expected = new Map<string, Record<string, number>>()
  for (const groupId of ['working', 'ended', 'newer', 'simple']) {
    const offsets = await admin.groups.offsets(groupId)
    expected.set(
      groupId,
      Object.fromEntries(offsets.entries().map(([{ partition }, { offset }]) => [partition, offset])),
    )
  }
  const memberId = consumer.memberId
  await server.stop()
  await client.close()

  const world = new ManualEnv()
  const coordinator = new GroupCoordinator({
    env: world.env,
    config: DEFAULT_GROUP_CONFIG,
    topics: { idOf: () => null, nameOf: () => null, partitionsOf: () => 0 },
    partitionCount: () => 3,
    groupOperations: 0,
  })
  for (const partition of [0, 1, 2]) {
    const batches = batchesIn(join(server.dataDirectory, `__consumer_offsets-${partition}`))
    coordinator.onLead(partition, new MemoryLog(partition, { batches }))
  }
  await world.settle()
  const caller = { apiVersion: 8, clientId: 'reader', clientHost: '/127.0.0.1' }
  for (const [groupId, offsets] of expected) {
    const groups = [{ groupId, memberId: null, memberEpoch: -1, topics: null }]
    const asking = coordinator.fetchOffsets(
      { groupId: '', topics: null, groups, requireStable: true, outlooks: [] },
      caller,
    )
    await world.settle()
    const found = (await asking).groups[0]?.topics[0]?.partitions.map((one) => [
      one.partitionIndex,
      one.committedOffset,
    ])
    assert.deepEqual(Object.fromEntries(found ?? []), offsets, groupId)
  }
  const describing = coordinator.describeGroups(
    { groups: ['working', 'ended', 'newer'], includeAuthorizedOperations: false, includeLag: false },
    caller,
  )
  await world.settle()
  const described = new Map((await describing).groups.map((group) => [group.groupId, group]))
  assert.equal(described.get('working')?.groupState, 'Stable')
  assert.deepEqual(
    described.get('working')?.members.map((member) => [member.memberId, member.groupInstanceId]),
    [[memberId, 'one']],
  )
  assert.equal(described.get('ended')?.groupState, 'Empty')
  // Of a kind that is not coordinated here: its offsets are kept, and nobody may take its place.
  assert.equal(described.get('newer')?.groupState, 'Dead')
  const joining = coordinator.joinGroup(
    {
      groupId: 'newer',
      sessionTimeoutMs: 10_000,
      rebalanceTimeoutMs: 10_000,
      memberId: '',
      groupInstanceId: null,
      protocolType: 'consumer',
      protocols: [{ name: 'range', metadata: Buffer.alloc(0) }],
      reason: null,
    },
    caller,
  )
  await world.settle()
  assert.equal((await joining).errorCode, 23)
})
