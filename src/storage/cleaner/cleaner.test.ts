import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Random } from '../../base/random.ts'
import { sleep } from '../../env/clock.ts'
import { batchesOf } from '../../protocol/batch/records.ts'
import { lastOffset, verifyCrc } from '../../protocol/batch/header.ts'
import type { Machine, Process } from '../../sim/machine.ts'
import { type Sim, simulate } from '../../sim/sim.ts'
import { CompactionModel, readAll } from '../../testing/compaction-model.ts'
import { TEST_TOPIC_ID } from '../../testing/log-model.ts'
import { defaultLogConfig, type LogConfig } from '../config.ts'
import { OffsetOutOfRangeError } from '../errors.ts'
import { LogManager } from '../log-manager.ts'
import type { PartitionLog } from '../partition-log.ts'

const folder = '/data'
const directory = `${folder}/t-0`
const topicPartition = { topic: 't', partition: 0 }
const deleteRetentionMs = 3000
const BACKOFF_MS = 100
/** More of them: MILLRACE_SEEDS=500. */
const seeds = Number(process.env.MILLRACE_SEEDS ?? 12)

function someConfig(random: Random): LogConfig {
  return {
    ...defaultLogConfig,
    cleanupPolicy: ['compact'],
    segmentBytes: random.pick([1000, 2500, 8000]),
    indexIntervalBytes: random.pick([0, 300, 4096]),
    fileDeleteDelayMs: random.pick([0, 500]),
    minCleanableDirtyRatio: random.pick([0, 0.3, 0.5]),
    durabilityMode: random.chance(0.8) ? 'fsync' : 'relaxed',
    deleteRetentionMs,
  }
}

interface Opened {
  readonly manager: LogManager
  readonly log: PartitionLog
}

async function open(process: Process, config: LogConfig): Promise<Opened> {
  const manager = await LogManager.open(process.env, {
    folder,
    nodeId: 1,
    clusterId: 'Q2x1c3Rlci1pZC1mb3ItdA',
    checkpointIntervalMs: 50,
    openFilesMax: 3,
    tailBytesPerLogMax: 4000,
  })
  const log = await manager.openLog(topicPartition, TEST_TOPIC_ID, config)
  log.listener = {
    progressed: () => {},
    failed: (_, error) => {
      throw error
    },
  }
  manager.startCleaner({
    highWatermarkOf: () => log.durableOffset,
    limits: () => ({ backoffMs: BACKOFF_MS, bytesPerSecondMax: 1e6 }),
  })
  return { manager, log }
}

/** Long enough for several rounds, and for what waits for them. */
function letItClean(sim: Sim): Promise<void> {
  return sim.runFor(1500)
}

async function fill(
  sim: Sim,
  { log }: Opened,
  model: CompactionModel,
  machine: Machine,
  batches: number,
): Promise<void> {
  for (let i = 0; i < batches; i++) {
    model.append(log, machine.wallMs())
    if (i % 10 === 9) await sim.runFor(sim.streams.workload.below(30))
  }
}

function check(log: PartitionLog, model: CompactionModel, machine: Machine): Promise<void> {
  return model.compare(log, { wallMs: machine.wallMs(), deleteRetentionMs })
}

test('whatever is compacted, consumers get the same newest values, and offsets stay', async () => {
  let removed = 0
  for (let seed = 1; seed <= seeds; seed++) {
    await simulate({ seed }, async (sim) => {
      const random = sim.streams.workload
      const machine = sim.addMachine('node')
      const opened = await open(machine.boot(), someConfig(random))
      const model = new CompactionModel(random)
      for (let turn = 0; turn < 6; turn++) {
        await fill(sim, opened, model, machine, random.between(5, 60))
        if (random.chance(0.3)) model.endAll(opened.log, machine.wallMs())
        await letItClean(sim)
        await check(opened.log, model, machine)
        model.compareProducers(opened.log)
        if (random.chance(0.3)) await sim.runFor(deleteRetentionMs)
      }
      removed += opened.manager.cleanerStats.bytesRemoved
      assert.equal(opened.manager.cleanerStats.failures, 0)
      assert.equal(opened.manager.cleanerStats.uncleanable, 0)
      assert.equal(await opened.manager.close(), true)
      // The next start, and one for which nothing but the log is left.
      for (const isBare of [false, true]) {
        if (isBare) destroyDerived(machine)
        const again = await open(machine.boot(), someConfig(random))
        await check(again.log, model, machine)
        model.compareProducers(again.log)
        await again.manager.close()
      }
    })
  }
  assert.ok(removed > 10_000, `${removed} bytes were removed`)
})

/** All that is derived, and what says that the stop was clean. */
function destroyDerived(machine: Machine): void {
  for (const name of machine.tree.list(directory)) {
    if (/\.(index|timeindex|txnindex|snapshot)$/.test(name)) machine.tree.removeFile(`${directory}/${name}`)
  }
}

test('keys that were deleted are gone once their tombstones were there long enough, and then the tombstones go', async () => {
  await simulate({ seed: 5 }, async (sim) => {
    const random = sim.streams.workload
    const machine = sim.addMachine('node')
    const opened = await open(machine.boot(), { ...someConfig(random), segmentBytes: 1000, minCleanableDirtyRatio: 0 })
    const model = new CompactionModel(random)
    for (let turn = 0; turn < 5; turn++) {
      await fill(sim, opened, model, machine, 40)
      model.endAll(opened.log, machine.wallMs())
      await sim.runFor(deleteRetentionMs + 1000)
    }
    await fill(sim, opened, model, machine, 20)
    await letItClean(sim)
    await check(opened.log, model, machine)
    const batches = await readAll(opened.log)
    const appendedLongAgo = model.batches.length - 60
    assert.ok(batches.length < appendedLongAgo / 2, `${batches.length} of ${model.batches.length} batches are left`)
  })
})

/** Reads here and there while segments are replaced: whole batches, from the offset on, none skipped that was there. */
async function browse({ env }: Process, random: Random, log: PartitionLog): Promise<never> {
  for (;;) {
    await sleep(env.timers, random.below(4))
    const offset = random.between(log.logStartOffset, log.endOffset)
    try {
      const limits = { maxBytes: random.below(2000), limitOffset: log.endOffset, atLeastOneBatch: true }
      const { buffers, endOffset } = await log.read(offset, limits)
      for (const buffer of buffers) {
        for (const at of batchesOf(buffer)) {
          assert.ok(verifyCrc(buffer, at))
          assert.ok(lastOffset(buffer, at) >= offset)
        }
      }
      assert.ok(endOffset >= offset)
      if (random.chance(0.3)) await log.findByTimestamp(random.below(2) * 1e15)
      if (random.chance(0.3)) await log.maxTimestamp()
      if (random.chance(0.3)) await log.abortedTransactions(offset, log.endOffset)
    } catch (error) {
      if (!(error instanceof OffsetOutOfRangeError)) throw error
    }
  }
}

async function work(
  { env }: Process,
  random: Random,
  machine: Machine,
  { log, manager }: Opened,
  model: CompactionModel,
): Promise<never> {
  for (;;) {
    const what = random.below(20)
    if (what < 14) {
      for (let i = random.below(4); i >= 0; i--) model.append(log, machine.wallMs())
      await sleep(env.timers, random.below(20))
    } else if (what < 16) await log.flush()
    else if (what < 17) await manager.checkpoint()
    else if (what < 18) await check(log, model, machine)
    else await sleep(env.timers, random.below(400))
  }
}

test('a process or the power may be lost at any instant of a round', async () => {
  let rounds = 0
  for (let seed = 1; seed <= seeds; seed++) {
    await simulate({ seed }, async (sim) => {
      const random = sim.streams.workload
      const machine = sim.addMachine('node')
      const model = new CompactionModel(random)
      for (let cycle = 0; cycle < 6; cycle++) {
        const process = machine.boot()
        const opened = await open(process, { ...someConfig(random), minCleanableDirtyRatio: 0 })
        const { log } = opened
        assert.ok(log.endOffset >= model.startOffset && log.endOffset <= model.endOffset)
        model.cutTo(log.endOffset)
        await check(log, model, machine)
        model.compareProducers(log)
        let failure: unknown = null
        const onFailure = (error: unknown) => {
          if (process.actor.alive) failure ??= error
        }
        void work(process, random.fork(), machine, opened, model).catch(onFailure)
        void browse(process, random.fork(), log).catch(onFailure)
        // Often in the middle of a round: they begin about every hundred milliseconds.
        await sim.runFor(random.pick([90, 105, 110, 130, 400, 2000]) + random.below(30))
        if (failure !== null) throw failure
        const durable = log.durableOffset
        rounds += opened.manager.cleanerStats.rounds
        if (random.chance(0.3)) machine.kill(process)
        else machine.losePower(random.pick(['any', 'all', 'none']))
        await sim.runFor(random.below(1000))
        // What was durable is there.
        const probe = machine.boot()
        const manager = await LogManager.open(probe.env, { folder, nodeId: 1, clusterId: null })
        const found = await manager.openLog(topicPartition, TEST_TOPIC_ID, defaultLogConfig)
        assert.ok(found.endOffset >= durable, `the log ends at ${found.endOffset}, ${durable} was durable`)
        model.cutTo(found.endOffset)
        machine.kill(probe)
      }
    })
  }
  assert.ok(rounds > seeds, `${rounds} rounds`)
})
