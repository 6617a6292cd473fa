/**
 * `npm run kill -- [--cycles 300]`, `npm run power -- [--cycles 100]`
 *
 * One node under constant load by an idempotent producer is killed (kill -9), or loses power (only what was synced
 * remains of its disk), at random instants, and started again. After every cycle: no acknowledged record is missing,
 * none is there twice, none changed its place; committed group offsets and created topics are still there.
 *
 * --server kafka           the same for a real Kafka
 * --durability relaxed     topics in the relaxed mode
 * --expect-loss            good only if a loss was found: shows that the test would notice
 * --seed N                 the instants
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Random } from '../../src/base/random.ts'
import { temporaryDirectory } from '../support/files.ts'
import { readyTopic, retried } from '../support/retry.ts'
import { Server, type ServerKind } from '../support/server.ts'
import { missingTools } from '../support/toolchain.ts'
import { commitOffset, committedOffset, createTopic, findCoordinator, metadata } from '../support/wire-calls.ts'
import { History, Violation } from './history.ts'
import { Load } from './load.ts'
import { LoopDisk } from './loop-disk.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    cycles: { type: 'string' },
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
const cycles = Number(values.cycles ?? (mode === 'kill' ? 300 : 100))
const random = new Random(Number(values.seed))
const missing = await missingTools(mode === 'power' ? ['python-client', 'mount'] : ['python-client'])
if (missing.length > 0) {
  console.log(`needs ${missing.join(', ')}: npm run tools`)
  process.exit(2)
}

const topic = 'load'
const group = 'crash'
const partitions = 4
const directory = temporaryDirectory(mode)
const disk = mode === 'power' ? await LoopDisk.create(directory, 1024) : null
const home = join(disk?.mountPoint ?? directory, 'node')
mkdirSync(home)
const server = await Server.prepare({
  kind,
  directory,
  dataDirectory: join(home, 'data'),
  config: { 'offsets.topic.num.partitions': '2' },
})
console.log(`${mode}: ${cycles} cycles of ${kind} (${values.durability}), seed ${values.seed}, ${directory}`)
await server.start()
const topicConfig = kind === 'millrace' ? { 'durability.mode': values.durability } : {}
await readyTopic(server.address, topic, partitions, topicConfig)
await retried(server.address, (wire) => findCoordinator(wire, group))
await retried(server.address, (wire) => commitOffset(wire, { group, topic, partition: 0, offset: 0 }))

const load = new Load(server.address, topic, { partitions, perSecond: Number(values['per-second']), valueBytes: 200 })
const history = new History(server.address, topic, partitions)
const readyMs: number[] = []
const resumedMs: number[] = []

async function cycle(index: number): Promise<void> {
  await load.advances(1, 60_000)
  const created = index % 10 === 0 ? `made-${index}` : null
  const [committed] = await Promise.all([
    retried(server.address, (wire) => commitOffset(wire, { group, topic, partition: 0, offset: index })).then(
      () => index,
    ),
    created === null ? null : retried(server.address, (wire) => createTopic(wire, created, 1)),
    new Promise((resolve) => setTimeout(resolve, random.between(20, 900))),
  ])
  if (disk === null) await server.kill()
  else await disk.cutPower(server.process.pid, () => server.kill())

  const start = performance.now()
  const acknowledged = load.acknowledged.length
  await server.start()
  readyMs.push(performance.now() - start)
  await load.advances(1, 60_000)
  resumedMs.push(performance.now() - start)
  await history.readNew(2000)
  history.checkAcknowledged(load.acknowledged, acknowledged)
  const found = await retried(server.address, (wire) => committedOffset(wire, { group, topic, partition: 0 }))
  if (found !== committed) throw new Violation(`the group committed ${committed}, ${found} is left`)
  if (created !== null) {
    const [entry] = (await retried(server.address, (wire) => metadata(wire, [created]))).topics
    if (entry?.errorCode !== 0)
      throw new Violation(`topic ${created} was created and is gone (error ${entry?.errorCode})`)
  }
}

async function run(): Promise<void> {
  for (let index = 1; index <= cycles; index++) {
    try {
      await cycle(index)
    } catch (error) {
      throw error instanceof Violation ? new Violation(`cycle ${index}: ${error.message}`) : error
    }
    if (index % 25 === 0) console.log(`  ${index} cycles, ${history.records} records, all as acknowledged`)
  }
  await load.finish()
  await new History(server.address, topic, partitions).readNew(0) // once more from the beginning
  await history.readNew(2000)
  history.checkAcknowledged(load.acknowledged, load.acknowledged.length)
  if (history.records !== load.sent)
    throw new Violation(`${load.sent} records sent and acknowledged, ${history.records} there`)
}

const median = (list: readonly number[]) => [...list].sort((a, b) => a - b)[list.length >> 1] ?? Number.NaN
const line = (list: readonly number[]) =>
  `${Math.round(median(list))} ms median, ${Math.round(Math.max(...list))} ms at most`
try {
  await run()
  console.log(`start to serving ${line(readyMs)}; start to the next acknowledged record ${line(resumedMs)}`)
  console.log(`${cycles} cycles, ${history.records} records acknowledged: none lost, none twice, none moved`)
  if (values['expect-loss']) {
    console.log('but a loss was expected')
    process.exitCode = 1
  }
} catch (error) {
  if (!(error instanceof Violation)) console.log(server.isRunning ? server.process.output() : 'the node is down')
  if (error instanceof Violation && values['expect-loss']) console.log(`as expected: ${error.message}`)
  else throw error
} finally {
  await server.kill()
}
process.exit()
