/**
 * `npm run chaos -- [--minutes 10] [--every 15] [--server millrace|kafka] [--seed N] [--faults 'kill -9,SIGSTOP']`, as root
 *
 * Three nodes in three zones (network namespaces), written to by an idempotent librdkafka and an idempotent Java producer in a fourth
 * one. Every so many seconds a random node is killed (kill -9), stopped, paused, or cut off in one of several ways, one
 * way only among them, or loses power (what was synced remains of its disk), or its disk is full or slow; half way through, a whole zone is gone for a minute. All the time the topic is read, and at the end once
 * more from the beginning: every acknowledged record is there exactly once, in order for each producer and key.
 *
 * --per-second N   records a second of each producer; 0: as many as it can
 * --calm-seconds   before the first fault, as a measure for what follows
 * --zone-seconds   how long the zone is gone; 0: never
 * --report FILE    what came of it, as JSON
 * --disk-mb        of each node, on a loop-mounted file system
 */
import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { Random } from '../../src/base/random.ts'
import { Cluster, zoneOf } from '../cluster/cluster.ts'
import { enterOwnNetwork, ZoneNetwork } from '../cluster/zone-network.ts'
import { LoopDisk } from '../crash/loop-disk.ts'
import { Ledger } from '../history/ledger.ts'
import { TopicReader } from '../history/reader.ts'
import { Load, type LoadClient, recognizer } from '../load/load.ts'
import { temporaryDirectory } from '../support/files.ts'
import { scriptOptions } from '../support/script-options.ts'
import type { ServerKind } from '../support/server.ts'
import { missingTools } from '../support/toolchain.ts'
import { Availability, type ChaosReport } from './availability.ts'
import { faultNames, Nemesis } from './nemesis.ts'
import { ProcessorTime } from './processor-time.ts'

const { values } = scriptOptions(import.meta.filename, {
  options: {
    minutes: { type: 'string', default: '10' },
    every: { type: 'string', default: '15' },
    server: { type: 'string', default: 'millrace' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e6)) },
    faults: { type: 'string', default: faultNames.join(',') },
    'per-second': { type: 'string', default: '3000' },
    'calm-seconds': { type: 'string', default: '10' },
    'zone-seconds': { type: 'string', default: '60' },
    partitions: { type: 'string', default: '12' },
    'disk-mb': { type: 'string', default: '4096' },
    report: { type: 'string' },
  },
})
const missing = await missingTools(['kafka', 'python-client', 'network', 'mount', 'strace'])
if (missing.length > 0) {
  console.log(`needs ${missing.join(', ')}: npm run tools, as root`)
  process.exit(2)
}
await enterOwnNetwork()

const began = performance.now()
const say = (text: string) => console.log(`${((performance.now() - began) / 1000).toFixed(1).padStart(6)} s  ${text}`)
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const durationMs = Number(values.minutes) * 60_000
const random = new Random(Number(values.seed))
const clientZone = 'clients'
const topic = 'chaos'
const partitions = Number(values.partitions)
const keys = 200
const valueBytes = 200

const directory = temporaryDirectory('chaos')
const network = await ZoneNetwork.create([...[1, 2, 3].map(zoneOf), clientZone])
const disks = new Map<number, LoopDisk>()
for (const nodeId of [1, 2, 3]) {
  disks.set(nodeId, await LoopDisk.create(join(directory, `disk${nodeId}`), Number(values['disk-mb'])))
}
const dataDirectoryOf = (nodeId: number) => join((disks.get(nodeId) as LoopDisk).mountPoint, 'data')
const kind = values.server as ServerKind
const cluster = await Cluster.prepare({ kind, directory, nodes: 3, network, dataDirectoryOf })
await cluster.start()
await cluster.createTopic(topic, partitions, { 'min.insync.replicas': '2' })
say(`three nodes of ${cluster.kind} serve, seed ${values.seed}, their logs and data are in ${directory}`)

const ledger = new Ledger(topic, partitions)
const availability = new Availability(partitions)
const reader = new TopicReader(ledger, cluster.askLeader, recognizer({ keys, valueBytes: new Map([[0, valueBytes]]) }))
/** Who writes to a node that has fallen silent must not wait for the usual minute. */
const settings: Record<LoadClient, Record<string, string>> = {
  librdkafka: {
    'socket.timeout.ms': '1000',
    'socket.connection.setup.timeout.ms': '1000',
    'reconnect.backoff.max.ms': '500',
  },
  java: {
    'request.timeout.ms': '1000',
    'socket.connection.setup.timeout.ms': '1000',
    // Its records are small, and each that waits takes many times its size of the client's memory.
    'buffer.memory': '8388608',
  },
}
const loads = (['librdkafka', 'java'] as const).map((client, producer) => {
  return new Load({
    client,
    addresses: cluster.addresses,
    topic,
    producer,
    keys,
    perSecond: Number(values['per-second']),
    valueBytes,
    settings: settings[client],
    wrapper: network.wrapperOf(clientZone),
    directory,
    onAck(ack) {
      ledger.acked(ack)
      availability.add(ack)
    },
  })
})
const nemesis = new Nemesis({ cluster, random, clientZone, disks }, values.faults.split(','))

/** Reads along for as long as the faults last. */
async function readAlong(until: () => boolean): Promise<void> {
  while (!until()) {
    await reader.readNew(500)
    await wait(3000)
  }
}

const processors = new ProcessorTime()

async function watchProcessors(until: () => boolean): Promise<void> {
  while (!until()) {
    const nodes = cluster.nodes.filter(({ isRunning }) => isRunning).map(({ process: { pid } }) => pid)
    processors.look({ nodes, producers: loads.map(({ pid }) => pid), 'this process': [process.pid] })
    await wait(500)
  }
}

/** Nodes that the controllers took for dead, whatever they were. */
function fencings(): string[] {
  const fenced = /is fenced: ([^"]*)/g
  return cluster.nodes.flatMap((node) => [...node.process.output(1e8).matchAll(fenced)].map(([, why = '']) => why))
}

async function strikeUntil(endMs: number): Promise<void> {
  let zoneDue = Number(values['zone-seconds']) > 0
  while (performance.now() < endMs) {
    const nextMs = performance.now() + Number(values.every) * 1000
    if (zoneDue && performance.now() > endMs - durationMs / 2) {
      zoneDue = false
      await nemesis.loseZone(Number(values['zone-seconds']) * 1000)
    } else await nemesis.strike()
    say(`${nemesis.strikes.at(-1)?.text}; ${ledger.acknowledged} acknowledged, ${ledger.read} read`)
    for (const load of loads) await load.advances(1, 120_000)
    await wait(Math.max(0, nextMs - performance.now()))
  }
}

async function run(): Promise<void> {
  for (const load of loads) await load.advances(1000, 60_000)
  await wait(2000) // clients and nodes warm up a little
  const calmMs = Number(values['calm-seconds']) * 1000
  availability.restart()
  await wait(calmMs)
  const calm = availability.slots(calmMs)
  availability.restart()
  const start = performance.now()
  let over = false
  const struck = strikeUntil(start + durationMs).finally(() => (over = true))
  await Promise.all([struck, readAlong(() => over), watchProcessors(() => over)])
  const tookMs = performance.now() - start
  await cluster.inSync(topic, 60_000)
  say('healed, and all copies are in sync')
  for (const load of loads) await load.finish()
  await reader.readAll()
  report(tookMs, calm)
}

const percents = (shares: readonly number[]) => shares.map((share) => `${(share * 100).toFixed(3)} %`).join(' and ')

function report(tookMs: number, calm: readonly number[]): void {
  const sent = loads.reduce((sum, load) => sum + (load.sent ?? Number.NaN), 0)
  if (ledger.read !== sent) throw new Error(`${sent} records sent and acknowledged, ${ledger.read} there`)
  const byFault = availability.byFault(nemesis.strikes)
  const share = availability.share(tookMs)
  const slots = availability.slots(tookMs)
  const inTime = ledger.delays([1000, 5000])
  if (values.report !== undefined) {
    writeFileSync(
      values.report,
      JSON.stringify({ share, slots, inTime, byFault, acknowledged: sent } satisfies ChaosReport),
    )
  }
  for (const { name, times, longestMs } of byFault) {
    say(`${name}: ${times} times, longest gap ${longestMs} ms`)
  }
  say(`${(share * 100).toFixed(3)} % of the time a partition acknowledged without a gap over 250 ms`)
  say(
    `a partition acknowledged something in ${percents(slots)} of all seconds and tenths of seconds; before the first fault, ${percents(calm)}`,
  )
  say(
    `acknowledged within a second of being sent: ${inTime.map((each) => `${(each * 100).toFixed(3)} %`).join(', within five: ')}`,
  )
  say(`of ${availableParallelism()} processors: ${processors.told(tookMs)}`)
  for (const why of fencings()) say(`a node was fenced: ${why}`)
  say(`${nemesis.strikes.length} faults, ${sent} records acknowledged: each is there once, in order`)
}

try {
  await run()
} catch (error) {
  for (const node of cluster.nodes) console.log(node.isRunning ? node.process.output(3000) : `${node.address} is down`)
  console.log(`logs: MILLRACE_KEEP=1 keeps ${join(directory, 'node*', 'server.out')}; seed ${values.seed}`)
  throw error
} finally {
  await cluster.kill()
}
process.exit()
