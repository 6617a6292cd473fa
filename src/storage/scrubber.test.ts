import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulate } from '../sim/sim.ts'
import { LogModel, TEST_TOPIC_ID } from '../testing/log-model.ts'
import { defaultLogConfig } from './config.ts'
import { LogManager } from './log-manager.ts'

const config = { ...defaultLogConfig, segmentBytes: 20_000, indexIntervalBytes: 1000 }
const options = { folder: '/data', nodeId: 1, clusterId: 'Q2x1c3Rlci1pZC1mb3ItdA' }
const LIMITS = { bytesPerSecond: 50_000, intervalMs: 10_000 }

/** Logs of three topics on a machine that was started again: nothing of them is in memory. */
async function restarted(body: (parts: { manager: LogManager } & Pick<Parts, 'sim' | 'machine'>) => Promise<void>) {
  await simulate({ seed: 3 }, async (sim) => {
    const machine = sim.addMachine('node')
    const before = machine.boot()
    const written = await LogManager.open(before.env, options)
    for (const topic of ['a', 'b', 'c']) {
      const model = new LogModel(sim.streams.workload)
      const log = await written.openLog({ topic, partition: 0 }, TEST_TOPIC_ID, config)
      for (let i = 0; i < 300; i++) log.appendAsLeader(model.nextBatch(), { leaderEpoch: 1, wallMs: 1_000_000 })
    }
    await written.close()
    machine.kill(before)
    const manager = await LogManager.open(machine.boot().env, options)
    await manager.openFound(() => config)
    await body({ sim, machine, manager })
  })
}

interface Parts {
  readonly sim: Parameters<Parameters<typeof simulate>[1]>[0]
  readonly machine: ReturnType<Parts['sim']['addMachine']>
}

test('everything on disk is looked through, no faster than is allowed, again and again', async () => {
  await restarted(async ({ sim, manager }) => {
    const bytes = [...manager.logs].reduce((sum, log) => sum + log.bytes, 0)
    manager.startScrubber(() => LIMITS)
    const startedMs = sim.scheduler.nowMs + LIMITS.intervalMs
    await sim.until(() => manager.scrubStats.rounds === 1, { withinMs: 600_000, what: 'a round is done' })
    assert.equal(manager.scrubStats.bytes, bytes)
    const tookMs = sim.scheduler.nowMs - startedMs
    assert.ok(tookMs >= (bytes / LIMITS.bytesPerSecond) * 1000 * 0.9, `${bytes} bytes in ${tookMs} ms`)
    await sim.until(() => manager.scrubStats.rounds === 2, { withinMs: 600_000, what: 'another one is' })
    assert.equal(manager.scrubStats.damaged, 0)
  })
})

test('a bit that flipped where nobody reads is found, in that log alone', async () => {
  await restarted(async ({ sim, machine, manager }) => {
    const [first] = machine.files('/data/b-0').filter(({ path }) => path.endsWith('.log'))
    machine.flipBit(first?.path ?? '', 1000)
    manager.startScrubber(() => LIMITS)
    await sim.until(() => manager.scrubStats.rounds === 1, { withinMs: 600_000, what: 'a round is done' })
    assert.equal(manager.scrubStats.damaged, 1)
    const failed = [...manager.logs].filter(({ failure }) => failure !== null)
    assert.deepEqual(
      failed.map(({ topicPartition }) => topicPartition.topic),
      ['b'],
    )
  })
})

test('switched off nothing is read', async () => {
  await restarted(async ({ sim, manager }) => {
    manager.startScrubber(() => null)
    await sim.runFor(3_600_000)
    assert.equal(manager.scrubStats.bytes, 0)
  })
})
