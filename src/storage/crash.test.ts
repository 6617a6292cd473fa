import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Random } from '../base/random.ts'
import type { Machine, Process } from '../sim/machine.ts'
import { type Sim, simulate } from '../sim/sim.ts'
import { LogModel, TEST_TOPIC_ID } from '../testing/log-model.ts'
import { defaultLogConfig, type LogConfig } from './config.ts'
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

/** Does things until the process is killed; its promises then never settle. */
async function work(sim: Sim, random: Random, log: PartitionLog, model: LogModel, manager: LogManager): Promise<void> {
  for (;;) {
    const what = random.below(20)
    if (what < 12) {
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
      await log.truncateTo(offset)
      model.cutTo(offset)
      assert.equal(log.endOffset, model.endOffset)
    } else {
      const offset = random.between(log.logStartOffset, log.durableOffset)
      model.startOffsetMax = Math.max(model.startOffsetMax, offset)
      await log.advanceStartOffset(offset)
      model.startOffset = Math.max(model.startOffset, offset)
      assert.equal(log.logStartOffset, model.startOffset)
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
    void work(sim, random, log, model, manager).catch((error) => {
      if (process.actor.alive) failure = error
    })
    await sim.runFor(random.pick([1, 20, 100, 300]))
    if (failure !== null) throw failure
    model.crash(log)
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
