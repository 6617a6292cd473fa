import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Machine } from '../sim/machine.ts'
import { type Sim, simulate } from '../sim/sim.ts'
import { LogModel, TEST_TOPIC_ID } from '../testing/log-model.ts'
import { defaultLogConfig } from './config.ts'
import { replaceFile } from './files.ts'
import { LogManager, type LogManagerOptions } from './log-manager.ts'
import { StrayDirectories, type StrayLimits } from './stray-directories.ts'

const folder = '/data'
const options: LogManagerOptions = { folder, nodeId: 1, clusterId: 'Q2x1c3Rlci1pZC1mb3ItdA' }
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const WEEK: StrayLimits = { retentionMs: 7 * DAY_MS, bytesMax: -1 }

function world(name: string, body: (sim: Sim, machine: Machine) => Promise<void>): void {
  test(name, () => simulate({ seed: 5 }, (sim) => body(sim, sim.addMachine('node'))).then(() => undefined))
}

const open = (machine: Machine) => LogManager.open(machine.boot().env, options)

/** A partition with records, set aside. */
async function setAside(sim: Sim, manager: LogManager, partition: number): Promise<void> {
  const topicPartition = { topic: 't', partition }
  const log = await manager.openLog(topicPartition, TEST_TOPIC_ID, defaultLogConfig)
  log.appendAsLeader(new LogModel(sim.streams.workload).nextBatch(), { leaderEpoch: 1, wallMs: 1_000_000 })
  await log.flush()
  await manager.quarantine(topicPartition)
}

const strays = ({ tree }: Machine) => tree.list(folder).filter((name) => name.endsWith('-stray'))
const leftOf = ({ tree }: Machine) => tree.list(folder).filter((name) => /-(stray|delete)$/.test(name))

world('what was set aside is kept for its time, across restarts, and then removed', async (sim, machine) => {
  const first = await open(machine)
  await setAside(sim, first, 0)
  await first.removeStrays(WEEK)
  const { count, bytes, nextRemovalMs } = await first.strays(WEEK)
  assert.equal(count, 1)
  assert.ok(bytes > 0)
  assert.ok(nextRemovalMs !== null && nextRemovalMs > 0)
  await sim.runFor(6 * DAY_MS)
  machine.losePower('all')
  const second = await open(machine)
  await second.removeStrays(WEEK)
  assert.equal(strays(machine).length, 1)
  await sim.runFor(DAY_MS)
  await second.removeStrays({ ...WEEK, retentionMs: -1 })
  assert.equal(strays(machine).length, 1, 'for ever')
  await second.removeStrays(WEEK)
  await sim.runFor(1000)
  assert.deepEqual(leftOf(machine), [])
  assert.deepEqual(await second.strays(WEEK), { count: 0, bytes: 0, nextRemovalMs: null })
})

world('what was set aside just now, or taken away by hand, is told of at once', async (sim, machine) => {
  const { env } = machine.boot()
  const manager = await LogManager.open(env, options)
  await manager.removeStrays(WEEK)
  await setAside(sim, manager, 0)
  const [one] = await Promise.all([manager.strays(WEEK), manager.removeStrays(WEEK)])
  assert.equal(one.count, 1)
  assert.ok(one.bytes > 0)
  await setAside(sim, manager, 1)
  const both = await manager.strays(WEEK)
  assert.equal(both.count, 2)
  assert.ok(both.bytes > one.bytes)
  assert.equal((await manager.strays({ retentionMs: -1 })).nextRemovalMs, null)
  for (const name of strays(machine)) await env.disk.removeTree(`${folder}/${name}`)
  assert.deepEqual(await manager.strays(WEEK), { count: 0, bytes: 0, nextRemovalMs: null })
})

world('a removal that a crash cuts short is finished at the next start', async (sim, machine) => {
  const process = machine.boot()
  const manager = await LogManager.open(process.env, options)
  await setAside(sim, manager, 0)
  await manager.removeStrays(WEEK)
  await sim.runFor(7 * DAY_MS)
  await manager.removeStrays(WEEK)
  machine.kill(process)
  assert.deepEqual(strays(machine), [])
  await open(machine)
  await sim.runFor(1000)
  assert.deepEqual(leftOf(machine), [])
})

world(
  'beyond the bound on bytes the oldest go, but nothing that has not been there for a day',
  async (sim, machine) => {
    const manager = await open(machine)
    const limits = { ...WEEK, bytesMax: 1 }
    await setAside(sim, manager, 0)
    await manager.removeStrays(limits)
    await sim.runFor(23 * HOUR_MS)
    await setAside(sim, manager, 1)
    await manager.removeStrays(limits)
    assert.equal(strays(machine).length, 2, 'whoever set all partitions aside by mistake has a day to notice')
    await sim.runFor(2 * HOUR_MS)
    await manager.removeStrays(limits)
    assert.match(strays(machine).join(), /^t-1\./)
  },
)

world('on a full disk what has been set aside for a day goes first', async (sim, machine) => {
  const { env } = machine.boot()
  const manager = await LogManager.open(env, options)
  await setAside(sim, manager, 0)
  const directories = new StrayDirectories(env, folder, () => {})
  await directories.look(WEEK, { nowMs: 1_000_000, isFull: true })
  assert.equal(strays(machine).length, 1)
  await directories.look(WEEK, { nowMs: 1_000_000 + DAY_MS, isFull: false })
  assert.equal(strays(machine).length, 1)
  await directories.look(WEEK, { nowMs: 1_000_000 + DAY_MS, isFull: true })
  assert.deepEqual(strays(machine), [])
})

world('a wall clock that jumps ahead removes nothing', async (sim, machine) => {
  const manager = await open(machine)
  await setAside(sim, manager, 0)
  await manager.removeStrays(WEEK)
  machine.wallOffsetMs = 365 * DAY_MS
  await manager.removeStrays(WEEK)
  await sim.runFor(1000)
  assert.equal(strays(machine).length, 1)
})

world('one that cannot be looked at keeps none of the others', async (sim, machine) => {
  const { env } = machine.boot()
  const manager = await LogManager.open(env, options)
  await setAside(sim, manager, 0)
  const odd = `${folder}/a-0.${'0'.repeat(32)}-stray`
  await replaceFile(env.disk, odd, [Buffer.from('a file and no directory')])
  await manager.removeStrays(WEEK)
  assert.equal((await manager.strays(WEEK)).count, 1)
  await sim.runFor(7 * DAY_MS)
  await manager.removeStrays(WEEK)
  await sim.runFor(1000)
  assert.deepEqual(leftOf(machine), [odd.slice(folder.length + 1)])
})
