import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sleep } from '../../env/clock.ts'
import type { TopicId } from '../../model/ids.ts'
import { buildBatch } from '../../protocol/batch/build.ts'
import { baseOffset, lastOffset, stampCrc } from '../../protocol/batch/header.ts'
import { recordsOf } from '../../protocol/batch/records.ts'
import type { Machine } from '../../sim/machine.ts'
import { type Sim, simulate } from '../../sim/sim.ts'
import { CompactionModel, readAll } from '../../testing/compaction-model.ts'
import { TEST_TOPIC_ID } from '../../testing/log-model.ts'
import { defaultLogConfig, type LogConfig } from '../config.ts'
import { LogManager } from '../log-manager.ts'
import type { PartitionLog } from '../partition-log.ts'

const folder = '/data'
const topicPartition = { topic: 't', partition: 0 }
const BACKOFF_MS = 100
const config: LogConfig = {
  ...defaultLogConfig,
  cleanupPolicy: ['compact'],
  segmentBytes: 1500,
  minCleanableDirtyRatio: 0,
  fileDeleteDelayMs: 100,
}

interface World {
  readonly sim: Sim
  readonly machine: Machine
  readonly manager: LogManager
  readonly log: PartitionLog
  readonly model: CompactionModel
  /** Of all logs; the end of each unless set. */
  highWatermark: number | null
}

async function openManager(machine: Machine): Promise<LogManager> {
  const options = { folder, nodeId: 1, clusterId: 'Q2x1c3Rlci1pZC1mb3ItdA', checkpointIntervalMs: 50 }
  return LogManager.open(machine.boot().env, options)
}

function withLog(name: string, body: (world: World) => Promise<void>, logConfig = config, seed = 21): void {
  test(name, () => inWorld(body, logConfig, seed))
}

async function inWorld(body: (world: World) => Promise<void>, logConfig = config, seed = 21): Promise<void> {
  await simulate({ seed }, async (sim) => {
    const machine = sim.addMachine('node')
    const manager = await openManager(machine)
    const log = await manager.openLog(topicPartition, TEST_TOPIC_ID, logConfig)
    const world: World = {
      sim,
      machine,
      manager,
      log,
      model: new CompactionModel(sim.streams.workload),
      highWatermark: null,
    }
    startCleaner(world, manager)
    await body(world)
  })
}

function startCleaner(world: World, manager: LogManager, bytesPerSecondMax = 1e6): void {
  manager.startCleaner({
    highWatermarkOf: (of) => world.highWatermark ?? manager.get(of)?.durableOffset ?? 0,
    limits: () => ({ backoffMs: BACKOFF_MS, bytesPerSecondMax }),
  })
}

async function fill({ log, model, machine }: World, batches: number): Promise<void> {
  for (let i = 0; i < batches; i++) model.append(log, machine.wallMs())
  model.endAll(log, machine.wallMs())
  await log.flush()
}

function check({ log, model, machine }: World): Promise<void> {
  return model.compare(log, { wallMs: machine.wallMs(), deleteRetentionMs: config.deleteRetentionMs })
}

/** One record, its value as long as wanted. */
function put(log: PartitionLog, key: string, value: string | null, timestampMs: number, bytes = 400): void {
  const padded = value === null ? null : Buffer.from(value.padEnd(bytes))
  const batch = buildBatch({ records: [{ key: Buffer.from(key), value: padded, timestampMs }] })
  log.appendAsLeader(batch, { leaderEpoch: 1, wallMs: timestampMs })
}

async function valuesOf(log: PartitionLog): Promise<string[]> {
  const records = (await readAll(log)).flatMap((batch) => [...recordsOf(batch)])
  return records.map(({ key, value }) => `${key}=${value === null ? 'null' : String(value).trim()}`)
}

withLog('a truncation in the middle of a round ends it, and takes nothing from what stays', async (world) => {
  const { sim, log, model, machine, manager } = world
  const random = sim.streams.workload
  world.highWatermark = 0
  const { cleanerStats } = manager
  const wasCutShort = () => cleanerStats.rounds > 5 && cleanerStats.interruptions > 0
  for (let turn = 0; turn < 25 || (turn < 200 && !wasCutShort()); turn++) {
    for (let i = random.below(30); i >= 0; i--) model.append(log, machine.wallMs())
    await sim.runFor(random.below(250))
    // What is not committed goes with a change of the leader.
    const ends = model.batches
      .map(({ bytes }) => lastOffset(bytes, 0) + 1)
      .filter((end) => end >= (world.highWatermark as number))
    await log.truncateTo(random.chance(0.5) ? random.pick([...ends, log.endOffset]) : log.endOffset)
    model.cutTo(log.endOffset)
    model.compareProducers(log)
    await check(world)
    await log.flush()
    world.highWatermark = log.endOffset
    await sim.runFor(random.below(250))
  }
  assert.ok(wasCutShort(), 'rounds, some cut short')
  assert.equal(cleanerStats.failures, 0)
})

withLog('what comes in the place of compacted records that an unclean election took is dirty', async (world) => {
  const { sim, log, model, machine, manager } = world
  for (let turn = 0; turn < 40; turn++) {
    await fill(world, 20)
    await sim.runFor(sim.streams.workload.below(300))
    const offset = sim.streams.workload.between(Math.max(0, model.endOffset - 150), model.endOffset)
    await log.truncateTo(offset)
    model.cutTo(log.endOffset)
    const point = await cleanPoint(machine)
    assert.ok(point <= log.endOffset, `compacted to ${point}, the log ends at ${log.endOffset}`)
  }
  await sim.runFor(1000)
  assert.ok(manager.cleanerStats.rounds > 5)
  assert.equal(manager.cleanerStats.failures, 0)
})

/** What the checkpoint says: all before was compacted. */
async function cleanPoint(machine: Machine): Promise<number> {
  const path = `${folder}/cleaner-offset-checkpoint`
  const file = machine.tree.find(path) === null ? null : machine.tree.file(path)
  if (file === null) return 0
  const text = Buffer.alloc(file.content.length)
  file.content.read(text, 0)
  const entry = /^t 0 ([0-9]+)$/m.exec(String(text))
  return entry === null ? 0 : Number(entry[1])
}

withLog('records deleted, and segments given up by retention, while the log is compacted', async (world) => {
  const { sim, log, model, machine, manager } = world
  log.config = { ...config, cleanupPolicy: ['compact', 'delete'], retentionMs: 4000 }
  const random = sim.streams.workload
  for (let turn = 0; turn < 40; turn++) {
    await fill(world, 20)
    await sim.runFor(random.below(200))
    if (random.chance(0.4)) await log.advanceStartOffset(random.between(log.logStartOffset, model.endOffset - 20))
    if (random.chance(0.4)) await log.applyRetention({ wallMs: machine.wallMs(), highWatermark: log.endOffset })
    model.startOffset = log.logStartOffset
    await check(world)
  }
  assert.ok(manager.cleanerStats.rounds > 5)
  assert.equal(manager.cleanerStats.failures, 0)
})

withLog('a topic deleted in the middle of a round leaves nothing to the next one of its name', async (world) => {
  const { sim, manager, machine } = world
  await fill(world, 100)
  while (!isCleaning(machine)) await sim.runFor(1)
  await manager.deleteLog(topicPartition)
  assert.equal(await cleanPoint(machine), 0)
  const next = await manager.openLog(topicPartition, 'YW5vdGhlci10b3BpYy1pZA' as TopicId, config)
  assert.equal(next.endOffset, 0)
  for (let i = 0; i < 20; i++) put(next, `k${i % 3}`, `${i}`, machine.wallMs())
  await next.flush()
  await sim.runFor(2000)
  const left = await valuesOf(next)
  assert.ok(left.length < 10, left.join())
  assert.deepEqual(left.slice(-3), ['k2=17', 'k0=18', 'k1=19'])
  assert.equal(manager.cleanerStats.failures, 0)
})

function isCleaning(machine: Machine): boolean {
  return machine.tree.list(`${folder}/t-0`).some((name) => name.endsWith('.cleaned'))
}

withLog('a stop in the middle of a round is a clean stop', async (world) => {
  const { sim, manager, machine } = world
  await fill(world, 100)
  while (!isCleaning(machine)) await sim.runFor(0.5)
  assert.equal(await manager.close(), true)
  const again = await openManager(machine)
  const log = await again.openLog(topicPartition, TEST_TOPIC_ID, config)
  await check({ ...world, log })
  assert.equal(isCleaning(machine), false)
})

withLog('a topic is compacted from when its policy says so until it does not', async (world) => {
  const { sim, log, machine, manager } = world
  log.config = { ...config, cleanupPolicy: [] }
  for (let i = 0; i < 30; i++) put(log, 'key', `${i}`, machine.wallMs())
  await log.flush()
  await sim.runFor(2000)
  assert.equal((await valuesOf(log)).length, 30)
  log.config = config
  await sim.runFor(1000)
  const left = (await valuesOf(log)).length
  assert.ok(left < 6)
  log.config = { ...config, cleanupPolicy: ['delete'] }
  for (let i = 0; i < 30; i++) put(log, 'key', `${i}`, machine.wallMs())
  await sim.runFor(2000)
  assert.equal((await valuesOf(log)).length, left + 30)
  assert.equal(manager.cleanerStats.failures, 0)
})

withLog(
  'nothing at or beyond the high watermark, of an open transaction or of the active segment is compacted',
  async (world) => {
    const { sim, log, machine } = world
    for (let i = 0; i < 30; i++) put(log, 'key', `${i}`, machine.wallMs())
    await log.flush()
    world.highWatermark = 10
    await sim.runFor(1000)
    const offsets = (await readAll(log)).flatMap((batch) => [...recordsOf(batch)].map(({ offset }) => offset))
    assert.deepEqual(offsets.slice(-21), Array.from({ length: 21 }, (_, i) => 9 + i).slice(-offsets.length))
    assert.ok(offsets.length < 27, 'something was compacted')
    const records = [{ key: Buffer.from('key'), value: Buffer.alloc(400), timestampMs: machine.wallMs() }]
    const open = buildBatch({ records, producerId: 5, producerEpoch: 0, baseSequence: 0, isTransactional: true })
    log.appendAsLeader(open, { leaderEpoch: 1, wallMs: machine.wallMs() })
    for (let i = 0; i < 30; i++) put(log, 'key', `${i}`, machine.wallMs())
    await log.flush()
    world.highWatermark = null
    await sim.runFor(1000)
    const after = (await readAll(log)).map((batch) => baseOffset(batch, 0))
    assert.deepEqual(
      after.slice(-31),
      Array.from({ length: 31 }, (_, i) => 30 + i),
    )
  },
)

withLog('the newest record is not compacted before its time, and an old one not long after', async (world) => {
  const { sim, log, machine, manager } = world
  log.config = { ...config, minCompactionLagMs: 5000 }
  for (let i = 0; i < 30; i++) put(log, 'key', `${i}`, machine.wallMs())
  await sim.runFor(4000)
  assert.equal((await valuesOf(log)).length, 30)
  await sim.runFor(2000)
  assert.ok((await valuesOf(log)).length < 6)
  // Too little is dirty for this ratio, but it waits for too long.
  log.config = { ...config, minCleanableDirtyRatio: 1, maxCompactionLagMs: 5000 }
  // Closes the segment that has waited since before.
  for (let i = 0; i < 5; i++) put(log, 'key', `${i}`, machine.wallMs())
  await sim.runFor(1000)
  const { rounds } = manager.cleanerStats
  for (let i = 0; i < 10; i++) put(log, 'key', `${i}`, machine.wallMs())
  await sim.runFor(3000)
  assert.equal(manager.cleanerStats.rounds, rounds)
  await sim.runFor(3000)
  assert.ok(manager.cleanerStats.rounds > rounds)
})

withLog('the dirtiest log comes first, and one that is not dirty enough not at all', async (world) => {
  const { sim, machine, manager, log } = world
  const other = await manager.openLog({ topic: 'u', partition: 0 }, TEST_TOPIC_ID, config)
  for (const each of [log, other]) {
    for (let i = 0; i < 30; i++) put(each, `${i}`, `${i}`, machine.wallMs())
    await each.flush()
  }
  await sim.runFor(3000)
  assert.equal(manager.cleanerStats.rounds, 2)
  for (const each of [log, other]) each.config = { ...config, minCleanableDirtyRatio: 0.3 }
  for (let i = 0; i < 5; i++) put(log, `${i}`, 'new', machine.wallMs())
  for (let i = 0; i < 25; i++) put(other, `${i}`, 'new', machine.wallMs())
  await sim.runFor(3000)
  assert.equal(manager.cleanerStats.rounds, 3)
  assert.equal((await valuesOf(log)).length, 35)
  assert.ok((await valuesOf(other)).length < 35)
})

withLog('a log that cannot be read is given up at once, and the others go on', async (world) => {
  const { sim, machine, manager, log } = world
  const other = await manager.openLog({ topic: 'u', partition: 0 }, TEST_TOPIC_ID, config)
  // Its CRC is right, its record is not: what validation let through once.
  const broken = buildBatch({ records: [{ key: Buffer.from('key'), value: Buffer.alloc(1400) }] })
  broken[62] = 0x7f
  stampCrc(broken, 0)
  log.appendAsLeader(broken, { leaderEpoch: 1, wallMs: 0 })
  for (const each of [log, other]) {
    for (let i = 0; i < 30; i++) put(each, 'key', `${i}`, machine.wallMs())
    await each.flush()
  }
  await sim.runFor(20 * BACKOFF_MS)
  assert.deepEqual([manager.cleanerStats.failures, manager.cleanerStats.uncleanable], [1, 1])
  assert.equal(log.failure, null)
  assert.equal(log.endOffset, 31)
  assert.ok((await valuesOf(other)).length < 6)
  const messages = sim.logs.lines.filter((line) => line.includes('not compacted any more'))
  assert.equal(messages.length, 1)
})

withLog('damage that the cleaner meets is damage of the replica', async ({ sim, machine, manager, log }) => {
  for (let i = 0; i < 10; i++) put(log, 'key', `${i}`, machine.wallMs())
  await log.flush()
  const file = machine.tree.file(`${folder}/t-0/00000000000000000000.log`)
  file.content.write(Buffer.from([0xff]), 100)
  await sim.runFor(1000)
  assert.match(String(log.failure), /wrong CRC/)
  assert.equal(manager.cleanerStats.uncleanable, 1)
})

withLog('a batch that claims to be newer than it is does not cost the newest record', async (world) => {
  const { sim, machine, log } = world
  for (let i = 0; i < 10; i++) put(log, i === 1 ? 'key' : 'other', `${i}`, machine.wallMs())
  await log.flush()
  const file = machine.tree.file(`${folder}/t-0/00000000000000000000.log`)
  // The lowest byte of the first batch's base offset.
  file.content.write(Buffer.from([1]), 7)
  await sim.runFor(1000)
  assert.match(String(log.failure), /where 0 was expected/)
  assert.equal(isCleaning(machine), false)
})

withLog('no room for the copy: the log stays as it is, and is compacted when there is some', async (world) => {
  const { sim, machine, manager, log } = world
  await fill(world, 100)
  machine.leaveRoom(500)
  await sim.runFor(1000)
  assert.equal(manager.cleanerStats.rounds, 0)
  await check(world)
  machine.leaveRoom(Number.POSITIVE_INFINITY)
  await sim.runFor(5000)
  assert.ok(manager.cleanerStats.rounds > 0)
  assert.equal(log.failure, null)
  await check(world)
})

test('the cleaner sleeps while there is nothing to compact, and reads no faster than it may', async () => {
  await simulate({ seed: 2 }, async (sim) => {
    const machine = sim.addMachine('node')
    const manager = await openManager(machine)
    const log = await manager.openLog(topicPartition, TEST_TOPIC_ID, config)
    let asked = 0
    manager.startCleaner({
      highWatermarkOf: () => {
        asked++
        return log.durableOffset
      },
      limits: () => ({ backoffMs: BACKOFF_MS, bytesPerSecondMax: 10_000 }),
    })
    await sim.runFor(10_000)
    assert.equal(asked, 0)
    for (let i = 0; i < 50; i++) put(log, 'key', `${i}`, machine.wallMs())
    await sim.runFor(2500)
    // Twice 23 KiB are to be read.
    assert.equal(manager.cleanerStats.rounds, 0)
    await sim.runFor(10_000)
    assert.ok(manager.cleanerStats.rounds > 0)
    const before = asked
    await sim.runFor(60_000)
    assert.equal(asked, before)
  })
})

withLog('times are looked up among the records that are there, not among those that were', async (world) => {
  const { sim, log, machine } = world
  const nowMs = machine.wallMs()
  const newest = { records: [{ key: Buffer.from('key'), value: Buffer.alloc(400), timestampMs: nowMs + 5000 }] }
  // The last batch of its producer stays, without its record.
  log.appendAsLeader(buildBatch({ ...newest, producerId: 5, producerEpoch: 0, baseSequence: 0 }), {
    leaderEpoch: 1,
    wallMs: nowMs,
  })
  for (let i = 0; i < 30; i++) put(log, 'key', `${i}`, nowMs + i)
  await sim.runFor(2000)
  const [first] = await readAll(log)
  assert.deepEqual([baseOffset(first as Buffer, 0), [...recordsOf(first as Buffer)].length], [0, 0])
  assert.deepEqual(await log.maxTimestamp(), { offset: 30, timestampMs: nowMs + 29, leaderEpoch: 1 })
  assert.equal(await log.findByTimestamp(nowMs + 30), null)
  assert.equal((await log.findByTimestamp(nowMs + 29))?.offset, 30)
})

withLog('readers in flight see whole batches of one life of the log', async (world) => {
  const { sim, log, model, manager } = world
  await fill(world, 150)
  let reads = 0
  let isDone = false
  const reader = async () => {
    while (!isDone) {
      const offset = sim.streams.workload.below(model.endOffset)
      const read = await log.read(offset, { maxBytes: 3000, limitOffset: model.endOffset, atLeastOneBatch: true })
      assert.ok(read.bytes > 0 && read.endOffset > offset)
      reads++
      await sleep({ after: (delayMs, callback) => timerOf(sim, delayMs, callback) }, 0.1)
    }
  }
  const readers = [reader(), reader(), reader()]
  while (manager.cleanerStats.rounds === 0) await sim.runFor(10)
  isDone = true
  await Promise.all(readers)
  assert.ok(reads > 100)
  await check(world)
})

function timerOf(sim: Sim, delayMs: number, callback: () => void): { cancel(): void } {
  void sim.runFor(delayMs).then(callback)
  return { cancel() {} }
}
