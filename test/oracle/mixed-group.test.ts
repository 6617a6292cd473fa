import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { Admin } from '../../src/client/admin.ts'
import { cooperativeStickyAssignor } from '../../src/client/assignors/cooperative-sticky.ts'
import { rangeAssignor } from '../../src/client/assignors/range.ts'
import { Client } from '../../src/client/client.ts'
import { Consumer } from '../../src/client/consumer.ts'
import { Producer } from '../../src/client/producer.ts'
import { nodeEnv } from '../../src/env-node/node-env.ts'
import { temporaryDirectory } from '../support/files.ts'
import { toolArguments } from '../support/kafka-oracle.ts'
import { Background, until } from '../support/process.ts'
import { testServer } from '../support/test-server.ts'
import { skipWithout } from '../support/toolchain.ts'

const env = nodeEnv({ log: { level: 'error' } })
const skip = await skipWithout('kafka')
const strategies = [
  { assignor: rangeAssignor, java: 'org.apache.kafka.clients.consumer.RangeAssignor' },
  { assignor: cooperativeStickyAssignor, java: 'org.apache.kafka.clients.consumer.CooperativeStickyAssignor' },
]

for (const { assignor, java } of strategies) {
  for (const first of ['ours', 'java'] as const) {
    test(`our consumer and a Java one share a group by ${assignor.name}, led by ${first}`, {
      skip,
      timeout: 120_000,
    }, async (context) => {
      const server = await testServer(context)
      const client = new Client(env, { bootstrap: server.address })
      context.after(() => client.close())
      const admin = new Admin(client)
      await admin.createTopics([{ name: 'orders', partitions: 4, replicationFactor: 1 }])
      await client.retry('the topic', () => client.topic('orders'))
      const startJava = () => {
        const args = ['--bootstrap-server', server.address, '--topic', 'orders', '--group', 'mixed', '--from-beginning']
        const properties = [
          `partition.assignment.strategy=${java}`,
          'heartbeat.interval.ms=300',
          'session.timeout.ms=6000',
        ]
        for (const property of properties) args.push('--command-property', property)
        const outputFile = join(temporaryDirectory('java'), 'out')
        return new Background('console-consumer', 'java', toolArguments('console-consumer', args, '128M'), {
          outputFile,
        })
      }
      const consumer = new Consumer(client, {
        groupId: 'mixed',
        assignors: [assignor],
        autoOffsetReset: 'earliest',
        heartbeatIntervalMs: 200,
        sessionTimeoutMs: 6000,
      })
      const read: string[] = []
      const poll = async () => {
        for (const { value } of await consumer.poll(200)) read.push(String(value))
      }
      const settled = (sizes: number[], description = 'shares') =>
        until(
          `${description} ${sizes}`,
          async () => {
            if (consumer.memberId !== '' || first === 'ours') await poll()
            const [group] = await admin.groups.describe(['mixed'])
            const shares = group?.members.map(({ assignment }) => assignment?.length ?? 0).sort()
            return group?.state === 'Stable' && shares?.join() === sizes.join() ? true : null
          },
          { timeoutMs: 40_000 },
        )
      let other: Background
      if (first === 'ours') {
        consumer.subscribe(['orders'])
        await settled([4])
        other = startJava()
      } else {
        other = startJava()
        await settled([4])
        consumer.subscribe(['orders'])
        await poll()
      }
      context.after(() => other.kill())
      await settled([2, 2])
      const producer = new Producer(client)
      const total = 400
      await Promise.all(
        Array.from({ length: total }, (_, index) =>
          producer.send({ topic: 'orders', key: `${index}`, value: `v${index}` }),
        ),
      )
      await producer.close()
      const theirs = () =>
        other
          .output(100_000)
          .split('\n')
          .filter((line) => /^v\d+$/.test(line))
      await until(
        'all is read',
        async () => {
          await poll()
          return read.length + theirs().length >= total ? true : null
        },
        { timeoutMs: 30_000 },
      )
      assert.deepEqual([...read, ...theirs()].sort(), Array.from({ length: total }, (_, index) => `v${index}`).sort())
      assert.ok(read.length > 0 && read.length < total, `${read.length} of ${total}`)
      // The Java consumer dies; its share comes to us.
      await other.kill()
      await settled([4], 'all partitions for one:')
      await consumer.close()
    })
  }
}
