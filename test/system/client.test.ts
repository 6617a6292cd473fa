import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Admin } from '../../src/client/admin.ts'
import { cooperativeStickyAssignor } from '../../src/client/assignors/cooperative-sticky.ts'
import { rangeAssignor } from '../../src/client/assignors/range.ts'
import { Client } from '../../src/client/client.ts'
import { Consumer, type ConsumerOptions } from '../../src/client/consumer.ts'
import { NoOffsetError, RebalancedError } from '../../src/client/errors.ts'
import { type BrokerError } from '../../src/rpc/errors.ts'
import type { ConsumerRecord } from '../../src/client/fetched-records.ts'
import { Producer } from '../../src/client/producer.ts'
import { nodeEnv } from '../../src/env-node/node-env.ts'
import { until } from '../support/process.ts'
import type { Server, ServerKind } from '../support/server.ts'
import { testServer } from '../support/test-server.ts'
import { skipWithout } from '../support/toolchain.ts'

const env = nodeEnv({ log: { level: 'error' } })
const kinds: readonly ServerKind[] =
  process.env.MILLRACE_TEST_SERVER === undefined
    ? ['millrace', 'kafka']
    : [process.env.MILLRACE_TEST_SERVER as ServerKind]

/** Reads until `count` records have come. */
async function read(consumer: Consumer, count: number, withinMs = 20_000): Promise<ConsumerRecord[]> {
  const records: ConsumerRecord[] = []
  const endMs = env.clock.monotonicMs() + withinMs
  while (records.length < count) {
    assert.ok(env.clock.monotonicMs() < endMs, `${records.length} of ${count} records within ${withinMs} ms`)
    records.push(...(await consumer.poll(500)))
  }
  return records
}

for (const kind of kinds) {
  const needs = kind === 'kafka' ? (['kafka'] as const) : []
  test(`our client with ${kind}`, { skip: await skipWithout(...needs), timeout: 240_000 }, async (context) => {
    const server: Server = await testServer(context, { kind })
    const open = () => new Client(env, { bootstrap: server.address, clientId: 'test' })
    const client = open()
    const admin = new Admin(client)
    context.after(() => client.close())
    const newTopic = async (name: string, partitions: number, configs: Record<string, string> = {}) => {
      const [created] = await admin.createTopics([{ name, partitions, replicationFactor: 1, configs }])
      assert.equal(created?.error, null)
      // The news takes a moment to reach the broker that answers.
      await client.retry(name, () => client.topic(name))
    }

    await context.test('topics are made, grown, described and removed', async () => {
      await newTopic('plain', 2, { 'retention.ms': '3600000' })
      const [again] = await admin.createTopics([{ name: 'plain', partitions: 2 }])
      assert.equal(again?.error?.code, 'TOPIC_ALREADY_EXISTS')
      const [grown] = await admin.createPartitions([{ name: 'plain', partitions: 3 }])
      assert.equal(grown?.error, null)
      // The news takes a moment to reach the broker that answers.
      await until(
        'the new partition is known',
        async () => {
          const [topic] = await admin.describeTopics(['plain'])
          return topic?.partitions.length === 3 ? true : null
        },
        { timeoutMs: 10_000 },
      )
      const [{ configs } = { configs: [] }] = await admin.describeConfigs([{ kind: 'topic', name: 'plain' }])
      const retention = configs.find(({ name }) => name === 'retention.ms')
      assert.deepEqual([retention?.value, retention?.source], ['3600000', 'topic'])
      await admin.alterConfigs({ kind: 'topic', name: 'plain' }, [{ name: 'retention.ms', operation: 'delete' }])
      await assert.rejects(
        admin.alterConfigs({ kind: 'topic', name: 'plain' }, [
          { name: 'retention.ms', operation: 'set', value: 'soon' },
        ]),
        (error: BrokerError) => error.code === 'INVALID_CONFIG',
      )
      assert.ok((await admin.listTopics()).some(({ name }) => name === 'plain'))
      const [removed] = await admin.deleteTopics(['plain'])
      assert.equal(removed?.error, null)
      const [missing] = await admin.deleteTopics(['plain'])
      assert.equal(missing?.error?.code, 'UNKNOWN_TOPIC_OR_PARTITION')
      const cluster = await admin.describeCluster()
      assert.equal(cluster.brokers.length, 1)
      const [dir] = await admin.describeLogDirs()
      assert.equal(dir?.error, null)
    })

    for (const compression of ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const) {
      await context.test(`records come back as they were sent, with ${compression}`, async () => {
        const topic = `codec-${compression}`
        await newTopic(topic, 1)
        const producer = new Producer(client, { compression })
        const count = 500
        const sent = Array.from({ length: count }, (_, index) =>
          producer.send({
            topic,
            key: `key-${index}`,
            value: index % 10 === 0 ? null : `value ${index} `.repeat(20),
            headers: { number: String(index) },
            timestampMs: 1_700_000_000_000 + index,
          }),
        )
        const deliveries = await Promise.all(sent)
        assert.deepEqual(
          deliveries.map(({ offset }) => offset),
          Array.from({ length: count }, (_, index) => index),
        )
        await producer.close()
        const consumer = new Consumer(client, { autoOffsetReset: 'earliest' })
        consumer.assign([{ topic, partition: 0 }])
        const records = await read(consumer, count)
        for (const [index, record] of records.entries()) {
          assert.equal(record.offset, index)
          assert.equal(record.key?.toString(), `key-${index}`)
          assert.equal(record.value?.toString() ?? null, index % 10 === 0 ? null : `value ${index} `.repeat(20))
          assert.equal(record.headers[0]?.value?.toString(), String(index))
          assert.equal(record.timestampMs, 1_700_000_000_000 + index)
        }
        await consumer.close()
      })
    }

    await context.test('offsets are found by time, and the start of a partition is moved', async () => {
      const found = await admin.listOffsets([{ topic: 'codec-none', partition: 0, at: 'earliest' }])
      assert.equal(found.get({ topic: 'codec-none', partition: 0 })?.offset, 0)
      const at = async (time: number | 'latest' | 'max-timestamp') =>
        (await admin.listOffsets([{ topic: 'codec-none', partition: 0, at: time }])).get({
          topic: 'codec-none',
          partition: 0,
        })?.offset
      assert.equal(await at('latest'), 500)
      assert.equal(await at(1_700_000_000_123), 123)
      assert.equal(await at('max-timestamp'), 499)
      assert.equal(await at(1_800_000_000_000), -1)
      const deleted = await admin.deleteRecords([{ topic: 'codec-none', partition: 0, offset: 100 }])
      assert.deepEqual(deleted.get({ topic: 'codec-none', partition: 0 }), { startOffset: 100, error: null })
      const consumer = new Consumer(client, { autoOffsetReset: 'none' })
      consumer.assign([{ topic: 'codec-none', partition: 0 }])
      consumer.seek({ topic: 'codec-none', partition: 0 }, 50)
      await assert.rejects(read(consumer, 1), NoOffsetError)
      consumer.seek({ topic: 'codec-none', partition: 0 }, 'earliest')
      assert.equal((await read(consumer, 1))[0]?.offset, 100)
      consumer.seek({ topic: 'codec-none', partition: 0 }, 490)
      assert.equal((await read(consumer, 10))[0]?.offset, 490)
      await consumer.close()
    })

    await context.test('keys go where Java puts them, and no partition is left out without keys', async () => {
      await newTopic('spread', 4)
      const producer = new Producer(client, { batchBytes: 200, lingerMs: 0 })
      const keyed = await Promise.all(
        ['', 'a', 'hello', 'order-4711', 'ä'].map((key) => producer.send({ topic: 'spread', key, value: 'x' })),
      )
      // As org.apache.kafka.clients.producer.internals.BuiltInPartitioner.partitionForKey answers.
      assert.deepEqual(
        keyed.map(({ partition }) => partition),
        JAVA_PARTITIONS,
      )
      const used = new Set<number>()
      for (let i = 0; i < 200 && used.size < 4; i++) {
        used.add((await producer.send({ topic: 'spread', value: 'x'.repeat(150) })).partition)
      }
      assert.equal(used.size, 4)
      await producer.close()
    })

    await context.test('what cannot be delivered is told', async () => {
      const producer = new Producer(client, { deliveryTimeoutMs: 1500 })
      await assert.rejects(producer.send({ topic: 'nowhere', value: 'x' }), { code: 'TIMEOUT' })
      await newTopic('small', 1, { 'max.message.bytes': '1000' })
      await assert.rejects(producer.send({ topic: 'small', value: 'x'.repeat(5000) }), { code: 'RECORD_TOO_LARGE' })
      await assert.rejects(producer.send({ topic: 'small', value: 'x'.repeat(5_000_000) }), {
        code: 'RECORD_TOO_LARGE',
      })
      // A batch that is too large is taken apart; the record that is too large alone does not hold up the others.
      const many = Array.from({ length: 50 }, (_, index) =>
        producer.send({ topic: 'small', value: 'y'.repeat(index === 20 ? 3000 : 100) }),
      )
      const outcomes = await Promise.allSettled(many)
      assert.equal(outcomes.filter(({ status }) => status === 'rejected').length, 1)
      const consumer = new Consumer(client, { autoOffsetReset: 'earliest' })
      consumer.assign([{ topic: 'small', partition: 0 }])
      assert.equal((await read(consumer, 49)).length, 49)
      await consumer.close()
      await producer.close()
    })

    await context.test('offsets are kept by a consumer that assigns itself', async () => {
      const options: ConsumerOptions = {
        groupId: 'keeper',
        autoOffsetReset: 'earliest',
        autoCommit: false,
        maxPollRecords: 100,
      }
      const partition = { topic: 'codec-gzip', partition: 0 }
      const first = new Consumer(client, options)
      first.assign([partition])
      await read(first, 100)
      assert.equal((await first.committed([partition])).get(partition), null)
      await first.commit()
      assert.equal((await first.committed([partition])).get(partition)?.offset, 100)
      await first.close()
      const second = new Consumer(client, options)
      second.assign([partition])
      assert.equal((await read(second, 1))[0]?.offset, 100)
      await second.close()
      assert.equal((await admin.groups.offsets('keeper')).get(partition)?.offset, 100)
      await admin.groups.commitOffsets('keeper', [{ ...partition, offset: 7, metadata: 'by hand' }])
      assert.deepEqual((await admin.groups.offsets('keeper', [partition])).get(partition), {
        offset: 7,
        leaderEpoch: -1,
        metadata: 'by hand',
      })
      assert.equal((await admin.groups.deleteOffsets('keeper', [partition])).get(partition), null)
      assert.equal((await admin.groups.offsets('keeper')).size, 0)
    })

    for (const assignors of [[rangeAssignor], [cooperativeStickyAssignor]]) {
      const name = assignors[0]?.name ?? ''
      await context.test(`a group shares the work, with ${name}`, async () => {
        const topic = `shared-${name}`
        const groupId = `group-${name}`
        await newTopic(topic, 6)
        const producer = new Producer(client)
        const total = 600
        await Promise.all(
          Array.from({ length: total }, (_, index) => producer.send({ topic, key: `k${index}`, value: `${index}` })),
        )
        const seen = new Map<string, number>()
        const owners = new Map<string, string>()
        const members: { consumer: Consumer; client: Client; loop: Promise<void>; stop: () => void }[] = []
        const join = (label: string) => {
          const own = open()
          const consumer = new Consumer(own, {
            groupId,
            assignors,
            autoOffsetReset: 'earliest',
            sessionTimeoutMs: 6000,
            heartbeatIntervalMs: 200,
            autoCommitIntervalMs: 100,
          })
          consumer.subscribe([topic], {
            onAssigned(partitions) {
              for (const { partition } of partitions) {
                assert.equal(owners.get(`${partition}`), undefined, `partition ${partition} has two owners`)
                owners.set(`${partition}`, label)
              }
            },
            onRevoked(partitions) {
              for (const { partition } of partitions) owners.delete(`${partition}`)
            },
          })
          let isStopped = false
          const loop = (async () => {
            while (!isStopped) {
              for (const { partition, offset } of await consumer.poll(100)) {
                const key = `${partition}-${offset}`
                seen.set(key, (seen.get(key) ?? 0) + 1)
              }
            }
          })()
          members.push({ consumer, client: own, loop, stop: () => (isStopped = true) })
        }
        const settled = async (sizes: number[]) => {
          const endMs = env.clock.monotonicMs() + 20_000
          for (;;) {
            const now = members.map(({ consumer }) => consumer.assignment.length).sort((one, other) => one - other)
            if (now.join() === sizes.join()) return
            assert.ok(env.clock.monotonicMs() < endMs, `shares ${now} instead of ${sizes}`)
            await new Promise((resolve) => setTimeout(resolve, 50))
          }
        }
        join('one')
        await settled([6])
        join('two')
        await settled([3, 3])
        join('three')
        await settled([2, 2, 2])
        const [description] = await admin.groups.describe([groupId])
        assert.equal(description?.state, 'Stable')
        assert.equal(description?.protocol, name)
        assert.equal(description?.members.flatMap(({ assignment }) => assignment ?? []).length, 6)
        await assert.rejects(admin.groups.commitOffsets(groupId, [{ topic, partition: 0, offset: 0 }]), RebalancedError)
        assert.equal((await admin.groups.delete([groupId]))[0]?.error?.code, 'NON_EMPTY_GROUP')
        await Promise.all(
          Array.from({ length: total }, (_, index) => producer.send({ topic, key: `k${index}`, value: `${index}` })),
        )
        const leaving = members.shift()
        leaving?.stop()
        await leaving?.loop
        await leaving?.consumer.close()
        await leaving?.client.close()
        for (const [partition, owner] of owners) if (owner === 'one') owners.delete(partition)
        await settled([3, 3])
        const endMs = env.clock.monotonicMs() + 20_000
        while (seen.size < 2 * total) {
          assert.ok(env.clock.monotonicMs() < endMs, `${seen.size} of ${2 * total} records read`)
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
        for (const member of members) member.stop()
        await Promise.all(members.map(({ loop }) => loop))
        await Promise.all(members.map(({ consumer }) => consumer.close()))
        await Promise.all(members.map((member) => member.client.close()))
        await producer.close()
        // Everybody left in order, so nothing was read twice.
        assert.deepEqual(
          [...seen.values()].filter((count) => count !== 1),
          [],
        )
        const offsets = await admin.groups.offsets(groupId)
        const committed = offsets.values().reduce((sum, { offset }) => sum + offset, 0)
        assert.equal(committed, 2 * total)
        assert.deepEqual(await admin.groups.delete([groupId]), [{ groupId, error: null }])
        assert.ok(!(await admin.groups.list()).some((group) => group.groupId === groupId))
      })
    }

    await context.test('a static member comes back without a rebalance', async () => {
      await newTopic('static', 2)
      let rebalances = 0
      const start = (groupInstanceId: string) => {
        const consumer = new Consumer(client, {
          groupId: 'statics',
          groupInstanceId,
          heartbeatIntervalMs: 200,
          sessionTimeoutMs: 10_000,
          autoOffsetReset: 'earliest',
        })
        consumer.subscribe(['static'], { onAssigned: () => void rebalances++ })
        return consumer
      }
      const one = start('one')
      const two = start('two')
      const both = async (consumers: Consumer[]) => {
        const endMs = env.clock.monotonicMs() + 20_000
        while (!consumers.every(({ assignment }) => assignment.length === 1)) {
          assert.ok(env.clock.monotonicMs() < endMs, 'no stable group')
          await Promise.all(consumers.map((consumer) => consumer.poll(100)))
        }
      }
      await both([one, two])
      const before = two.assignment
      await two.close()
      const settledAt = rebalances
      const again = start('two')
      await both([one, again])
      assert.deepEqual(again.assignment, before)
      assert.equal(rebalances, settledAt + 1, 'only the member that came back was assigned anything')
      await one.close()
      await again.close()
      await admin.groups.removeMembers('statics', ['one', 'two'])
      const [description] = await admin.groups.describe(['statics'])
      assert.equal(description?.state, 'Empty')
    })

    await context.test('leaving the loop gives back what was not read', async () => {
      const consumer = new Consumer(client, { groupId: 'loop', autoOffsetReset: 'earliest' })
      consumer.subscribe(['codec-lz4'])
      let count = 0
      for await (const record of consumer) {
        assert.equal(record.offset, count)
        if (++count === 10) break
      }
      await consumer.close()
      assert.equal((await admin.groups.offsets('loop')).get({ topic: 'codec-lz4', partition: 0 })?.offset, 10)
    })

    await context.test('a producer survives the death of its server, once and in order', async () => {
      await newTopic('survivor', 1)
      const producer = new Producer(client, { lingerMs: 1, batchBytes: 500 })
      const total = 3000
      const sends: Promise<{ offset: number }>[] = []
      for (let index = 0; index < total; index++) {
        sends.push(producer.send({ topic: 'survivor', value: `${index}` }))
        if (index % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 2))
        if (index === 1500) {
          await server.kill()
          await server.start()
        }
      }
      const offsets = (await Promise.all(sends)).map(({ offset }) => offset)
      const consumer = new Consumer(client, { autoOffsetReset: 'earliest' })
      consumer.assign([{ topic: 'survivor', partition: 0 }])
      const records = await read(consumer, total)
      assert.deepEqual(
        records.map(({ value }) => value?.toString()),
        Array.from({ length: total }, (_, index) => `${index}`),
      )
      // Where the answer got lost, the copy was recognised; all others know their offsets.
      for (const [index, offset] of offsets.entries())
        assert.ok(offset === index || offset === -1, `${index} at ${offset}`)
      await consumer.close()
      await producer.close()
    })
  })
}

const JAVA_PARTITIONS = [1, 0, 1, 3, 1]
