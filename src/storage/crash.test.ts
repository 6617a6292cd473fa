import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Random } from '../base/random.ts'
import { isOutOfSpace } from '../env/disk.ts'
import { verifyCrc } from '../protocol/batch/header.ts'
import { batchesOf } from '../protocol/batch/records.ts'
import type { Machine, Process } from '../sim/machine.ts'
import { type Sim, simulate } from '../sim/sim.ts'
import { LogModel, TEST_TOPIC_ID } from '../testing/log-model.ts'
import { defaultLogConfig, type LogConfig } from './config.ts'
import { OffsetOutOfRangeError } from './errors.ts'
import { LogManager } from './log-manager.ts'
import type { PartitionLog } from './partition-log.ts'

const folder = '/data'
const directory = `${folder}/t-0`
const topicPartition = { topic: 't', partition: 0 }

function someConfig(random: Random): LogConfig {
  return {
    ...defaultLogConfig,
    segmentBytes: random.pick([1500, 5000, 100_000]),
    indexIntervalBytes: random.pick([0, 200, 1000]),
    fileDeleteDelayMs: 100,
    durabilityMode: random.chance(0.7) ? 'fsync' : 'relaxed',
  }
}

async function open(process: Process, config: LogConfig): Promise<{ manager: LogManager; log: PartitionLog }> {
  const manager = await LogManager.open(process.env, {
    folder,
    nodeId: 1,
    clusterId: 'Q2x1c3Rlci1pZC1mb3ItdA',
    checkpointIntervalMs: 50,
    openFilesMax: 2,
    tailBytesPerLogMax: 5000,
  })
  const log = await manager.openLog(topicPartition, TEST_TOPIC_ID, config)
  return { manager, log }
}

/** Reads here and there, beside everything else: what it gets is whole, and nothing it meets makes the log fail. */
async function browse(sim: Sim, random: Random, log: PartitionLog): Promise<void> {
  for (;;) {
    await sim.runFor(random.below(5))
    const offset = random.between(log.logStartOffset, Math.max(log.logStartOffset, log.endOffset))
    try {
      const limits = { maxBytes: random.below(2000), limitOffset: log.endOffset, atLeastOneBatch: true }
      const { buffers, endOffset } = await log.read(offset, limits)
      for (const buffer of buffers) for (const at of batchesOf(buffer)) assert.ok(verifyCrc(buffer, at))
      assert.ok(endOffset >= offset)
      if (random.chance(0.2)) await log.findByTimestamp(1_000_000 + offset * 10)
    } catch (error) {
      if (!(error instanceof OffsetOutOfRangeError)) throw error
    }
  }
}

/** Does things until the process is killed; its promises then never settle. */
async function work(
  sim: Sim,
  machine: Machine,
  log: PartitionLog,
  model: LogModel,
  manager: LogManager,
): Promise<void> {
  const random = sim.streams.workload
  for (;;) {
    const what = random.below(21)
    if (!log.isWritable) {
      if (random.chance(0.3)) machine.leaveRoom(Number.POSITIVE_INFINITY)
      await sim.runFor(random.below(2000))
    } else if (what === 20) machine.leaveRoom(random.below(4000))
    else if (what < 12) {
      for (let i = random.between(1, 4); i > 0; i--) {
        const batch = model.nextBatch()
        log.appendAsLeader(batch, { leaderEpoch: 1, wallMs: 1_000_000 })
        model.appended(batch)
      }
      await sim.runFor(random.below(3))
    } else if (what < 15) await log.flush()
    else if (what < 16) await model.compare(log)
    else if (what < 17) await model.compareDerived(log)
    else if (what < 18) await manager.checkpoint()
    else if (what < 19 && log.endOffset > log.logStartOffset) {
      const offset = random.between(Math.max(log.logStartOffset, log.endOffset - 30), log.endOffset)
      model.beginTruncation(log, offset)
      try {
        await log.truncateTo(offset)
      } catch (error) {
        if (!isOutOfSpace(error)) throw error
        model.truncatingTo = null
        continue
      }
      model.cutTo(offset)
      assert.equal(log.endOffset, model.endOffset)
    } else {
      const offset = random.between(log.logStartOffset, log.durableOffset)
      model.startOffsetMax = Math.max(model.startOffsetMax, offset)
      try {
        await log.advanceStartOffset(offset)
      } catch (error) {
        if (!isOutOfSpace(error)) throw error
        continue
      }
      model.startOffset = Math.max(model.startOffset, offset)
      assert.ok(log.logStartOffset >= model.startOffset)
    }
  }
}

/** Everything that is not `.log` is damaged or gone: it must change no answer (reliability S9). */
function destroyDerived(machine: Machine, random: Random): void {
  if (machine.tree.find(directory) === null) return
  for (const name of machine.tree.list(directory)) {
    if (name.endsWith('.log') || name === 'partition.metadata' || random.chance(0.4)) continue
    const path = `${directory}/${name}`
    const file = machine.tree.file(path)
    if (random.chance(0.5)) machine.tree.removeFile(path)
    else if (random.chance(0.3)) {
      file.content.truncate(0)
      file.durable?.truncate(0)
    } else {
      const garbage = random.bytes(random.between(1, 100))
      file.content.write(garbage, 0)
      file.durable?.write(garbage, 0)
    }
  }
}

async function cycles(sim: Sim, count: number, options: { destroys: boolean }): Promise<void> {
  const random = sim.streams.workload
  const machine = sim.addMachine('node')
  const model = new LogModel(random)
  for (let cycle = 0; cycle < count; cycle++) {
    const process = machine.boot()
    const { manager, log } = await open(process, someConfig(random))
    model.recovered(log)
    await model.compare(log)
    await model.compareDerived(log)
    let failure: unknown = null
    const onFailure = (error: unknown) => {
      if (process.actor.alive) failure ??= error
    }
    void work(sim, machine, log, model, manager).catch(onFailure)
    void browse(sim, random.fork(), log).catch(onFailure)
    await sim.runFor(random.pick([1, 20, 100, 300]))
    if (failure !== null) throw failure
    model.crash(log)
    machine.leaveRoom(Number.POSITIVE_INFINITY)
    const end = random.below(4)
    if (end === 0) machine.kill(process)
    else machine.losePower(random.pick(['any', 'all', 'none']))
    if (options.destroys && random.chance(0.7)) destroyDerived(machine, random)
  }
}

/** More of them: MILLRACE_SEEDS=500. */
const seeds = Number(process.env.MILLRACE_SEEDS ?? 15)

test('what was durable outlives any crash, and what is derived is as a scan says', async () => {
  for (let seed = 1; seed <= seeds; seed++) await simulate({ seed }, (sim) => cycles(sim, 5, { destroys: false }))
})

test('derived files destroyed between crashes change no answer', async () => {
  for (let seed = 1; seed <= seeds; seed++) await simulate({ seed }, (sim) => cycles(sim, 5, { destroys: true }))
})
