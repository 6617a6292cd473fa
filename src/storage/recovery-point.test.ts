import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Env } from '../env/env.ts'
import type { Machine, Process } from '../sim/machine.ts'
import { type Sim, simulate } from '../sim/sim.ts'
import { LogModel, TEST_TOPIC_ID } from '../testing/log-model.ts'
import { defaultLogConfig, type LogConfig } from './config.ts'
import { CorruptLogError } from './errors.ts'
import { LogManager, type LogManagerOptions } from './log-manager.ts'
import { decodeOffsets } from './offset-checkpoint.ts'
import type { PartitionLog } from './partition-log.ts'

/** Damage below the recovery point is never cut off: it must not go down, nor be lost, for a log that has failed. */
const folder = '/data'
const topicPartition = { topic: 't', partition: 0 }
const options: LogManagerOptions = { folder, nodeId: 1, clusterId: 'Q2x1c3Rlci1pZC1mb3ItdA', checkpointIntervalMs: 50 }
const config: LogConfig = { ...defaultLogConfig, segmentBytes: 2000, indexIntervalBytes: 100 }

interface World {
  readonly sim: Sim
  readonly machine: Machine
  readonly process: Process
  readonly manager: LogManager
  readonly log: PartitionLog
  readonly model: LogModel
}

function withLog(name: string, body: (world: World) => Promise<void>): void {
  test(name, async () => {
    await simulate({ seed: 7 }, async (sim) => {
      const machine = sim.addMachine('node')
      const process = machine.boot()
      await body({ sim, machine, process, ...(await open(process.env)), model: new LogModel(sim.streams.workload) })
    })
  })
}

async function open(env: Env): Promise<{ manager: LogManager; log: PartitionLog }> {
  const manager = await LogManager.open(env, options)
  return { manager, log: await manager.openLog(topicPartition, TEST_TOPIC_ID, config) }
}

/** Several of them fit into one segment, whatever the seed. */
const SMALL = { recordsMax: 2, bytesMax: 60 }

function fill({ log, model }: World, batches: number, size = {}): void {
  for (let i = 0; i < batches; i++) {
    const batch = model.nextBatch(size)
    log.appendAsLeader(batch, { leaderEpoch: 1, wallMs: 1_000_000 })
    model.appended(batch)
  }
}

function recoveryPointOnDisk({ machine }: World): number | undefined {
  const { content } = machine.tree.file(`${folder}/recovery-point-offset-checkpoint`)
  const bytes = Buffer.alloc(content.length)
  content.read(bytes, 0)
  return decodeOffsets(bytes).get('t-0')?.offset
}

function logFiles(machine: Machine): string[] {
  return machine.tree.list(`${folder}/t-0`).filter((name) => name.endsWith('.log'))
}

/** Of the last segment, beginning in its first batch. */
function damageLastSegment(machine: Machine): { path: string; bytes: number } {
  const path = `${folder}/t-0/${logFiles(machine).at(-1)}`
  machine.flipBit(path, 70)
  return { path, bytes: machine.tree.file(path).content.length }
}

withLog('damage of what a log that failed had made durable is not cut off', async (world) => {
  const { sim, machine, manager, log, process, model } = world
  machine.failDisk({ operation: 'sync', pathEnd: '.timeindex', code: 'EIO' })
  fill(world, 30)
  await log.flush()
  await manager.checkpoint()
  await sim.until(() => log.failure !== null, { withinMs: 1000, what: 'the log fails' })
  await sim.runFor(200)
  assert.equal(recoveryPointOnDisk(world), log.durableOffset)
  machine.kill(process)
  const { path, bytes } = damageLastSegment(machine)
  await assert.rejects(async () => model.compare((await open(machine.boot().env)).log), CorruptLogError)
  assert.equal(machine.tree.file(path).content.length, bytes)
})

withLog('a log that failed answers as before, from indexes made anew, also after a power cut', async (world) => {
  const { sim, machine, manager, log, model } = world
  machine.failDisk({ operation: 'sync', pathEnd: '.timeindex', code: 'EIO' })
  fill(world, 30)
  await log.flush()
  await manager.checkpoint()
  await sim.runFor(200)
  assert.ok(log.failure !== null)
  await model.compare(log)
  await model.compareDerived(log)
  model.crash(log)
  machine.losePower('any')
  const again = await open(machine.boot().env)
  model.recovered(again.log)
  await model.compare(again.log)
  await model.compareDerived(again.log)
})

withLog('a new segment does not take the recovery point back', async (world) => {
  const { machine, manager, log } = world
  fill(world, 5)
  await log.flush()
  await manager.checkpoint()
  const before = log.durableOffset
  assert.equal(recoveryPointOnDisk(world), before)
  const segments = log.segmentCount
  while (log.segmentCount === segments) fill(world, 1)
  // Another log's truncation writes the recovery points of all.
  const other = await manager.openLog({ topic: 't', partition: 1 }, TEST_TOPIC_ID, config)
  const batch = new LogModel(world.sim.streams.workload).nextBatch()
  other.appendAsLeader(batch, { leaderEpoch: 1, wallMs: 1 })
  await other.flush()
  await other.truncateTo(0)
  assert.ok((recoveryPointOnDisk(world) ?? 0) >= before)
  machine.losePower('any')
  const again = await open(machine.boot().env)
  world.model.crash(log)
  world.model.recovered(again.log)
  await world.model.compare(again.log)
  await world.model.compareDerived(again.log)
})

withLog('a truncation takes the recovery point back before anything goes', async (world) => {
  const { machine, manager, log } = world
  fill(world, 30)
  await log.flush()
  await manager.checkpoint()
  await log.truncateTo(7)
  machine.losePower('all')
  assert.ok((recoveryPointOnDisk(world) ?? 0) <= 7)
  const again = await open(machine.boot().env)
  assert.ok(again.log.endOffset <= 7)
})

withLog('a damaged log whose recovery point was lost is refused at every start', async (world) => {
  const { machine, log } = world
  fill(world, 4, SMALL)
  await log.flush()
  machine.losePower('none')
  machine.tree.removeFile(`${folder}/recovery-point-offset-checkpoint`)
  const { path, bytes } = damageLastSegment(machine)
  for (let start = 0; start < 3; start++) {
    const process = machine.boot()
    const manager = await LogManager.open(process.env, options)
    const faulty = await manager.openFound(() => config)
    assert.match(faulty[0]?.error.message ?? '', /good batches follow/)
    await manager.checkpoint()
    if (start === 0) machine.kill(process)
    else await manager.close()
    assert.equal(machine.tree.file(path).content.length, bytes)
  }
})

withLog(
  'a log that could not be opened and may end in torn bytes is not trusted after the next stop',
  async (world) => {
    const { machine, manager, log, model } = world
    fill(world, 2, SMALL)
    await log.flush()
    await manager.checkpoint()
    fill(world, 2, SMALL)
    await log.flush()
    machine.losePower('none')
    const file = machine.tree.file(`${folder}/t-0/${logFiles(machine).at(-1)}`)
    file.content.truncate(file.content.length - 10)
    file.durable?.truncate(file.content.length)
    machine.failDisk({ operation: 'truncate', pathEnd: '.log', code: 'EIO' })
    const second = await LogManager.open(machine.boot().env, options)
    assert.equal((await second.openFound(() => config)).length, 1)
    await second.close()
    const third = await open(machine.boot().env)
    assert.ok(third.log.endOffset >= (model.batches[2]?.endOffset ?? 0))
  },
)

withLog('a log of which nothing is left is not taken for an empty one', async (world) => {
  const { machine, manager, log } = world
  fill(world, 4)
  await log.flush()
  await manager.checkpoint()
  machine.losePower('none')
  for (const name of logFiles(machine)) machine.tree.removeFile(`${folder}/t-0/${name}`)
  await assert.rejects(open(machine.boot().env), /no segment/)
})
