import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MalformedError } from '../base/bytes.ts'
import type { Env } from '../env/env.ts'
import { buildBatch, controlRecordKey } from '../protocol/batch/build.ts'
import { isLogAppendTime, maxTimestamp, stampBatch } from '../protocol/batch/header.ts'
import type { Machine } from '../sim/machine.ts'
import { type Sim, simulate } from '../sim/sim.ts'
import { LogModel, TEST_TOPIC_ID } from '../testing/log-model.ts'
import { defaultLogConfig, type LogConfig } from './config.ts'
import { LogNotWritableError, OffsetOutOfRangeError } from './errors.ts'
import { LogManager } from './log-manager.ts'
import type { PartitionLog } from './partition-log.ts'

const folder = '/data'
const config: LogConfig = { ...defaultLogConfig, segmentBytes: 2000, indexIntervalBytes: 100, fileDeleteDelayMs: 1000 }
const everything = { maxBytes: 1e9, limitOffset: 1e9, atLeastOneBatch: true }

async function open(env: Env, logConfig = config): Promise<{ manager: LogManager; log: PartitionLog }> {
  const manager = await LogManager.open(env, { folder, nodeId: 1, clusterId: 'Q2x1c3Rlci1pZC1mb3ItdA' })
  return { manager, log: await manager.openLog({ topic: 't', partition: 0 }, TEST_TOPIC_ID, logConfig) }
}

interface World {
  readonly sim: Sim
  readonly machine: Machine
  readonly manager: LogManager
  readonly log: PartitionLog
  readonly model: LogModel
}

function withLog(name: string, body: (world: World) => Promise<void>, logConfig = config): void {
  test(name, async () => {
    await simulate({ seed: 11 }, async (sim) => {
      const machine = sim.addMachine('node')
      const { manager, log } = await open(machine.boot().env, logConfig)
      await body({ sim, machine, manager, log, model: new LogModel(sim.streams.workload) })
    })
  })
}

function fill({ log, model }: World, batches: number): void {
  for (let i = 0; i < batches; i++) {
    const batch = model.nextBatch()
    log.appendAsLeader(batch, { leaderEpoch: 1, wallMs: 1_000_000 })
    model.appended(batch)
  }
}

function oneRecord(timestampMs: number, bytes = 1200): Buffer {
  return buildBatch({ records: [{ key: null, value: Buffer.alloc(bytes), timestampMs }] })
}

function segmentFiles({ machine }: World): string[] {
  return machine.tree.list(`${folder}/t-0`).filter((name) => name.endsWith('.log'))
}

withLog('positions grow in order, and what was just appended is read at once and by reference', async (world) => {
  const { log } = world
  const seen: number[][] = []
  log.listener = {
    progressed: () => seen.push([log.durableOffset, log.writtenOffset, log.endOffset]),
    failed: (_, error) => assert.fail(error),
  }
  const batch = Buffer.from(new ArrayBuffer(5070))
  oneRecord(5, 5000).copy(batch)
  log.appendAsLeader(batch, { leaderEpoch: 1, wallMs: 1 })
  const read = log.read(0, everything)
  assert.ok(!(read instanceof Promise))
  assert.ok(read.buffers[0]?.buffer === batch.buffer)
  assert.deepEqual([log.durableOffset, log.writtenOffset, log.endOffset], [0, 0, 1])
  assert.equal(log.unwrittenBytes, batch.length)
  fill(world, 0)
  await log.flush()
  assert.deepEqual(seen, [
    [0, 1, 1],
    [1, 1, 1],
  ])
  assert.equal(log.unwrittenBytes, 0)
})

withLog(
  'appends of one event go to the disk in one write and one sync',
  async ({ sim, log }) => {
    log.appendAsLeader(oneRecord(5), { leaderEpoch: 1, wallMs: 1 })
    await log.flush()
    const before = sim.scheduler.step
    for (let i = 0; i < 100; i++) log.appendAsLeader(oneRecord(5, 10), { leaderEpoch: 1, wallMs: 1 })
    await log.flush()
    assert.equal(sim.scheduler.step - before, 2)
  },
  { ...config, segmentBytes: 1e6 },
)

withLog('reads outside of what there is are refused, at the end they are empty, and limits hold', async (world) => {
  const { log, model } = world
  fill(world, 30)
  await log.flush()
  assert.throws(() => log.read(log.endOffset + 1, everything), OffsetOutOfRangeError)
  const atEnd = await log.read(log.endOffset, everything)
  assert.equal(atEnd.bytes, 0)
  const second = model.batches[1]
  assert.ok(second !== undefined)
  const limited = await log.read(0, { ...everything, limitOffset: second.endOffset })
  assert.equal(limited.endOffset, second.endOffset)
  assert.equal((await log.read(0, { ...everything, maxBytes: 1 })).endOffset, model.batches[0]?.endOffset)
  assert.equal((await log.read(0, { ...everything, maxBytes: 1, atLeastOneBatch: false })).bytes, 0)
  await log.advanceStartOffset(5)
  assert.throws(() => log.read(4, everything), OffsetOutOfRangeError)
})

withLog(
  'timestamps of the append replace those of the client, with the CRC renewed',
  async ({ log }) => {
    const batch = oneRecord(5)
    const { logAppendTimeMs } = log.appendAsLeader(batch, { leaderEpoch: 0, wallMs: 777 })
    assert.equal(logAppendTimeMs, 777)
    const { buffers } = await log.read(0, everything)
    const [stored] = buffers as [Buffer]
    assert.equal(maxTimestamp(stored, 0), 777)
    assert.ok(isLogAppendTime(stored, 0))
    assert.deepEqual(await log.findByTimestamp(700), { offset: 0, timestampMs: 777, leaderEpoch: 0 })
  },
  { ...config, timestampType: 'LogAppendTime' },
)

withLog('a follower keeps offsets and epochs, holes included, and takes nothing that is broken', async (world) => {
  const { log, machine } = world
  // Only where records are compacted has a leader holes.
  const compacted: LogConfig = { ...config, cleanupPolicy: ['compact'] }
  const batches = [3, 4, 9].map((baseOffset, i) => {
    const batch = oneRecord(100 + i, 300)
    stampBatch(batch, 0, { baseOffset, leaderEpoch: i })
    return batch
  })
  log.appendAsFollower(Buffer.concat(batches))
  assert.equal(log.endOffset, 10)
  assert.deepEqual(log.epochs.entries, [
    { epoch: 0, startOffset: 3 },
    { epoch: 1, startOffset: 4 },
    { epoch: 2, startOffset: 9 },
  ])
  assert.throws(() => log.appendAsFollower(batches[2] as Buffer), MalformedError, 'an offset again')
  const broken = Buffer.from(batches[0] as Buffer)
  stampBatch(broken, 0, { baseOffset: 10, leaderEpoch: 2 })
  const good = Buffer.from(broken)
  broken[200] = 1
  stampBatch(broken, 0, { baseOffset: 11, leaderEpoch: 2 })
  assert.throws(() => log.appendAsFollower(Buffer.concat([good, broken])), MalformedError)
  assert.throws(() => log.appendAsFollower(good.subarray(0, 100)), MalformedError)
  assert.equal(log.endOffset, 10, 'nothing of it was taken')
  await log.flush()
  machine.losePower('all')
  const again = await open(machine.boot().env, compacted)
  assert.deepEqual(again.log.epochs.entries, log.epochs.entries)
  assert.equal((await again.log.read(5, everything)).startOffset, 9)
})

withLog('a log that begins anew knows nothing of the epochs of its old records, nor after a restart', async (world) => {
  const { log, manager, machine } = world
  fill(world, 20)
  await log.flush()
  // The epochs are in their file by now.
  await manager.checkpoint()
  await log.truncateFullyAndStartAt(5000)
  assert.deepEqual(log.epochs.entries, [])
  machine.losePower('all')
  const again = await open(machine.boot().env)
  assert.equal(again.log.endOffset, 5000)
  assert.deepEqual(again.log.epochs.entries, [])
})

withLog(
  'retention by time drops old segments, the last one too, and never from the high watermark on',
  async (world) => {
    const { log, sim, machine } = world
    for (const timestampMs of [1000, 2000, 3000, 4000]) {
      log.appendAsLeader(oneRecord(timestampMs), { leaderEpoch: 1, wallMs: 1 })
    }
    await log.flush()
    log.config = { ...config, retentionMs: 500 }
    await log.applyRetention({ wallMs: 2600, highWatermark: 0 })
    assert.equal(log.logStartOffset, 0)
    await log.applyRetention({ wallMs: 2600, highWatermark: 4 })
    assert.equal(log.logStartOffset, 2)
    assert.equal(segmentFiles(world).length, 2)
    await log.applyRetention({ wallMs: 9000, highWatermark: 3 })
    assert.equal(log.logStartOffset, 3)
    await log.applyRetention({ wallMs: 9000, highWatermark: 4 })
    assert.deepEqual([log.logStartOffset, log.endOffset], [4, 4])
    await sim.runFor(2000)
    assert.deepEqual(
      machine.tree.list(`${folder}/t-0`).filter((name) => name.endsWith('.deleted')),
      [],
    )
    machine.losePower('all')
    const again = await open(machine.boot().env)
    assert.deepEqual([again.log.logStartOffset, again.log.endOffset], [4, 4], 'the end is remembered without a record')
  },
)

withLog('retention by size keeps at least what it says', async (world) => {
  const { log } = world
  for (let i = 0; i < 5; i++) log.appendAsLeader(oneRecord(1000), { leaderEpoch: 1, wallMs: 1 })
  await log.flush()
  const bytes = log.bytes / 5
  log.config = { ...config, retentionMs: -1, retentionBytes: bytes * 2 + 1 }
  await log.applyRetention({ wallMs: 1e12, highWatermark: 5 })
  assert.equal(log.logStartOffset, 2)
  log.config = { ...config, cleanupPolicy: [], retentionMs: 1, retentionBytes: 0 }
  await log.applyRetention({ wallMs: 1e12, highWatermark: 5 })
  assert.equal(log.logStartOffset, 2, 'without a policy nothing goes')
})

withLog('a reader in a segment that is deleted meanwhile gets it, or hears that it is gone', async (world) => {
  const { manager, machine, sim } = world
  for (let i = 0; i < 9; i++) world.log.appendAsLeader(oneRecord(1000), { leaderEpoch: 1, wallMs: 1 })
  await manager.close()
  const { log } = await open(machine.boot().env)
  const outcomes = new Set<string>()
  for (let start = 0; start < 8; start++) {
    const reading = Promise.resolve(log.read(start, { ...everything, maxBytes: 1 })).then(
      ({ endOffset }) => outcomes.add(`read to ${endOffset - start}`),
      (error) => outcomes.add(error.name),
    )
    await sim.runFor(start / 10)
    await log.advanceStartOffset(start + 1)
    await reading
  }
  for (const outcome of outcomes) assert.ok(['OffsetOutOfRangeError', 'read to 1'].includes(outcome), outcome)
  assert.equal(outcomes.has('read to 1'), true)
})

withLog('a closed log takes nothing', async ({ log }) => {
  await log.close()
  assert.equal(log.refusal?.kind, 'closed')
  assert.throws(() => log.appendAsLeader(oneRecord(1), { leaderEpoch: 1, wallMs: 1 }), LogNotWritableError)
})

withLog(
  'records of aborted transactions are found for any range, as a plain list says, also after a crash',
  async (world) => {
    const { log, sim, machine } = world
    const random = sim.streams.workload
    const open_ = new Map<number, number>()
    const sequences = new Map<number, number>()
    const aborted: { producerId: number; firstOffset: number; lastOffset: number }[] = []
    for (let i = 0; i < 200; i++) {
      const producerId = random.between(1, 4)
      const first = open_.get(producerId)
      if (first !== undefined && random.chance(0.4)) {
        const isAbort = random.chance(0.5)
        const value = Buffer.alloc(6)
        const records = [{ key: controlRecordKey(isAbort ? 0 : 1), value, timestampMs: 1 }]
        const batch = buildBatch({ records, producerId, producerEpoch: 0, isTransactional: true, isControl: true })
        const { lastOffset } = log.appendAsLeader(batch, { leaderEpoch: 1, wallMs: 1 })
        open_.delete(producerId)
        if (isAbort) aborted.push({ producerId, firstOffset: first, lastOffset })
        continue
      }
      const baseSequence = sequences.get(producerId) ?? 0
      const batch = buildBatch({
        records: [{ key: null, value: random.bytes(50), timestampMs: 1 }],
        producerId,
        producerEpoch: 0,
        baseSequence,
        isTransactional: true,
      })
      sequences.set(producerId, baseSequence + 1)
      const { baseOffset } = log.appendAsLeader(batch, { leaderEpoch: 1, wallMs: 1 })
      if (first === undefined) open_.set(producerId, baseOffset)
    }
    const compare = async (which: PartitionLog) => {
      for (let i = 0; i < 50; i++) {
        const from = random.below(log.endOffset)
        const to = random.between(from, log.endOffset)
        const found = await which.abortedTransactions(from, to)
        const wanted = aborted.filter(({ firstOffset, lastOffset }) => firstOffset < to && lastOffset >= from)
        // The look-up may also give transactions that ended before the range; a client ignores them.
        for (const { producerId, firstOffset } of wanted) {
          assert.ok(found.some((each) => each.producerId === producerId && each.firstOffset === firstOffset))
        }
        for (const { firstOffset } of found) assert.ok(aborted.some((each) => each.firstOffset === firstOffset))
      }
      const stable = Math.min(...open_.values(), log.endOffset)
      assert.equal(which.lastStableOffset(log.endOffset), stable)
    }
    await compare(log)
    await log.flush()
    machine.losePower('all')
    await compare((await open(machine.boot().env)).log)
  },
)

withLog(
  'in relaxed mode what is written counts at once and becomes durable within seconds',
  async ({ sim, log }) => {
    log.appendAsLeader(oneRecord(1), { leaderEpoch: 1, wallMs: 1 })
    await sim.runFor(100)
    assert.deepEqual([log.writtenOffset, log.durableOffset], [1, 0])
    await sim.runFor(10_000)
    assert.equal(log.durableOffset, 1)
  },
  { ...config, durabilityMode: 'relaxed' },
)

withLog('an idle log holds no memory of its batches and wakes for nothing', async (world) => {
  const { sim, log, manager } = world
  fill(world, 20)
  await sim.runFor(60_000)
  assert.equal(manager.usage.tailBytes, 0)
  const before = sim.scheduler.step
  await sim.runFor(3_600_000)
  assert.equal(sim.scheduler.step - before, 1, 'only the scenario itself')
  await world.model.compare(log)
})

withLog(
  'a segment is rolled when its first record is too old for the next one',
  async (world) => {
    const { log } = world
    for (const timestampMs of [1000, 1400, 1501, 1300, 2001]) {
      log.appendAsLeader(oneRecord(timestampMs, 10), { leaderEpoch: 1, wallMs: 1 })
    }
    await log.flush()
    assert.deepEqual(
      segmentFiles(world).map((name) => Number(name.slice(0, 20))),
      [0, 2],
    )
  },
  { ...config, segmentMs: 500 },
)
