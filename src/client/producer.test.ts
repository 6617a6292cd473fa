import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiVersions } from '../protocol/apis/api-versions.ts'
import { InitProducerId } from '../protocol/apis/init-producer-id.ts'
import { Metadata } from '../protocol/apis/metadata.ts'
import { Produce } from '../protocol/apis/produce.ts'
import { recordsOf } from '../protocol/batch/records.ts'
import { decodeRequest, decodeRequestHeader, encodeResponse } from '../protocol/codec.ts'
import type { AnyApi } from '../protocol/schema.ts'
import { answeringNet, apiVersionsOf } from '../testing/answering-net.ts'
import { ManualEnv } from '../testing/manual-env.ts'
import { Client } from './client.ts'
import { UsageError } from './errors.ts'
import { Producer, type ProducerOptions } from './producer.ts'

const APIS: readonly AnyApi[] = [ApiVersions, Metadata, InitProducerId, Produce]

/** A node that leads one partition of every topic and keeps what it is sent, as soon as it is told to answer. */
class Node {
  readonly values: string[] = []
  readonly requests: string[] = []
  readonly headers: string[] = []
  isAnswering = true
  isReading = true
  unreadBytes = 0
  #unread: (() => void)[] = []
  /** Topics that do not exist yet. */
  readonly missing = new Set<string>()
  #parked: (() => void)[] = []

  readonly net = answeringNet((frame, send, sent) => {
    const take = () => {
      sent?.()
      this.#serve(frame, send)
    }
    if (this.isReading || sent === undefined) queueMicrotask(take)
    else {
      this.#unread.push(take)
      this.unreadBytes += frame.length
    }
  })

  #serve(frame: Buffer, send: (bytes: Buffer) => void): void {
    const { apiKey, apiVersion, correlationId, reader } = decodeRequestHeader(frame)
    const api = APIS.find(({ key }) => key === apiKey) as AnyApi
    const request = decodeRequest(api, apiVersion, reader)
    this.requests.push(api.name)
    // With acks 0 there is no answer.
    const isOneWay = api === Produce && (request as { acks: number }).acks === 0
    if (isOneWay) return void this.#answer(api, request)
    const answer = () =>
      send(Buffer.concat(encodeResponse(api, apiVersion, correlationId, this.#answer(api, request) as never)))
    if (api === Produce && !this.isAnswering) this.#parked.push(answer)
    else answer()
  }

  #answer(api: AnyApi, request: unknown): unknown {
    if (api === ApiVersions) return apiVersionsOf(APIS)
    if (api === InitProducerId) return { errorCode: 0, producerId: 7, producerEpoch: 0 }
    if (api === Metadata) return this.#metadata(request as { topics: { name: string }[] })
    const { topicData } = request as {
      topicData: { topicId: string; partitionData: { index: number; records: Buffer[] }[] }[]
    }
    return {
      responses: topicData.map(({ topicId, partitionData }) => ({
        name: '',
        topicId,
        partitionResponses: partitionData.map(({ index, records }) => {
          const baseOffset = this.values.length
          for (const { value, headers = [] } of recordsOf(records[0] as Buffer)) {
            this.values.push(String(value))
            this.headers.push(...headers.map((header) => `${header.key}=${header.value}`))
          }
          return { index, errorCode: 0, baseOffset, currentLeader: { leaderId: -1, leaderEpoch: -1 } }
        }),
      })),
      nodeEndpoints: [],
    }
  }

  #metadata({ topics }: { topics: { name: string }[] }) {
    const partition = { errorCode: 0, partitionIndex: 0, leaderId: 1, replicaNodes: [1], isrNodes: [1] }
    return {
      brokers: [{ nodeId: 1, host: 'node', port: 1 }],
      topics: topics.map(({ name }) => {
        const isMissing = this.missing.has(name)
        const topicId = Buffer.from(name.padEnd(16, '.')).toString('base64url')
        return { errorCode: isMissing ? 3 : 0, name, topicId, partitions: isMissing ? [] : [partition] }
      }),
    }
  }

  /** Takes what waits, and from now on at once. */
  read(): void {
    this.isReading = true
    for (const take of this.#unread.splice(0)) take()
  }

  /** Answers what waits, and from now on at once. */
  go(): void {
    this.isAnswering = true
    for (const answer of this.#parked.splice(0)) answer()
  }
}

function setUp(options: ProducerOptions = {}) {
  const node = new Node()
  const world = new ManualEnv()
  const client = new Client({ ...world.env, net: node.net }, { bootstrap: 'node:1' })
  const producer = new Producer(client, options)
  return { node, world, client, producer }
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => String(index))

test('records of calls in a row travel together and keep their order', async () => {
  const { node, world, producer } = setUp()
  const sent = numbers(100).map((value) => producer.send({ topic: 't', value }))
  await world.advance(100)
  assert.deepEqual(
    (await Promise.all(sent)).map(({ offset }) => offset),
    numbers(100).map(Number),
  )
  assert.deepEqual(node.values, numbers(100))
  assert.equal(node.requests.filter((name) => name === 'Produce').length, 1)
})

test('a batch waits for more records no longer than it may, and a flush does not wait', async () => {
  const { node, world, producer } = setUp({ lingerMs: 50 })
  void producer.send({ topic: 't', value: 'a' })
  await world.advance(49)
  void producer.send({ topic: 't', value: 'b' })
  assert.deepEqual(node.values, [])
  await world.advance(50)
  assert.deepEqual(node.values, ['a', 'b'])
  void producer.send({ topic: 't', value: 'c' })
  const flushed = producer.flush()
  await world.settle()
  await flushed
  assert.deepEqual(node.values, ['a', 'b', 'c'])
})

test('a full buffer holds up whoever sends, and the order stays', async () => {
  const { node, world, producer } = setUp({ bufferBytes: 300, batchBytes: 100, lingerMs: 0, maxInFlight: 1 })
  node.isAnswering = false
  const sent = numbers(50).map((value) => producer.send({ topic: 't', value: value.padStart(50, '.') }))
  await world.advance(10)
  const atServer = node.requests.filter((name) => name === 'Produce').length
  assert.equal(atServer, 1, 'one request under way')
  node.go()
  await world.advance(10)
  await Promise.all(sent)
  assert.deepEqual(
    node.values,
    numbers(50).map((value) => value.padStart(50, '.')),
  )
})

test('calls made before and while a topic comes into being keep their order', async () => {
  const { node, world, producer } = setUp({ lingerMs: 0 })
  node.missing.add('t')
  const sent = numbers(10).map((value) => producer.send({ topic: 't', value }))
  await world.advance(500)
  node.missing.delete('t')
  for (let index = 10; index < 200; index++) {
    sent.push(producer.send({ topic: 't', value: String(index) }))
    await world.advance(10)
  }
  await Promise.all(sent)
  assert.deepEqual(node.values, numbers(200))
})

test('closing delivers what was sent; closing now gives it up', async () => {
  const { node, world, producer } = setUp({ lingerMs: 1000 })
  const sent = producer.send({ topic: 't', value: 'a' })
  const closed = producer.close()
  await world.advance(1)
  await closed
  assert.equal((await sent).offset, 0)
  await assert.rejects(producer.send({ topic: 't', value: 'b' }), { code: 'CLOSED' })
  assert.deepEqual(node.values, ['a'])
  const other = setUp({ lingerMs: 1000 })
  const lost = other.producer.send({ topic: 't', value: 'a' })
  await other.world.advance(1)
  const closing = other.producer.close({ now: true })
  await assert.rejects(lost, { code: 'CLOSED' })
  await other.world.settle()
  await closing
  assert.deepEqual(other.node.values, [])
  assert.equal(other.world.armed, 0)
})

test('options that break the promise are refused', () => {
  const { client } = setUp()
  assert.throws(() => new Producer(client, { idempotent: true, acks: 1 }), UsageError)
  assert.throws(() => new Producer(client, { maxInFlight: 6 }), UsageError)
  assert.throws(() => new Producer(client, { maxInFlight: 0, idempotent: false }), UsageError)
})

const BAD_RECORDS: readonly (readonly [object, RegExp])[] = [
  [{ partition: Number.NaN }, /partition NaN: a whole number/],
  [{ partition: 0.5 }, /partition 0\.5/],
  [{ partition: '0' }, /partition 0/],
  [{ partition: -1 }, /no partition -1/],
  [{ timestampMs: 1.5 }, /timestampMs 1\.5/],
  [{ timestampMs: Number.NaN }, /timestampMs NaN/],
  [{ timestampMs: -5 }, /timestampMs -5/],
  [{ timestampMs: 10n }, /timestampMs 10/],
  [{ value: 5 }, /value is a number/],
  [{ key: {} }, /key is an object/],
  [{ headers: { a: 5 } }, /header a is a number/],
  [{ headers: [{ key: 5, value: null }] }, /key of a header is a number/],
  [{ topic: 5 }, /topic 5: a text/],
  [{ topic: 't'.repeat(40_000) }, /40000 bytes, at most 249/],
]

test('a record that no record can be is refused by name, and takes neither room nor the records beside it along', async () => {
  const { node, world, producer } = setUp({ bufferBytes: 200, lingerMs: 0 })
  for (const [record, message] of BAD_RECORDS) {
    const good = producer.send({ topic: 't', value: 'good' })
    const bad = producer.send({ topic: 't', value: 'bad', ...record } as never)
    const refused = assert.rejects(bad, (error) => error instanceof UsageError && message.test(error.message))
    await world.advance(1000)
    await Promise.all([good, refused])
  }
  assert.deepEqual(new Set(node.values), new Set(['good']))
  assert.equal(node.values.length, BAD_RECORDS.length)
})

test('a text as the value of a header in a list arrives as that text', async () => {
  const { node, world, producer } = setUp()
  const headers = [{ key: 'h', value: 'text' as never }]
  const sent = producer.send({ topic: 't', value: 'a', headers })
  await world.advance(100)
  await sent
  assert.deepEqual(node.headers, ['h=text'])
})

test('options that would fail when a batch is sent are refused at once', () => {
  const { client } = setUp()
  for (const [options, message] of [
    [{ compression: 'brotli' }, /compression brotli: one of none, gzip/],
    [{ acks: 2, idempotent: false }, /acks 2: one of all, 1, 0/],
    [{ batchBytes: Number.NaN }, /batchBytes NaN/],
    [{ bufferBytes: 0 }, /bufferBytes 0: a number from 1 on/],
    [{ lingerMs: -1 }, /lingerMs -1/],
    [{ maxInFlight: Number.NaN }, /maxInFlight NaN/],
  ] as const) {
    assert.throws(
      () => new Producer(client, options as never),
      (error) => error instanceof UsageError && message.test(error.message),
    )
  }
})

test('a producer that is closed now does not wait for a topic that nobody knows', async () => {
  const { node, world, producer } = setUp()
  node.missing.add('t')
  const lost = producer.send({ topic: 't', value: 'a' })
  await world.advance(500)
  const closed = producer.close({ now: true })
  await assert.rejects(lost, { code: 'CLOSED' })
  await closed
})

test('with acks 0 a server that does not read holds up whoever sends', async () => {
  const { node, world, producer } = setUp({ acks: 0, bufferBytes: 300, batchBytes: 100, lingerMs: 0 })
  node.isReading = false
  let delivered = 0
  const sent = numbers(50).map(async (value) => {
    await producer.send({ topic: 't', value: value.padStart(50, '.') })
    delivered++
  })
  await world.advance(100)
  assert.equal(delivered, 0)
  assert.ok(node.unreadBytes < 1000, `${node.unreadBytes} bytes for a server that reads nothing`)
  node.read()
  await world.advance(100)
  await Promise.all(sent)
  assert.equal(node.values.length, 50)
})
