/** What is written is read: codecs, keys, values, headers, timestamps. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Case } from '../case.ts'
import type { Context } from '../context.ts'
import { type Codec, codecs, type RecordIn, type RecordOut } from '../protocol.ts'
import { assertRead, brief, keptForEver, numbered, record, text } from './values.ts'

interface Writing {
  readonly codec?: Codec
  readonly idempotent?: boolean
  readonly configs?: Readonly<Record<string, string>>
}

/** Produces to a topic of one partition and reads it again. */
async function roundTrip(context: Context, sent: readonly RecordIn[], options: Writing = {}): Promise<RecordOut[]> {
  const topic = await context.topic('t', 1, options.configs)
  const adapter = await context.adapter()
  const { codec = 'none', idempotent = false } = options
  const produced = await adapter.ask('produce', { topic, records: sent, codec, acks: 'all', idempotent })
  const refused = produced.records.find(({ error }) => error !== null)
  assert.equal(refused, undefined, `refused: ${JSON.stringify(refused)}`)
  const { records } = await adapter.ask('consume', {
    topic,
    partition: 0,
    offset: 'earliest',
    count: sent.length,
    timeoutMs: 15_000,
  })
  assertRead(records, sent)
  return [...records]
}

/** The codec of the first batch, as it lies on the server's disk. */
function codecInLog(context: Context): Codec | undefined {
  const file = join(context.server.dataDirectory, `${context.name('t')}-0`, '00000000000000000000.log')
  const attributes = readFileSync(file).readInt16BE(21)
  return codecs[attributes & 7]
}

function withCodec(codec: Codec): Case {
  return {
    name: `codec-${codec}`,
    title: `records written and read with compression ${codec}`,
    needs: codec === 'none' ? [] : [codec],
    async run(context) {
      const sent = Array.from({ length: 50 }, (_, i) => record(`key-${i}`, `${i} `.repeat(50)))
      const read = await roundTrip(context, sent, { codec })
      assert.equal(codecInLog(context), codec)
      return brief(read)
    },
  }
}

const everyByte = Buffer.from(Array.from({ length: 256 }, (_, i) => i)).toString('base64')

function contentsCase(options: {
  name: string
  title: string
  needs?: Case['needs']
  records: readonly RecordIn[]
}): Case {
  return {
    name: options.name,
    title: options.title,
    needs: options.needs ?? [],
    run: async (context) => brief(await roundTrip(context, options.records)),
  }
}

const timesSent = [1_700_000_000_000, 1_700_000_000_500, 1_699_999_000_000, 1_700_000_100_001]

export const recordCases: readonly Case[] = [
  ...codecs.map(withCodec),
  contentsCase({
    name: 'keys',
    title: 'no key, text, every byte',
    records: [record(null, 'no key'), record('schlüssel', 'text'), { ...record('', 'b'), key: everyByte }],
  }),
  contentsCase({
    name: 'values',
    title: 'binary values and text',
    records: [{ ...record('b', ''), value: everyByte }, record('c', 'größer')],
  }),
  contentsCase({
    name: 'null-values',
    title: 'values that are null',
    needs: ['null-values'],
    records: [record('a', null), record('b', null), record('b', 'there')],
  }),
  contentsCase({
    name: 'empty-bytes',
    title: 'empty keys, values and headers, beside null',
    needs: ['empty-bytes', 'null-values', 'headers'],
    records: [
      record('', 'empty key'),
      record(null, 'null key'),
      record('a', ''),
      record('a', null),
      record('b', 'empty header', { headers: [['empty', '']] }),
    ],
  }),
  contentsCase({
    name: 'headers',
    title: 'headers of text',
    needs: ['headers'],
    records: [
      record('a', 'one', { headers: [['trace', text('42')]] }),
      record('b', 'none'),
      record('c', 'more', {
        headers: [['größe', text('XL ü')]],
      }),
    ],
  }),
  contentsCase({
    name: 'binary-headers',
    title: 'a header of every byte',
    needs: ['headers', 'binary-headers'],
    records: [record('a', 'one', { headers: [['all', everyByte]] })],
  }),
  contentsCase({
    name: 'repeated-headers',
    title: 'several headers of one name',
    needs: ['headers', 'repeated-headers'],
    records: [
      record('a', 'one', {
        headers: [
          ['hop', text('1')],
          ['hop', text('2')],
          ['hop', text('3')],
          ['other', text('x')],
        ],
      }),
    ],
  }),
  contentsCase({
    name: 'null-headers',
    title: 'a header without a value',
    needs: ['headers', 'null-headers'],
    records: [
      record('a', 'one', {
        headers: [
          ['nothing', null],
          ['empty', ''],
        ],
      }),
    ],
  }),
  {
    name: 'timestamps',
    title: 'timestamps of the producer, also going back',
    needs: ['timestamps'],
    async run(context) {
      const sent = timesSent.map((timestamp, i) => record(`key-${i}`, 'timed', { timestamp }))
      const read = await roundTrip(context, sent, { configs: keptForEver })
      const times = read.map(({ timestamp, timestampType }) => ({ timestamp, timestampType }))
      assert.deepEqual(
        times.map(({ timestamp }) => timestamp),
        timesSent,
      )
      return times
    },
  },
  {
    name: 'append-time',
    title: 'message.timestamp.type=LogAppendTime',
    needs: [],
    async run(context) {
      const configs = { 'message.timestamp.type': 'LogAppendTime' }
      const before = Date.now()
      const read = await roundTrip(context, numbered(3), { configs, codec: 'none' })
      for (const { timestamp } of read)
        assert.ok(timestamp >= before && timestamp <= Date.now(), `stamped ${timestamp}`)
      return read.map(({ offset, timestampType }) => ({ offset, timestampType }))
    },
  },
  {
    name: 'idempotence',
    title: 'an idempotent producer, 2,000 records',
    needs: ['idempotence'],
    async run(context) {
      const read = await roundTrip(context, numbered(2000), { idempotent: true })
      return { records: read.length, last: read.at(-1)?.offset }
    },
  },
  {
    name: 'large',
    title: 'records of 900 kB, and 1,000 of 1 kB',
    needs: [],
    async run(context) {
      const sent = [record('a', 'x'.repeat(900_000)), record('b', 'y'.repeat(900_000))]
      const small = Array.from({ length: 1000 }, (_, i) => record(`${i}`, 'z'.repeat(1000)))
      // Some clients put all of them into one batch.
      const configs = { 'max.message.bytes': '10000000' }
      return { records: (await roundTrip(context, [...sent, ...small], { configs })).length }
    },
  },
]
