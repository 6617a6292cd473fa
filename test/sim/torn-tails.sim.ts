/**
 * A log whose last write was torn at any byte, reads as zeros or holds what the blocks held before (scenario 33): it ends with
 * its last whole batch, it has all of them, and it goes on from there.
 */
import assert from 'node:assert/strict'
import type { TopicId } from '../../src/model/ids.ts'
import { buildBatch } from '../../src/protocol/batch/build.ts'
import { batchBytes, lastOffset } from '../../src/protocol/batch/header.ts'
import { batchesOf } from '../../src/protocol/batch/records.ts'
import type { Random } from '../../src/base/random.ts'
import { STEADY_DISK } from '../../src/sim/disk/disk-faults.ts'
import type { Process } from '../../src/sim/machine.ts'
import { scenario } from '../../src/sim/scenario.ts'
import { defaultLogConfig } from '../../src/storage/config.ts'
import { LogManager } from '../../src/storage/log-manager.ts'
import type { PartitionLog } from '../../src/storage/partition-log.ts'

const FOLDER = '/data'
const TOPIC_ID = 'c2ltdWxhdGVkLXRvcGljLQ' as TopicId
const PATH = `${FOLDER}/t-0/00000000000000000000.log`
/** Of it, all may be torn: it lies behind the last checkpoint. */
const TAIL_BYTES = 64 * 1024
const TRIES = 25

async function open(process: Process): Promise<{ manager: LogManager; log: PartitionLog }> {
  const options = { folder: FOLDER, nodeId: 1, clusterId: 'simulated', checkpointIntervalMs: 3_600_000 }
  const manager = await LogManager.open(process.env, options)
  return { manager, log: await manager.openLog({ topic: 't', partition: 0 }, TOPIC_ID, defaultLogConfig) }
}

function append(log: PartitionLog, random: Random, bytesMax: number): void {
  for (let bytes = 0; bytes < bytesMax; ) {
    const records = Array.from({ length: random.between(1, 5) }, () => {
      return { key: null, value: random.bytes(random.below(random.chance(0.1) ? 3000 : 300)), timestampMs: 1000 }
    })
    const batch = buildBatch({ records })
    bytes += batch.length
    log.appendAsLeader(batch, { leaderEpoch: 1, wallMs: 1000 })
  }
}

/** What a power cut may leave of `whole`, of which everything from `at` on was not synced. */
function torn(whole: Buffer, at: number, random: Random): Buffer {
  const result = Buffer.from(whole)
  switch (random.below(4)) {
    case 0:
      return result.subarray(0, at)
    case 1:
      return result.fill(0, at)
    case 2:
      // Blocks that held another part of a log.
      for (let to = at; to < result.length; to += 4096) whole.copy(result, to, random.below(at), at)
      return result
    default:
      return Buffer.concat([result.subarray(0, at), random.bytes(random.below(5000))])
  }
}

scenario(
  'a tail that is torn at any byte is cut to its last whole batch',
  { seeds: 60, disk: STEADY_DISK },
  async (sim) => {
    const random = sim.streams.workload
    const machine = sim.addMachine('node')
    const first = machine.boot()
    const { manager, log } = await open(first)
    append(log, random, 20_000)
    await log.flush()
    await manager.checkpoint()
    append(log, random, TAIL_BYTES)
    await log.flush()
    machine.kill(first)
    const [image, whole] = [machine.takeImage(), machine.contentOf(PATH)]
    const ends = Array.from(batchesOf(whole), (at) => ({
      position: at + batchBytes(whole, at),
      offset: lastOffset(whole, at) + 1,
    }))
    for (let tries = 0; tries < TRIES; tries++) {
      const at = whole.length - 1 - random.below(TAIL_BYTES)
      machine.restoreImage(image)
      machine.replaceContent(PATH, torn(whole, at, random))
      const process = machine.boot()
      const again = (await open(process)).log
      const last = ends.findLast(({ position }) => position <= at)
      assert.deepEqual([again.endOffset, again.durableOffset], [last?.offset, last?.offset], `torn at ${at}`)
      const limits = { maxBytes: whole.length, limitOffset: again.endOffset, atLeastOneBatch: true }
      const { buffers } = await again.read(0, limits)
      assert.ok(
        Buffer.concat(buffers).equals(whole.subarray(0, last?.position)),
        `torn at ${at}: what is left is as it was`,
      )
      append(again, random, 1)
      await again.flush()
      machine.kill(process)
    }
  },
)
