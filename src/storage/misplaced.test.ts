import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Env } from '../env/env.ts'
import { buildBatch } from '../protocol/batch/build.ts'
import { baseOffset, batchBytes, stampBatch } from '../protocol/batch/header.ts'
import { batchesOf } from '../protocol/batch/records.ts'
import type { Machine } from '../sim/machine.ts'
import { simulate } from '../sim/sim.ts'
import { TEST_TOPIC_ID } from '../testing/log-model.ts'
import { defaultLogConfig, type LogConfig } from './config.ts'
import { CorruptLogError } from './errors.ts'
import { LogManager } from './log-manager.ts'
import type { PartitionLog } from './partition-log.ts'

/** Base offset and leader epoch of a batch lie outside its checksum: a bit of them that flips must be found by other means. */
const folder = '/data'
const topicPartition = { topic: 't', partition: 0 }
const config: LogConfig = { ...defaultLogConfig, segmentBytes: 2000, indexIntervalBytes: 500 }
const compacted: LogConfig = { ...config, cleanupPolicy: ['compact'] }

async function open(env: Env, logConfig = config): Promise<{ manager: LogManager; log: PartitionLog }> {
  const options = { folder, nodeId: 1, clusterId: 'Q2x1c3Rlci1pZC1mb3ItdA', checkpointIntervalMs: 50 }
  const manager = await LogManager.open(env, options)
  return { manager, log: await manager.openLog(topicPartition, TEST_TOPIC_ID, logConfig) }
}

interface Batch {
  readonly bytes: Buffer
  readonly path: string
  readonly position: number
}

/** `at` gives the base offset of batch i; three records each, leader epochs 2, 2, 2, 4, 4, 4, … */
function append(log: PartitionLog, count: number, at: (i: number) => number): Buffer[] {
  return Array.from({ length: count }, (_, i) => {
    const records = [0, 1, 2].map((k) => ({ key: null, value: Buffer.alloc(80, i), timestampMs: i * 10 + k }))
    const batch = buildBatch({ records })
    stampBatch(batch, 0, { baseOffset: at(i), leaderEpoch: 2 + 2 * Math.floor(i / 3) })
    const copy = Buffer.from(batch)
    log.appendAsFollower(batch)
    return copy
  })
}

function batchesIn(machine: Machine): Batch[] {
  const names = machine.tree.list(`${folder}/t-0`).filter((name) => name.endsWith('.log'))
  return names.flatMap((name) => {
    const path = `${folder}/t-0/${name}`
    const content = Buffer.alloc(machine.tree.file(path).content.length)
    machine.tree.file(path).content.read(content, 0)
    return Array.from(batchesOf(content), (position) => {
      return { bytes: content.subarray(position, position + batchBytes(content, position)), path, position }
    })
  })
}

/** Reads in steps, from a few places. Whatever is given out is what was written. */
async function readEverywhere(log: PartitionLog, written: readonly Buffer[]): Promise<void> {
  const byOffset = new Map(written.map((bytes) => [baseOffset(bytes, 0), bytes]))
  for (const maxBytes of [1, 700, 100_000]) {
    for (const from of [log.logStartOffset, Math.floor(log.endOffset / 2), Math.max(log.endOffset - 1, 0)]) {
      for (let offset = from; offset < log.endOffset; ) {
        const { buffers, endOffset } = await log.read(offset, {
          maxBytes,
          limitOffset: log.endOffset,
          atLeastOneBatch: true,
        })
        const given = Buffer.concat(buffers)
        for (const at of batchesOf(given)) {
          const bytes = given.subarray(at, at + batchBytes(given, at))
          assert.ok(
            byOffset.get(baseOffset(bytes, 0))?.equals(bytes),
            `served ${baseOffset(bytes, 0)}, never written so`,
          )
        }
        if (endOffset === offset) break
        offset = endOffset
      }
    }
  }
}

type Life = 'goes on' | 'stops cleanly' | 'is killed'

/** A log of twelve batches in three segments, all durable; one bit flips; what is read afterwards must be found out. */
async function flipAndRead(
  life: Life,
  {
    position,
    bit,
    at = (i) => i * 3,
    logConfig = config,
  }: {
    position: (batches: Batch[]) => { path: string; position: number }
    bit: number
    at?: (i: number) => number
    logConfig?: LogConfig
  },
): Promise<void> {
  await simulate({ seed: 5 }, async (sim) => {
    const machine = sim.addMachine('node')
    const process = machine.boot()
    const { manager, log } = await open(process.env, logConfig)
    const written = append(log, 12, at)
    await log.flush()
    await manager.checkpoint()
    // It lets go of what it has in memory.
    if (life === 'goes on') await sim.runFor(60_000)
    await readEverywhere(log, written)
    if (life === 'stops cleanly') await manager.close()
    if (life === 'is killed') machine.kill(process)
    const batches = batchesIn(machine)
    assert.equal(batches.length, 12)
    const { path, position: byte } = position(batches)
    machine.flipBit(path, byte, bit)
    await assert.rejects(async () => {
      const again = life === 'goes on' ? log : (await open(machine.boot().env, logConfig)).log
      await readEverywhere(again, written)
      assert.fail('nothing was noticed')
    }, CorruptLogError)
  })
}

function inBatch(index: number, byte: number): (batches: Batch[]) => { path: string; position: number } {
  return (batches) => {
    const { path, position } = batches[index] as Batch
    return { path, position: position + byte }
  }
}

/** Byte within the field, most significant first, and bit. */
const BITS: readonly [number, number][] = [
  [0, 7],
  [6, 0],
  [7, 1],
  [7, 0],
]
const EPOCH_AT = 12

for (const life of ['goes on', 'stops cleanly', 'is killed'] as const) {
  test(`a base offset that has flipped is never served: the node ${life}`, async () => {
    for (let i = 0; i < 12; i++) {
      for (const [byte, bit] of BITS) await flipAndRead(life, { position: inBatch(i, byte), bit })
    }
  })
}

for (const life of ['goes on', 'stops cleanly'] as const) {
  test(`a leader epoch that has flipped is never served: the node ${life}`, async () => {
    for (let i = 0; i < 12; i++) {
      for (const bit of [0, 1, 6]) await flipAndRead(life, { position: inBatch(i, EPOCH_AT + 3), bit })
      await flipAndRead(life, { position: inBatch(i, EPOCH_AT), bit: 7 })
    }
  })
}

test('after a kill the batches tell which leader epoch has flipped, unless it could be another one that began', async () => {
  for (const i of [1, 4, 7, 10]) {
    for (const bit of [0, 1, 6]) await flipAndRead('is killed', { position: inBatch(i, EPOCH_AT + 3), bit })
  }
})

test('in a log with holes a batch that runs into its neighbours is found, and the last one by the recovery point', async () => {
  for (const life of ['goes on', 'stops cleanly', 'is killed'] as const) {
    for (const i of [0, 3, 7, 11]) {
      for (const bit of [2, 4]) {
        await flipAndRead(life, { position: inBatch(i, 7), bit, at: (k) => k * 4, logConfig: compacted })
      }
    }
  }
})

test('holes that a follower was given are served, at the end of the log and in it', async () => {
  await simulate({ seed: 6 }, async (sim) => {
    const machine = sim.addMachine('node')
    const first = machine.boot()
    const { log } = await open(first.env, compacted)
    const written = append(log, 9, (i) => i * 100 + 7)
    await log.flush()
    await readEverywhere(log, written)
    machine.losePower('all')
    const again = await open(machine.boot().env, compacted)
    await readEverywhere(again.log, written)
    assert.equal(again.log.endOffset, log.endOffset)
    await again.manager.close()
    const third = await open(machine.boot().env, compacted)
    await readEverywhere(third.log, written)
    assert.equal(third.log.endOffset, log.endOffset)
  })
})

test('an index of a Kafka before 4, whose entries name the last of several batches, is made anew', async () => {
  await simulate({ seed: 7 }, async (sim) => {
    const machine = sim.addMachine('node')
    const { manager, log } = await open(machine.boot().env, { ...config, segmentBytes: 1_000_000 })
    const written = append(log, 12, (i) => i * 3)
    await log.flush()
    await manager.close()
    const index = machine.tree.file(`${folder}/t-0/00000000000000000000.index`)
    assert.ok(index.content.length >= 16)
    const entry = Buffer.alloc(4)
    index.content.read(entry, 0)
    entry.writeInt32BE(entry.readInt32BE(0) + 1)
    for (const content of [index.content, index.durable]) content?.write(entry, 0)
    const again = await open(machine.boot().env, { ...config, segmentBytes: 1_000_000 })
    await readEverywhere(again.log, written)
    assert.equal(again.log.failure, null)
  })
})

test('a log keeps no leader epoch in which it wrote nothing when the next leader has records of an older one', async () => {
  await simulate({ seed: 8 }, async (sim) => {
    const machine = sim.addMachine('node')
    const { log } = await open(machine.boot().env)
    append(log, 3, (i) => i * 3)
    log.assignLeaderEpoch(7)
    const batch = buildBatch({ records: [{ key: null, value: Buffer.alloc(80) }] })
    stampBatch(batch, 0, { baseOffset: 9, leaderEpoch: 2 })
    log.appendAsFollower(batch)
    assert.deepEqual(log.epochs.entries, [{ epoch: 2, startOffset: 0 }])
    const older = buildBatch({ records: [{ key: null, value: Buffer.alloc(80) }] })
    stampBatch(older, 0, { baseOffset: 10, leaderEpoch: 1 })
    assert.throws(() => log.appendAsFollower(older), /leader epoch 1, behind one of 2/)
    await log.flush()
    await sim.runFor(60_000)
    assert.equal((await log.read(9, { maxBytes: 1000, limitOffset: 10, atLeastOneBatch: true })).bytes, batch.length)
  })
})
