/**
 * Apache Kafka and Millrace in one cluster, controllers of either make: a topic moves from the one to the other and back,
 * while idempotent producers write and everything is read. It is the way in, and the way out.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { Ledger } from '../history/ledger.ts'
import { TopicReader } from '../history/reader.ts'
import { Load, recognizer } from '../load/load.ts'
import { temporaryDirectory } from '../support/files.ts'
import { KafkaNode } from '../support/kafka-node.ts'
import { runTool } from '../support/kafka-oracle.ts'
import { freePort } from '../support/ports.ts'
import { until } from '../support/process.ts'
import { retried } from '../support/retry.ts'
import { testServer } from '../support/test-server.ts'
import { skipWithout } from '../support/toolchain.ts'
import { metadata, type WirePartition } from '../support/wire-calls.ts'
import type { Wire } from '../support/wire.ts'

/** Minutes on a small machine. */
const isWanted = process.env.MILLRACE_MIXED === '1'
const skip = isWanted ? await skipWithout('kafka', 'python-client') : 'MILLRACE_MIXED=1 runs it'
const CLUSTER = 'bWlsbHJhY2UtdGVzdC0wMQ'
const TOPIC = 'moving'
const PARTITIONS = 2
const KEYS = 20
const GROUP = 'readers'

interface Member {
  readonly nodeId: number
  readonly address: string
  readonly dataDirectory: string
}

/** Two brokers, node 1 and node 2, and what is asked of them. */
class Pair {
  readonly #members: readonly Member[]
  readonly #folder = temporaryDirectory('moves')
  #moves = 0

  constructor(...members: readonly [Member, Member]) {
    this.#members = members
  }

  get addresses(): string {
    return this.#members.map(({ address }) => address).join(',')
  }

  get #first(): string {
    return this.#members[0]?.address as string
  }

  async tool(name: Parameters<typeof runTool>[0], ...args: string[]): Promise<string> {
    const told = ['--bootstrap-server', this.#first, ...args]
    const { code, stdout, stderr } = await runTool(name, told, { timeoutMs: 60_000 })
    assert.equal(code, 0, `${name} ${told.join(' ')}: ${stdout}${stderr}`)
    return stdout
  }

  async partitions(topic = TOPIC): Promise<WirePartition[]> {
    const { topics } = await retried(this.#first, (wire) => metadata(wire, [topic]))
    return topics[0]?.partitions ?? []
  }

  /** The topic to these replicas, the first of which is to lead; resolves when all of them are in sync and it does. */
  async move(topic: string, replicas: readonly number[]): Promise<void> {
    const file = join(this.#folder, `move-${++this.#moves}.json`)
    const partitions = (await this.partitions(topic)).map(({ partition }) => ({ topic, partition, replicas }))
    writeFileSync(file, JSON.stringify({ version: 1, partitions }))
    await this.tool('reassign-partitions', '--reassignment-json-file', file, '--execute')
    const isDone = async (done: (partition: WirePartition) => boolean) =>
      (await this.partitions(topic)).every(done) ? true : null
    const isInSync = ({ isr, replicas: now }: WirePartition) =>
      String(now) === String(replicas) && isr.length === replicas.length
    await until(`${topic} has the replicas ${replicas}`, () => isDone(isInSync), { timeoutMs: 60_000 })
    if ((await isDone(({ leader }) => leader === replicas[0])) === null) {
      await this.tool('leader-election', '--election-type', 'preferred', '--all-topic-partitions')
    }
    await until(`${replicas[0]} leads ${topic}`, () => isDone(({ leader }) => leader === replicas[0]), {
      timeoutMs: 30_000,
    })
  }

  /** A member of the group reads so many records, commits, and goes. */
  async consume(records: number): Promise<void> {
    const args = ['--topic', TOPIC, '--group', GROUP, '--max-messages', String(records), '--timeout-ms', '30000']
    await this.tool('console-consumer', ...args, '--from-beginning')
  }

  /** The group's offset in each partition. */
  async committed(): Promise<string[]> {
    const described = await this.tool('consumer-groups', '--describe', '--group', GROUP)
    const rows = described.split('\n').map((line) => line.trim().split(/\s+/))
    return rows
      .filter(([group]) => group === GROUP)
      .map(([, topic, partition, offset]) => `${topic}-${partition} ${offset}`)
  }

  /** Runs `call` on the leader of the partition. */
  ask = async <T>(_: string, partition: number, call: (wire: Wire) => Promise<T>): Promise<T> => {
    for (;;) {
      const leader = (await this.partitions()).find(({ partition: index }) => index === partition)?.leader
      const member = this.#members.find(({ nodeId }) => nodeId === leader)
      if (member === undefined) continue
      try {
        return await retried(member.address, call, 2000)
      } catch {
        // It leads no more: asked again who does.
      }
    }
  }

  /** What both replicas hold of a partition is the same, byte for byte. Returns how many bytes that is. */
  sameBytes(partition: number): number {
    const [one, other] = this.#members.map(({ dataDirectory }) =>
      batchesIn(join(dataDirectory, `${TOPIC}-${partition}`)),
    )
    assert.ok(one !== undefined && other !== undefined)
    const bytes = Math.min(one.length, other.length)
    assert.ok(one.subarray(0, bytes).equals(other.subarray(0, bytes)), `${TOPIC}-${partition} differs`)
    return bytes
  }
}

/** All batches of a partition, as they lie in its segments one after the other. */
function batchesIn(directory: string): Buffer {
  const segments = readdirSync(directory)
    .filter((name) => name.endsWith('.log'))
    .sort()
    .map((name) => readFileSync(join(directory, name)))
  return Buffer.concat(segments)
}

async function groupBegins(pair: Pair): Promise<string[]> {
  await pair.consume(100)
  return await pair.committed()
}

/** The group's offsets go to node 2 and come back, and the group goes on where it was. */
async function groupMoves(pair: Pair, committed: readonly string[]): Promise<void> {
  await pair.move('__consumer_offsets', [2])
  assert.deepEqual(await pair.committed(), committed)
  await pair.consume(100)
  const later = await pair.committed()
  assert.notDeepEqual(later, committed)
  await pair.move('__consumer_offsets', [1])
  assert.deepEqual(await pair.committed(), later)
}

/** A topic that lies on node 1 goes to node 2 and comes back. */
async function thereAndBack(context: TestContext, pair: Pair): Promise<void> {
  await pair.tool('topics', '--create', '--topic', TOPIC, '--replica-assignment', Array(PARTITIONS).fill('1').join(','))
  const ledger = new Ledger(TOPIC, PARTITIONS)
  const reader = new TopicReader(ledger, pair.ask, recognizer({ keys: KEYS, valueBytes: new Map([[1, 300]]) }))
  const load = new Load({
    client: 'librdkafka',
    addresses: pair.addresses,
    topic: TOPIC,
    producer: 1,
    keys: KEYS,
    perSecond: 300,
    valueBytes: 300,
    directory: temporaryDirectory('load'),
    onAck: (ack) => ledger.acked(ack),
  })
  const step = async (...replicas: readonly number[]) => {
    await pair.move(TOPIC, replicas)
    await load.advances(300, 60_000)
    await reader.readNew(200)
    if (replicas.length < 2) return
    for (let partition = 0; partition < PARTITIONS; partition++) assert.ok(pair.sameBytes(partition) > 0)
  }
  await load.advances(300, 60_000)
  const committed = await groupBegins(pair)
  await step(1, 2)
  await step(2, 1)
  await step(2)
  await groupMoves(pair, committed)
  await step(2, 1)
  await step(1, 2)
  await step(1)
  await load.finish()
  await reader.readAll()
  assert.equal(ledger.read, load.sent, 'every record is there once')
  context.diagnostic(`${ledger.acknowledged} records acknowledged, all read back`)
}

test('a topic moves from Apache Kafka to Millrace and back, under a Kafka controller', {
  skip,
  timeout: 280_000,
}, async (context) => {
  const kafka = await KafkaNode.first(context, CLUSTER)
  const [port, controllerPort, httpPort] = [await freePort(), await freePort(), await freePort()]
  const millrace = await testServer(context, {
    kind: 'millrace',
    config: { 'process.roles': 'broker' },
    place: {
      nodeId: 2,
      zone: null,
      address: `127.0.0.1:${port}`,
      controllerAddress: `127.0.0.1:${controllerPort}`,
      httpAddress: `127.0.0.1:${httpPort}`,
      voters: [
        { nodeId: 1, address: kafka.controllerAddress },
        { nodeId: 2, address: '' },
      ],
      join: kafka.controllerAddress,
    },
  })
  const { address, dataDirectory } = millrace
  await thereAndBack(context, new Pair(kafka, { nodeId: 2, address, dataDirectory }))
})

test('a topic moves from Millrace to Apache Kafka and back, under a Millrace controller', {
  skip,
  timeout: 280_000,
}, async (context) => {
  // Else its controller keeps copies of internal topics on both.
  const config = { 'offsets.topic.replication.factor': '1' }
  const millrace = await testServer(context, { kind: 'millrace', config })
  const { address, dataDirectory, place } = millrace
  const meta = readFileSync(join(dataDirectory, 'meta.properties'), 'utf8')
  const clusterId = /^cluster\.id=(.*)$/m.exec(meta)?.[1] as string
  const kafka = await KafkaNode.broker(context, 2, clusterId, place.controllerAddress)
  const pair = new Pair({ nodeId: 1, address, dataDirectory }, kafka)
  const isThere = async () => {
    const { brokers } = await retried(address, (wire) => metadata(wire, []))
    return brokers.length === 2 ? true : null
  }
  await until('the Kafka is a broker', isThere, { timeoutMs: 60_000 })
  await thereAndBack(context, pair)
})
