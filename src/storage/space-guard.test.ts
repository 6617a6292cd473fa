import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildBatch } from '../protocol/batch/build.ts'
import type { Machine } from '../sim/machine.ts'
import { type Sim, simulate } from '../sim/sim.ts'
import { TEST_TOPIC_ID } from '../testing/log-model.ts'
import { defaultLogConfig } from './config.ts'
import { LogManager } from './log-manager.ts'
import type { PartitionLog } from './partition-log.ts'
import type { ReserveUse } from './space-guard.ts'

const MIB = 1024 ** 2
const options = { folder: '/data', nodeId: 1, clusterId: 'Q2x1c3Rlci1pZC1mb3ItdA', reserveBytes: 8 * MIB }
/** A twentieth of it is more than the reserve. */
const DISK_BYTES = 400 * MIB

async function openLogs(machine: Machine) {
  const process = machine.boot()
  const manager = await LogManager.open(process.env, options)
  const logOf = (reserveUse: ReserveUse) =>
    manager.openLog({ topic: reserveUse, partition: 0 }, TEST_TOPIC_ID, { ...defaultLogConfig, reserveUse })
  return { process, manager, records: await logOf('none'), offsets: await logOf('half'), metadata: await logOf('all') }
}

function append(log: PartitionLog, bytes: number): void {
  const records = [{ key: null, value: Buffer.alloc(bytes), timestampMs: 1 }]
  log.appendAsLeader(buildBatch({ records }), { leaderEpoch: 1, wallMs: 1 })
}

/** Appends until it is refused; returns how many bytes it took. */
async function fill(log: PartitionLog): Promise<number> {
  const before = log.bytes
  while (log.isWritable) {
    append(log, 100_000)
    await log.flush()
  }
  return log.bytes - before
}

async function onDisk(roomBytes: number, body: (sim: Sim, machine: Machine) => Promise<void>): Promise<void> {
  await simulate({ seed: 3 }, async (sim) => {
    const machine = sim.addMachine('node')
    machine.tree.capacityBytes = DISK_BYTES
    const ballast = machine.tree.open('/ballast', 'create')
    ballast.truncate(DISK_BYTES - roomBytes)
    await body(sim, machine)
  })
}

test('records are refused at the reserve, offsets at half of it, metadata where nothing is free', () =>
  onDisk(20 * MIB, async (_sim, machine) => {
    const { manager, records, offsets, metadata } = await openLogs(machine)
    const near = (actual: number, expected: number) => assert.ok(Math.abs(actual - expected) < 300_000, `${actual}`)
    near(await fill(records), 12 * MIB)
    near(machine.tree.freeBytes, 8 * MIB)
    assert.match(manager.readOnlyReason ?? '', /no room in \/data: .*log\.min\.free\.bytes/)
    near(await fill(offsets), 4 * MIB)
    append(metadata, 3 * MIB)
    await metadata.flush()
    assert.equal(metadata.refusal, null)
    append(metadata, 2 * MIB)
    await assert.rejects(Promise.race([metadata.flush(), manager.close()]))
  }))

test('a start on a full disk knows it, opens what is there, and creates nothing', () =>
  onDisk(20 * MIB, async (sim, machine) => {
    const first = await openLogs(machine)
    await fill(first.records)
    machine.kill(first.process)
    const { manager, records, offsets } = await openLogs(machine)
    assert.ok((await fill(records)) < 300_000)
    assert.equal(offsets.refusal, null)
    const another = { topic: 'another', partition: 0 }
    await assert.rejects(manager.openLog(another, TEST_TOPIC_ID, defaultLogConfig), { code: 'ENOSPC' })
    await manager.deleteLog({ topic: 'none', partition: 0 })
    await sim.until(() => manager.isWritable, { withinMs: 3000, what: 'what was deleted made room' })
    assert.equal((await manager.openLog(another, TEST_TOPIC_ID, defaultLogConfig)).refusal, null)
  }))

test('room that others take is noticed while records come, and room that others leave too', () =>
  onDisk(200 * MIB, async (sim, machine) => {
    const { manager, records } = await openLogs(machine)
    append(records, 1000)
    await sim.runFor(1500)
    assert.equal(manager.isWritable, true)
    machine.tree.file('/ballast').truncate(DISK_BYTES - 5 * MIB)
    append(records, 1000)
    await sim.until(() => !manager.isWritable, { withinMs: 1500, what: 'it is noticed' })
    machine.tree.file('/ballast').truncate(0)
    await sim.until(() => manager.isWritable, { withinMs: 1500, what: 'that there is room' })
  }))

test('on a small disk only a twentieth is kept', async () => {
  await simulate({ seed: 3 }, async (sim) => {
    const machine = sim.addMachine('node')
    machine.tree.capacityBytes = 20 * MIB
    const { records } = await openLogs(machine)
    const taken = await fill(records)
    assert.ok(taken > 18 * MIB && taken < 19.1 * MIB, `${taken}`)
  })
})
