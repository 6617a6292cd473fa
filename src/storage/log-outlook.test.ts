import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../base/random.ts'
import { buildBatch } from '../protocol/batch/build.ts'
import { simulate } from '../sim/sim.ts'
import { TEST_TOPIC_ID } from '../testing/log-model.ts'
import { defaultLogConfig, type LogConfig } from './config.ts'
import { LogManager } from './log-manager.ts'
import type { LogOutlook } from './log-outlook.ts'
import type { PartitionLog } from './partition-log.ts'
import { RetentionClock, type RetentionTime } from './retention-clock.ts'

const START_MS = 1_000_000_000
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const config: LogConfig = { ...defaultLogConfig, segmentBytes: 2000, retentionMs: HOUR_MS, fileDeleteDelayMs: 0 }

function withLog(name: string, body: (log: PartitionLog, random: Random) => Promise<void>, logConfig = config): void {
  test(name, async () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      await simulate({ seed }, async (sim) => {
        const { env } = sim.addMachine('node').boot()
        const manager = await LogManager.open(env, { folder: '/data', nodeId: 1, clusterId: 'Q2x1c3Rlci1pZC1mb3ItdA' })
        await body(await manager.openLog({ topic: 't', partition: 0 }, TEST_TOPIC_ID, logConfig), new Random(seed))
      })
    }
  })
}

function at(nowMs: number): RetentionTime {
  return { nowMs, until: (atMs) => Math.max(0, atMs - nowMs) }
}

/** Batches of some records each, in an order of time that is not quite the order of offsets. Returns each record's time. */
async function fill(log: PartitionLog, random: Random, batches: number): Promise<number[]> {
  const times: number[] = []
  for (let index = 0; index < batches; index++) {
    const records = Array.from({ length: random.between(1, 4) }, () => {
      const timestampMs = START_MS + index * MINUTE_MS + random.between(-3, 3) * MINUTE_MS
      times.push(timestampMs)
      return { key: null, value: Buffer.alloc(random.between(10, 400)), timestampMs }
    })
    log.appendAsLeader(buildBatch({ records }), { leaderEpoch: 1, wallMs: START_MS })
  }
  await log.flush()
  return times
}

withLog('each record goes when it was said to, not a millisecond before', async (log, random) => {
  await fill(log, random, 40)
  const { endOffset } = log
  const nowMs = START_MS + 40 * MINUTE_MS
  const dueOf = new Map<number, number>()
  for (let offset = 0; offset < endOffset; offset++) dueOf.set(offset, nowMs + (await log.timeLeft(offset, at(nowMs))))
  for (const dueMs of [...new Set(dueOf.values())].sort((one, other) => one - other)) {
    for (const wallMs of [dueMs, dueMs + 1]) {
      await log.applyRetention({ wallMs, highWatermark: endOffset })
      for (const [offset, itsMs] of dueOf) assert.equal(offset < log.logStartOffset, itsMs < wallMs, `${offset}`)
    }
  }
  assert.equal(log.logStartOffset, endOffset)
})

withLog(
  'what goes in the round after the next is in danger, and so is the last tenth of the life of all',
  async (log, random) => {
    await fill(log, random, 40)
    const { endOffset } = log
    let outlook: LogOutlook | null = null
    log.listener = {
      progressed() {},
      failed() {},
      retained: (_log, seen) => {
        outlook = seen
      },
    }
    const roundMs = 5 * MINUTE_MS
    for (let wallMs = START_MS + 40 * MINUTE_MS; log.logStartOffset < endOffset; wallMs += roundMs) {
      const warnedUpTo: number = (outlook as LogOutlook | null)?.steps.at(-1)?.endOffset ?? 0
      await log.applyRetention({ wallMs, highWatermark: endOffset })
      assert.ok(log.logStartOffset <= warnedUpTo, `${log.logStartOffset} are gone, and ${warnedUpTo} were in danger`)
      await log.lookAhead(at(wallMs), roundMs, endOffset)
      const { steps } = outlook as unknown as LogOutlook
      for (const { endOffset: end, leftMs } of steps) {
        assert.equal(leftMs, await log.timeLeft(end - 1, at(wallMs)))
        assert.ok(leftMs <= 2 * roundMs)
      }
      const next = steps.at(-1)?.endOffset ?? log.logStartOffset
      if (next < endOffset) assert.ok((await log.timeLeft(next, at(wallMs))) > 2 * roundMs)
    }
  },
)

withLog(
  'by size a record goes when what comes after its segment is as large as retention.bytes',
  async (log, random) => {
    await fill(log, random, 10)
    const nowMs = START_MS + HOUR_MS
    for (let rounds = 0; rounds < 100; rounds++) {
      const { logStartOffset } = log
      const leftMs = await log.timeLeft(logStartOffset, at(nowMs))
      await log.applyRetention({ wallMs: nowMs, highWatermark: log.endOffset })
      assert.equal(leftMs === 0, log.logStartOffset > logStartOffset, log.dump())
      await fill(log, random, 1)
    }
  },
  { ...config, retentionMs: -1, retentionBytes: 9000 },
)

withLog('the record at an offset is found by reading, whatever batch it is in', async (log, random) => {
  const times = await fill(log, random, 40)
  for (const [offset, timestampMs] of times.entries()) {
    assert.deepEqual(await log.recordAt(offset, log.endOffset), { offset, timestampMs, leaderEpoch: 1 })
  }
  assert.equal(await log.recordAt(log.endOffset, log.endOffset), null)
  assert.equal(await log.recordAt(3, 3), null)
})

test('a clock that has jumped shortens what is left to the hour after which it is believed', () => {
  let [wall, monotonic] = [START_MS, 0]
  const clock = new RetentionClock({ wallMs: () => wall, monotonicMs: () => monotonic })
  const dueMs = START_MS + 24 * HOUR_MS
  assert.equal(clock.time().until(dueMs), 24 * HOUR_MS)
  wall += 48 * HOUR_MS
  assert.equal(clock.time().until(dueMs), HOUR_MS)
  wall += 40 * MINUTE_MS
  monotonic += 40 * MINUTE_MS
  assert.equal(clock.time().until(dueMs), 20 * MINUTE_MS)
  wall += 20 * MINUTE_MS
  monotonic += 20 * MINUTE_MS
  assert.equal(clock.time().until(dueMs), 0)
})
