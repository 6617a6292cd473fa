/**
 * `npm run real-data -- [--server millrace|kafka] [--producer kcat|java] [--client confluent-kafka|kafkajs|java]`
 *
 * Real rows through real clients. For each producer, the rows of two public data sets are fed to it while the node is
 * killed and restarted. Then for each consumer, a group of three reads them back while members are killed, leave and
 * join, and the node is killed once more. Every row must be there exactly as often as it was sent, in order per key.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { temporaryDirectory } from '../support/files.ts'
import { until } from '../support/process.ts'
import { readyTopic, retried } from '../support/retry.ts'
import { Server, type ServerKind } from '../support/server.ts'
import { missingTools } from '../support/toolchain.ts'
import { committedOffset, listOffset } from '../support/wire-calls.ts'
import { Group } from './group.ts'
import { type ClientName, clientNames } from './members.ts'
import { type ProducerName, produceRows } from './producers.ts'
import { type Dataset, loadDatasets } from './rows.ts'
import { verifyRows } from './verify.ts'

const partitions = 6

const { values } = parseArgs({
  options: {
    server: { type: 'string', default: 'millrace' },
    producer: { type: 'string', multiple: true, default: ['kcat', 'java'] },
    client: { type: 'string', multiple: true, default: [...clientNames] },
  },
})
const missing = await missingTools(['kafka', 'kcat', 'python-client'])
if (missing.length > 0) {
  console.log(`needs ${missing.join(', ')}: npm run tools`)
  process.exit(2)
}

const directory = temporaryDirectory('real-data')
const server = await Server.start({
  kind: values.server as ServerKind,
  directory,
  config: { 'group.initial.rebalance.delay.ms': '500', 'offsets.topic.num.partitions': '4' },
})
const datasets = loadDatasets()
const began = performance.now()
const say = (text: string) => console.log(`${((performance.now() - began) / 1000).toFixed(1).padStart(6)} s  ${text}`)
say(`${server.kind} listens on ${server.address}, its log and data are in ${directory}`)

function endOffset(topic: string, partition: number): Promise<number> {
  return retried(server.address, (wire) => listOffset(wire, { topic, partition, timestamp: -1 }))
}

async function totalOf(topic: string): Promise<number> {
  let total = 0
  for (let partition = 0; partition < partitions; partition++) total += await endOffset(topic, partition)
  return total
}

async function crash(when: string): Promise<void> {
  const start = performance.now()
  await server.kill()
  await server.start()
  say(`  kill -9 of the node ${when}; it served again after ${Math.round(performance.now() - start)} ms`)
}

async function load(producer: ProducerName, topic: string, { rows }: Dataset): Promise<void> {
  await readyTopic(server.address, topic, partitions)
  await produceRows({
    name: producer,
    address: server.address,
    topic,
    rows,
    outputFile: join(directory, `${topic}.${producer}`),
    interlude: {
      atRow: Math.floor(rows.length * 0.4),
      async run() {
        await until('the first acknowledged rows', async () => ((await totalOf(topic)) > 0 ? true : null), {
          timeoutMs: 30_000,
        })
        await crash(`while ${producer} sends`)
      },
    },
  })
  const total = await totalOf(topic)
  say(`${producer} delivered ${rows.length} rows to ${topic}; the log holds ${total}`)
}

/** Partitions whose committed offset is not the end, in words. */
async function uncommitted(group: string, topic: string): Promise<string[]> {
  const behind: string[] = []
  for (let partition = 0; partition < partitions; partition++) {
    const committed = await retried(server.address, (wire) => committedOffset(wire, { group, topic, partition }))
    const end = await endOffset(topic, partition)
    // A partition without records may have no offset committed.
    if (Math.max(committed, 0) !== end) behind.push(`${partition}: ${committed} of ${end}`)
  }
  return behind
}

async function readBack(client: ClientName, topic: string, dataset: Dataset): Promise<void> {
  const name = `${client}-${topic}`
  const group = new Group({ client, address: server.address, group: name, topic, directory })
  const total = dataset.rows.length
  for (let i = 0; i < 3; i++) group.add()
  await group.reaches(total * 0.1, 60_000)
  await group.killBusiest()
  group.add()
  await group.reaches(total * 0.3, 60_000)
  if (dataset.name === 'birdstrikes') await crash(`while ${client} reads`)
  await group.stopOne()
  group.add()
  await group.reaches(total * 0.6, 90_000)
  await group.killBusiest()
  group.add()
  await group.reaches(total, 180_000)
  // A row may have been seen from a member that was killed before it committed: another one reads it again.
  await until(
    `${name} has committed everything`,
    async () => ((await uncommitted(name, topic)).length === 0 ? true : null),
    { timeoutMs: 60_000, everyMs: 200 },
  )
  await group.stopAll()
  const behind = await uncommitted(name, topic)
  if (behind.length > 0) throw new Error(`${name}: a committed offset went back: ${behind.join(', ')}`)
  verifyRows(dataset, group.seen)
  say(`${client} read all ${total} rows of ${topic} in order; by member: ${group.shares.join(' ')}`)
}

for (const producer of values.producer as ProducerName[]) {
  for (const dataset of datasets) {
    const topic = `${dataset.name}.${producer}`
    await load(producer, topic, dataset)
    for (const client of values.client as ClientName[]) await readBack(client, topic, dataset)
  }
}
const code = await server.stop()
if (code !== 0 && server.kind === 'millrace') throw new Error(`a clean stop ended with ${code}`)
say('every acknowledged row is there, once, in order per key')
