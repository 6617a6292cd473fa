/**
 * `npm run kill -- [--cycles 300]`, `npm run power -- [--cycles 100]`, both with `--nodes 1|3`
 *
 * Nodes under constant load by an idempotent producer are killed (kill -9; of several a random few), or all lose power at
 * once (only what was synced remains of their disks), at random instants, and are started again. After every cycle: no
 * acknowledged record is missing, none is there twice, none changed its place; committed group offsets and created
 * topics are still there.
 *
 * --server kafka           the same for a real Kafka
 * --durability relaxed     topics in the relaxed mode
 * --expect-loss            good only if a loss was found: shows that the test would notice
 * --seed N                 the instants
 */
import { join } from 'node:path'
import { Random } from '../../src/base/random.ts'
import { HistoryError } from '../../src/sim/history/check.ts'
import { Cluster } from '../cluster/cluster.ts'
import { Ledger } from '../history/ledger.ts'
import { TopicReader } from '../history/reader.ts'
import { Load, recognizer } from '../load/load.ts'
import { temporaryDirectory } from '../support/files.ts'
import { scriptOptions } from '../support/script-options.ts'
import type { Server, ServerKind } from '../support/server.ts'
import { missingTools } from '../support/toolchain.ts'
import { LoopDisk } from './loop-disk.ts'
import { Promises } from './promises.ts'

const { values, positionals } = scriptOptions(import.meta.filename, {
  allowPositionals: true,
  options: {
    cycles: { type: 'string', default: process.argv[2] === 'power' ? '100' : '300' },
    nodes: { type: 'string', default: '1' },
    server: { type: 'string', default: 'millrace' },
    durability: { type: 'string', default: 'fsync' },
    'expect-loss': { type: 'boolean', default: false },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e6)) },
    'per-second': { type: 'string', default: '3000' },
  },
})
const mode = positionals[0] ?? 'kill'
if (mode !== 'kill' && mode !== 'power') throw new Error(`kill or power, not ${mode}`)
const kind = values.server as ServerKind
const cycles = Number(values.cycles)
const nodes = Number(values.nodes)
const random = new Random(Number(values.seed))
const missing = await missingTools(mode === 'power' ? ['python-client', 'mount'] : ['python-client'])
if (missing.length > 0) {
  console.log(`needs ${missing.join(', ')}: npm run tools`)
  process.exit(2)
}

const topic = 'load'
const partitions = 4
const valueBytes = 200
const directory = temporaryDirectory(mode)
const disks = new Map<number, LoopDisk>()
if (mode === 'power') {
  for (let nodeId = 1; nodeId <= nodes; nodeId++) {
    disks.set(nodeId, await LoopDisk.create(join(directory, `disk${nodeId}`), 1024))
  }
}
const cluster = await Cluster.prepare({
  kind,
  directory,
  nodes,
  dataDirectoryOf: (nodeId) => join(disks.get(nodeId)?.mountPoint ?? join(directory, `node${nodeId}`), 'data'),
  config: { 'offsets.topic.num.partitions': '2' },
})
console.log(`${mode}: ${cycles} cycles of ${nodes} ${kind} (${values.durability}), seed ${values.seed}, ${directory}`)
await cluster.start()
const durability: Record<string, string> = kind === 'millrace' ? { 'durability.mode': values.durability } : {}
const minInSync: Record<string, string> = nodes === 1 ? {} : { 'min.insync.replicas': '2' }
await cluster.createTopic(topic, partitions, { ...durability, ...minInSync })
const promises = new Promises(cluster, topic)
await promises.commit(0)

const ledger = new Ledger(topic, partitions)
/** A node is back so soon that a client's usual patience would only make the test slow. */
const impatient = {
  'linger.ms': '2',
  'reconnect.backoff.ms': '20',
  'reconnect.backoff.max.ms': '100',
  'retry.backoff.ms': '20',
  'retry.backoff.max.ms': '200',
  'topic.metadata.refresh.fast.interval.ms': '50',
  'socket.timeout.ms': '5000',
}
const load = new Load({
  client: 'librdkafka',
  addresses: cluster.addresses,
  topic,
  producer: 0,
  partitions,
  perSecond: Number(values['per-second']),
  valueBytes,
  settings: impatient,
  directory,
  onAck: (ack) => ledger.acked(ack),
})
const recognize = recognizer({ valueBytes: new Map([[0, valueBytes]]) })
const reader = new TopicReader(ledger, cluster.askLeader, recognize)
const readyMs: number[] = []
const resumedMs: number[] = []

/** Ends some nodes as the mode says; returns those to start again. */
async function strike(): Promise<Server[]> {
  const machines = cluster.nodes.flatMap((node) => {
    const disk = disks.get(node.place.nodeId)
    return disk === undefined ? [] : [{ disk, pid: node.process.pid }]
  })
  if (mode === 'power') {
    await LoopDisk.cutPower(machines, () => cluster.kill())
    return [...cluster.nodes]
  }
  const victims = new Set<Server>()
  for (let count = random.between(1, nodes); count > 0; count--) victims.add(random.pick(cluster.nodes))
  await Promise.all([...victims].map((node) => node.kill()))
  return [...victims]
}

async function cycle(index: number): Promise<void> {
  await load.advances(1, 60_000)
  const created = index % 10 === 0 ? `made-${index}` : null
  await Promise.all([
    promises.commit(index),
    created === null ? null : promises.create(created),
    new Promise((resolve) => setTimeout(resolve, random.between(20, 900))),
  ])
  const victims = await strike()

  const start = performance.now()
  for (const node of victims) await node.launch()
  for (const node of victims) await node.ready(90_000)
  readyMs.push(performance.now() - start)
  await load.advances(1, 60_000)
  resumedMs.push(performance.now() - start)
  await reader.readNew(2000)
  await promises.check()
}

async function run(): Promise<void> {
  for (let index = 1; index <= cycles; index++) {
    try {
      await cycle(index)
    } catch (error) {
      if (error instanceof HistoryError) console.log(`in cycle ${index}:`)
      throw error
    }
    if (index % 25 === 0) console.log(`  ${index} cycles, ${ledger.read} records, all as acknowledged`)
  }
  await load.finish()
  await reader.readAll()
  if (ledger.read !== load.sent) throw new Error(`${load.sent} records sent and acknowledged, ${ledger.read} there`)
}

const median = (list: readonly number[]) => [...list].sort((a, b) => a - b)[list.length >> 1] ?? Number.NaN
const line = (list: readonly number[]) =>
  `${Math.round(median(list))} ms median, ${Math.round(Math.max(...list))} ms at most`
try {
  await run()
  console.log(`start to serving ${line(readyMs)}; start to the next acknowledged record ${line(resumedMs)}`)
  console.log(`${cycles} cycles, ${ledger.read} records acknowledged: none lost, none twice, none moved`)
  if (values['expect-loss']) {
    console.log('but a loss was expected')
    process.exitCode = 1
  }
} catch (error) {
  if (!(error instanceof HistoryError)) {
    for (const node of cluster.nodes) console.log(node.isRunning ? node.process.output() : `${node.address} is down`)
  }
  if (error instanceof HistoryError && values['expect-loss']) console.log(`as expected: ${error.message}`)
  else throw error
} finally {
  await cluster.kill()
}
process.exit()
