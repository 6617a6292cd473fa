/** Where records go, and what is not taken. */
import assert from 'node:assert/strict'
import { listOffset } from '../../support/wire-calls.ts'
import type { Case } from '../case.ts'
import type { Context } from '../context.ts'
import type { Command, RecordIn } from '../protocol.ts'
import { Refused } from '../adapter.ts'
import { errorOf, numbered, record } from './values.ts'

async function produce(context: Context, topic: string, records: RecordIn[], more: Partial<Command<'produce'>> = {}) {
  const adapter = await context.adapter()
  const command = { topic, records, codec: 'none', acks: 'all', idempotent: false, ...more } as const
  return [...(await adapter.ask('produce', command)).records]
}

/** The errors of records that are not taken, whether the client tells them one by one or for all. */
async function refused(context: Context, topic: string, records: RecordIn[], more: Partial<Command<'produce'>> = {}) {
  try {
    return (await produce(context, topic, records, more)).map(({ error }) => errorOf(error))
  } catch (error) {
    if (error instanceof Refused) return [errorOf(error.failure)]
    throw error
  }
}

async function produceAll(context: Context, topic: string, records: RecordIn[]) {
  const produced = await produce(context, topic, records)
  const refusal = produced.find(({ error }) => error !== null)
  assert.equal(refusal, undefined, `refused: ${JSON.stringify(refusal)}`)
  return produced
}

/** The keys that each partition holds, in their order. */
async function keysByPartition(context: Context, topic: string, partitions: number): Promise<string[][]> {
  const adapter = await context.adapter()
  const keys: string[][] = []
  for (let partition = 0; partition < partitions; partition++) {
    const count = await context.wire((wire) => listOffset(wire, { topic, partition, timestamp: -1 }))
    if (count === 0) {
      keys.push([])
      continue
    }
    const wanted = { topic, partition, offset: 'earliest', count, timeoutMs: 15_000 } as const
    const { records } = await adapter.ask('consume', wanted)
    assert.equal(records.length, count)
    keys.push(records.map(({ key }) => Buffer.from(key ?? '', 'base64').toString()))
  }
  return keys
}

function acksCase(acks: 'all' | '1' | '0'): Case {
  return {
    name: `acks-${acks}`,
    title: `acks=${acks}`,
    needs: ['acks'],
    async run(context) {
      const topic = await context.topic('t')
      const produced = await produce(context, topic, numbered(5), { acks })
      const adapter = await context.adapter()
      const wanted = { topic, partition: 0, offset: 'earliest', count: 5, timeoutMs: 15_000 } as const
      const { records } = await adapter.ask('consume', wanted)
      assert.equal(records.length, 5)
      return produced.map(({ offset, error }) => ({ offset, error }))
    },
  }
}

export const producingCases: readonly Case[] = [
  {
    name: 'explicit-partitions',
    title: 'partitions that the record names',
    needs: ['partitions'],
    async run(context) {
      const topic = await context.topic('t', 3)
      const produced = await produce(
        context,
        topic,
        numbered(9, (i) => ({ partition: (i * 2) % 3 })),
      )
      const keys = await keysByPartition(context, topic, 3)
      assert.deepEqual(
        keys,
        [0, 2, 1].map((first) => [first, first + 3, first + 6].map((i) => `key-${i}`)),
      )
      return { keys, offsets: produced.map(({ offset }) => offset) }
    },
  },
  {
    name: 'partitioner',
    title: "the client's own partitioner: each key to its partition",
    needs: [],
    async run(context) {
      const topic = await context.topic('t', 3)
      await produceAll(context, topic, numbered(30))
      const first = await keysByPartition(context, topic, 3)
      await produceAll(context, topic, numbered(30))
      const both = await keysByPartition(context, topic, 3)
      assert.deepEqual(
        both,
        first.map((keys) => [...keys, ...keys]),
      )
      return first
    },
  },
  acksCase('all'),
  acksCase('1'),
  acksCase('0'),
  {
    name: 'produce-unknown-topic',
    title: 'producing to a topic that does not exist',
    needs: ['produce-errors'],
    run: async (context) => refused(context, context.name('missing'), numbered(1)),
  },
  {
    name: 'produce-bad-topic',
    title: 'producing to a topic whose name is not allowed',
    needs: ['produce-errors'],
    run: async (context) => refused(context, 'not allowed!', numbered(1)),
  },
  {
    name: 'produce-too-large',
    title: 'a record larger than max.message.bytes',
    needs: ['produce-errors', 'large-records'],
    async run(context) {
      const topic = await context.topic('t')
      return refused(context, topic, [record('a', 'x'.repeat(1_500_000))], { maxBytes: 5_000_000 })
    },
  },
  {
    name: 'produce-no-key-compacted',
    title: 'a record without a key to a compacted topic',
    needs: ['produce-errors'],
    async run(context) {
      const topic = await context.topic('t', 1, { 'cleanup.policy': 'compact' })
      return refused(context, topic, [record(null, 'no key')])
    },
  },
  {
    name: 'produce-bad-timestamp',
    title: 'a timestamp outside message.timestamp.before.max.ms',
    needs: ['produce-errors', 'timestamps'],
    async run(context) {
      const topic = await context.topic('t', 1, { 'message.timestamp.before.max.ms': '60000' })
      return refused(context, topic, [record('a', 'old', { timestamp: 1_500_000_000_000 })])
    },
  },
  {
    name: 'produce-not-enough-replicas',
    title: 'acks=all where min.insync.replicas cannot be met',
    needs: ['produce-errors', 'acks'],
    async run(context) {
      const topic = await context.topic('t', 1, { 'min.insync.replicas': '2' })
      return refused(context, topic, numbered(1))
    },
  },
]
