/**
 * `npm run real-data -- [--server millrace|kafka] [--producer kcat|java] [--client confluent-kafka|kafkajs|java] [--nodes 1|3]`
 *
 * Real rows through real clients. For each producer, the rows of two public data sets are fed to it while the node is
 * killed and restarted. Then for each consumer, a group of three reads them back while members are killed, leave and
 * join, and the node is killed once more. Every row must be there exactly as often as it was sent, in order per key.
 *
 * With three nodes everything has three copies, and beside all that the leader of a partition is killed every 20 s
 * (`--kill-every`) and started again.
 */
import { join } from 'node:path'
import { Cluster } from '../cluster/cluster.ts'
import { temporaryDirectory } from '../support/files.ts'
import { until } from '../support/process.ts'
import { scriptOptions } from '../support/script-options.ts'
import type { ServerKind } from '../support/server.ts'
import { missingTools } from '../support/toolchain.ts'
import { committedOffset, listOffset } from '../support/wire-calls.ts'
import { Group } from './group.ts'
import { type ClientName, clientNames } from './members.ts'
import { type ProducerName, produceRows } from './producers.ts'
import { type Dataset, loadDatasets } from './rows.ts'
import { verifyRows } from './verify.ts'

const partitions = 6

const { values } = scriptOptions(import.meta.filename, {
  options: {
    server: { type: 'string', default: 'millrace' },
    nodes: { type: 'string', default: '1' },
    'kill-every': { type: 'string', default: '20' },
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
const nodes = Number(values.nodes)
const cluster = await Cluster.prepare({
  kind: values.server as ServerKind,
  directory,
  nodes,
  config: { 'group.initial.rebalance.delay.ms': '500', 'offsets.topic.num.partitions': '4' },
})
await cluster.start()
const datasets = loadDatasets()
const began = performance.now()
const say = (text: string) => console.log(`${((performance.now() - began) / 1000).toFixed(1).padStart(6)} s  ${text}`)
say(`${nodes} of ${cluster.kind} at ${cluster.addresses}, their logs and data are in ${directory}`)
/** The topic whose leaders are killed. */
let current: string | null = null

function endOffset(topic: string, partition: number): Promise<number> {
  return cluster.askLeader(topic, partition, (wire) => listOffset(wire, { topic, partition, timestamp: -1 }))
}

async function totalOf(topic: string): Promise<number> {
  let total = 0
  for (let partition = 0; partition < partitions; partition++) total += await endOffset(topic, partition)
  return total
}

/** One at a time: a second node must not go before the first is back. */
let crashing: Promise<void> = Promise.resolve()
function crash(when: string): Promise<void> {
  crashing = crashing.then(() => crashLeader(when))
  return crashing
}

async function crashLeader(when: string): Promise<void> {
  if (current === null) return
  const topic = current
  const leader = await cluster.leaderOf(topic, crashes++ % partitions)
  if (leader < 0) return
  const start = performance.now()
  await cluster.node(leader).kill()
  await cluster.restart(leader)
  if (nodes > 1) await cluster.inSync(topic, 120_000)
  say(`  kill -9 of node ${leader} ${when}; it was back after ${Math.round(performance.now() - start)} ms`)
}

let crashes = 0
let crashFailure: unknown = null
const killer = setInterval(() => {
  if (nodes > 1) crash('as every so often').catch((error: unknown) => (crashFailure ??= error))
}, Number(values['kill-every']) * 1000)

async function load(producer: ProducerName, topic: string, { rows }: Dataset): Promise<void> {
  await cluster.createTopic(topic, partitions, nodes > 1 ? { 'min.insync.replicas': '2' } : {})
  current = topic
  await produceRows({
    name: producer,
    address: cluster.addresses,
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
    const committed = await cluster.askCoordinator(group, (wire) => committedOffset(wire, { group, topic, partition }))
    const end = await endOffset(topic, partition)
    // A partition without records may have no offset committed.
    if (Math.max(committed, 0) !== end) behind.push(`${partition}: ${committed} of ${end}`)
  }
  return behind
}

async function readBack(client: ClientName, topic: string, dataset: Dataset): Promise<void> {
  const name = `${client}-${topic}`
  const group = new Group({ client, address: cluster.addresses, group: name, topic, directory })
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
clearInterval(killer)
await crashing
if (crashFailure !== null) throw crashFailure
for (const node of cluster.kind === 'millrace' ? cluster.nodes : []) {
  const code = await node.stop()
  if (code !== 0) throw new Error(`a clean stop of ${node.address} ended with ${code}`)
}
await cluster.kill()
say('every acknowledged row is there, once, in order per key')
