import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Random } from '../../base/random.ts'
import { crc32c } from '../../base/crc32c.ts'
import { sleep } from '../../env/clock.ts'
import { batchesOf } from '../../protocol/batch/records.ts'
import { baseOffset, lastOffset, recordCount, verifyCrc } from '../../protocol/batch/header.ts'
import type { Machine, Process } from '../../sim/machine.ts'
import { type Sim, simulate } from '../../sim/sim.ts'
import { CompactionModel, readAll } from '../../testing/compaction-model.ts'
import { TEST_TOPIC_ID } from '../../testing/log-model.ts'
import { defaultLogConfig, type LogConfig } from '../config.ts'
import { OffsetOutOfRangeError } from '../errors.ts'
import { replaceFile } from '../files.ts'
import { LogManager } from '../log-manager.ts'
import type { PartitionLog } from '../partition-log.ts'
import { decodeSnapshot } from '../producer-snapshot.ts'
import type { CleanerLimits } from './cleaner.ts'
import { MAP_BYTES_MIN } from './offset-map.ts'

const folder = '/data'
const directory = `${folder}/t-0`
const topicPartition = { topic: 't', partition: 0 }
const deleteRetentionMs = 3000
const BACKOFF_MS = 100
/** More of them: MILLRACE_SEEDS=500. */
const seeds = Number(process.env.MILLRACE_SEEDS ?? 6)

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

async function open(process: Process, config: LogConfig, limits: CleanerLimits = {}): Promise<Opened> {
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
    limits: () => ({ backoffMs: BACKOFF_MS, bytesPerSecondMax: 1e6, ...limits }),
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
      let opened = await open(machine.boot(), someConfig(random))
      const model = new CompactionModel(random)
      for (let turn = 0; turn < 6; turn++) {
        await fill(sim, opened, model, machine, random.between(5, 60))
        if (random.chance(0.3)) model.endAll(opened.log, machine.wallMs())
        await letItClean(sim)
        await check(opened.log, model, machine)
        model.compareProducers(opened.log)
        if (random.chance(0.3)) await sim.runFor(deleteRetentionMs)
        if (random.chance(0.4)) {
          // A snapshot in the middle of a segment, which is compacted later.
          await opened.manager.close()
          opened = await open(machine.boot(), someConfig(random))
        }
      }
      removed += opened.manager.cleanerStats.bytesRemoved
      assert.equal(opened.manager.cleanerStats.failures, 0)
      assert.equal(opened.manager.cleanerStats.uncleanable, 0)
      assert.equal(await opened.manager.close(), true)
      // The next start, one that must go back to an older snapshot, and one for which nothing but the log is left.
      for (const lost of ['nothing', 'newest snapshots', 'all but the log'] as const) {
        if (lost === 'newest snapshots') destroyNewestSnapshots(machine, random.between(1, 4))
        if (lost === 'all but the log') destroyDerived(machine)
        const again = await open(machine.boot(), someConfig(random))
        await check(again.log, model, machine)
        model.compareProducers(again.log)
        await again.manager.close()
        await checkSegmentEnds(machine)
      }
    })
  }
  assert.ok(removed > 10_000, `${removed} bytes were removed`)
})

/** Each closed segment still says where it ended: Kafka goes by that too. */
async function checkSegmentEnds(machine: Machine): Promise<void> {
  const { disk } = machine.boot().env
  const names = machine.tree.list(directory).filter((name) => name.endsWith('.log'))
  for (const [i, name] of names.slice(0, -1).entries()) {
    const content = await disk.readFile(`${directory}/${name}`)
    const last = [...batchesOf(content)].at(-1) as number
    assert.equal(lastOffset(content, last) + 1, Number.parseInt(names[i + 1] as string, 10))
  }
}

function destroyNewestSnapshots(machine: Machine, count: number): void {
  const snapshots = machine.tree.list(directory).filter((name) => name.endsWith('.snapshot'))
  for (const name of snapshots.slice(-count)) machine.tree.removeFile(`${directory}/${name}`)
}

function destroyDerived(machine: Machine): void {
  for (const name of machine.tree.list(directory)) {
    if (/\.(index|timeindex|txnindex|snapshot)$/.test(name)) machine.tree.removeFile(`${directory}/${name}`)
  }
}

test('keys that were deleted are gone once their tombstones were there long enough, and then the tombstones go', async () => {
  for (let seed = 1; seed <= seeds; seed++) {
    await simulate({ seed }, async (sim) => {
      const random = sim.streams.workload
      const machine = sim.addMachine('node')
      const opened = await open(machine.boot(), {
        ...someConfig(random),
        segmentBytes: 1000,
        minCleanableDirtyRatio: 0,
      })
      const model = new CompactionModel(random)
      for (let turn = 0; turn < 5; turn++) {
        await fill(sim, opened, model, machine, 40)
        model.endAll(opened.log, machine.wallMs())
        await sim.runFor(deleteRetentionMs + 1000)
        await check(opened.log, model, machine)
      }
      const old = model.endOffset
      const aborted = new Set(model.abortedOffsets)
      await fill(sim, opened, model, machine, 30)
      model.endAll(opened.log, machine.wallMs())
      await letItClean(sim)
      await check(opened.log, model, machine)
      const left = (await readAll(opened.log)).filter((batch) => baseOffset(batch, 0) < old)
      const originals = model.batches.filter(({ bytes }) => baseOffset(bytes, 0) < old)
      // The last turn's markers and tombstones are there still, so are the last batches of the producers.
      assert.ok(left.length < originals.length / 3, `${left.length} of ${originals.length} batches are left`)
      for (const batch of left) {
        if (aborted.has(baseOffset(batch, 0))) assert.equal(recordCount(batch, 0), 0, 'aborted records went')
      }
    })
  }
})

test('keys that do not fit into memory at once are compacted part by part', async () => {
  await simulate({ seed: 9 }, async (sim) => {
    const random = sim.streams.workload
    const machine = sim.addMachine('node')
    const config = { ...someConfig(random), segmentBytes: 20_000, minCleanableDirtyRatio: 0 }
    const opened = await open(machine.boot(), config, { mapBytesMax: MAP_BYTES_MIN })
    const model = new CompactionModel(random, { keys: 3000 })
    for (let turn = 0; turn < 3; turn++) {
      await fill(sim, opened, model, machine, 800)
      await sim.runFor(100)
      await check(opened.log, model, machine)
      await sim.runFor(2 * deleteRetentionMs)
      await check(opened.log, model, machine)
      model.compareProducers(opened.log)
    }
    model.endAll(opened.log, machine.wallMs())
    await sim.runFor(2 * deleteRetentionMs)
    await check(opened.log, model, machine)
    const { rounds, bytesRemoved } = opened.manager.cleanerStats
    assert.ok(rounds > 5 && bytesRemoved > 50_000, `${rounds} rounds removed ${bytesRemoved} bytes`)
    assert.equal(await opened.manager.close(), true)
    destroyDerived(machine)
    const again = await open(machine.boot(), config)
    await check(again.log, model, machine)
    model.compareProducers(again.log)
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

/** Fills a log and lets it be compacted; `at` is called every twentieth of a millisecond from the first swap on. */
async function untilSwap(
  sim: Sim,
  machine: Machine,
  { partial }: { partial: boolean },
): Promise<{ opened: Opened; process: Process; model: CompactionModel }> {
  const process = machine.boot()
  const config = { ...defaultLogConfig, cleanupPolicy: ['compact' as const], segmentBytes: partial ? 200_000 : 2500 }
  const limits = partial ? { mapBytesMax: MAP_BYTES_MIN } : {}
  const opened = await open(process, { ...config, minCleanableDirtyRatio: 0, deleteRetentionMs: 0 }, limits)
  const model = new CompactionModel(sim.streams.workload, partial ? { keys: 3000 } : {})
  while (opened.log.segmentCount < (partial ? 2 : 6)) model.append(opened.log, machine.wallMs())
  model.endAll(opened.log, machine.wallMs())
  await opened.log.flush()
  while (!isSwapping(machine)) await sim.runFor(0.05)
  return { opened, process, model }
}

function isSwapping(machine: Machine): boolean {
  return machine.tree.list(directory).some((name) => name.endsWith('.swap'))
}

for (const partial of [false, true]) {
  test(`a crash at each step of a swap${partial ? ', with aborted records that stay' : ''}`, async () => {
    // How long the first swap lasts.
    let steps = 0
    await simulate({ seed: 3 }, async (sim) => {
      const machine = sim.addMachine('node')
      await untilSwap(sim, machine, { partial })
      for (; isSwapping(machine); steps++) await sim.runFor(0.2)
    })
    assert.ok(steps > 5, `${steps} steps`)
    let finished = 0
    for (let step = 0; step <= steps; step += partial ? 3 : 1) {
      for (const end of ['kill', 'any', 'all', 'none'] as const) {
        await simulate({ seed: 3 }, async (sim) => {
          const machine = sim.addMachine('node')
          const { opened, process, model } = await untilSwap(sim, machine, { partial })
          await sim.runFor(step * 0.2)
          const { durableOffset } = opened.log
          assert.equal(durableOffset, model.endOffset)
          if (end === 'kill') machine.kill(process)
          else machine.losePower(end)
          if (isSwapping(machine)) finished++
          await crashWhileStarting(sim, machine, step)
          if (partial) await makeSnapshotsKafkas(machine)
          const again = await open(machine.boot(), { ...defaultLogConfig, cleanupPolicy: [] })
          assert.equal(again.log.endOffset, model.endOffset)
          assert.equal(isSwapping(machine), false)
          await model.compare(again.log, { wallMs: machine.wallMs(), deleteRetentionMs: 0 })
          model.compareProducers(again.log)
        })
      }
    }
    assert.ok(finished > steps / 2, `${finished} starts had a swap to finish`)
  })
}

/** Kafka's snapshots do not say how many aborted transactions a segment names: nothing but the list itself does. */
async function makeSnapshotsKafkas(machine: Machine): Promise<void> {
  const process = machine.boot()
  const { disk } = process.env
  for (const name of machine.tree.list(directory).filter((each) => each.endsWith('.snapshot'))) {
    const content = await disk.readFile(`${directory}/${name}`)
    // Torn by the power cut.
    if (!isSnapshot(content)) continue
    const kafkas = content.subarray(0, 10 + content.readInt32BE(6) * 46)
    kafkas.writeUInt32BE(crc32c(kafkas.subarray(6)), 2)
    await replaceFile(disk, `${directory}/${name}`, [kafkas])
  }
  machine.kill(process)
}

function isSnapshot(content: Buffer): boolean {
  try {
    return decodeSnapshot(content).note !== null
  } catch {
    return false
  }
}

/** The start that would finish the swap dies too, a little later each time. */
async function crashWhileStarting(sim: Sim, machine: Machine, step: number): Promise<void> {
  for (let i = 1; i <= 3; i++) {
    const process = machine.boot()
    void open(process, { ...defaultLogConfig, cleanupPolicy: [] })
    await sim.runFor(i * 4 + (step % 7))
    machine.losePower('any')
  }
}

test('a snapshot from the middle of a segment is not used once that segment was compacted', async () => {
  await simulate({ seed: 4 }, async (sim) => {
    const machine = sim.addMachine('node')
    const config = {
      ...defaultLogConfig,
      cleanupPolicy: ['compact' as const],
      segmentBytes: 6000,
      minCleanableDirtyRatio: 0,
    }
    const first = await open(machine.boot(), config)
    const model = new CompactionModel(sim.streams.workload, { keys: 30 })
    await fill(sim, first, model, machine, 6)
    await first.manager.close()
    const process = machine.boot()
    const second = await open(process, config)
    while (second.log.segmentCount < 2) model.append(second.log, machine.wallMs())
    model.endAll(second.log, machine.wallMs())
    await second.log.flush()
    await sim.runFor(2000)
    assert.equal(second.manager.cleanerStats.rounds, 1)
    machine.kill(process)
    destroyNewestSnapshots(machine, 1)
    const third = await open(machine.boot(), config)
    await check(third.log, model, machine)
    model.compareProducers(third.log)
  })
})
