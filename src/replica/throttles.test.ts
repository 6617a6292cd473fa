import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Sim } from '../sim/sim.ts'
import { simulate } from '../sim/sim.ts'
import { ReplicaCluster } from '../testing/replica-cluster.ts'
import { batchOf } from '../testing/replica-node.ts'
import { isThrottled, RateLimit, throttledReplicas } from './throttles.ts'

test('throttled replicas are written as Kafka does', () => {
  assert.ok(!isThrottled(throttledReplicas(''), 0, 1))
  assert.ok(isThrottled(throttledReplicas('*'), 7, 1))
  const some = throttledReplicas('0:1, 3:2')
  assert.deepEqual(
    [
      [0, 1],
      [3, 2],
      [0, 2],
      [3, 1],
    ].map(([partition, broker]) => isThrottled(some, partition as number, broker as number)),
    [true, true, false, false],
  )
})

test('a rate may be overdrawn once, and is waited for then; rest saves a second of it', () => {
  let nowMs = 0
  const limit = new RateLimit({ wallMs: () => 0, monotonicMs: () => nowMs })
  limit.used(1e9)
  assert.ok(!limit.isExceeded)
  limit.bytesPerSecond = 1000
  nowMs = 10_000
  assert.ok(!limit.isExceeded)
  limit.used(1500)
  assert.ok(limit.isExceeded)
  nowMs = 10_499
  assert.ok(limit.isExceeded)
  nowMs = 10_502
  assert.ok(!limit.isExceeded)
})

/** How long a new replica needs for 500 KB at 100 KB a second, while one that is in sync takes part in what is produced. */
async function reassign(configs: Record<string, string>): Promise<number> {
  let tookMs = 0
  const rates = { leader: 100_000, follower: 100_000 }
  await simulate({ seed: 5 }, async (sim: Sim) => {
    // An answer may overdraw the rate: they are small here.
    const fetchLimits = { partitionMaxBytes: 20_000, maxBytes: 100_000, maxWaitMs: 500, minBytes: 1 }
    const cluster = await ReplicaCluster.start(sim, { replica: { throttleRatesOf: () => rates, fetchLimits } })
    cluster.createTopic('a', { replicas: [1, 2], configs })
    await sim.runFor(100)
    const batch = () => batchOf(['x'.repeat(5000)])
    for (let index = 0; index < 50; index++) await cluster.node(1).produce('a', batch())
    const beganMs = sim.nowMs
    cluster.controller.change('a', { replicas: [1, 2, 3], addingReplicas: [3] })
    while (!cluster.controller.decided.includes('a-0 isr=1,2,3')) {
      const sentMs = sim.nowMs
      await cluster.node(1).produce('a', batchOf(['small']))
      assert.ok(sim.nowMs - sentMs < 50, `${sim.nowMs - sentMs} ms`)
      await sim.runFor(50)
    }
    tookMs = sim.nowMs - beganMs
  })
  return tookMs
}

test('a replica that is being added gets what the leader’s throttle gives, and nobody waits for it', async () => {
  assert.ok((await reassign({})) < 1000)
  const byLeader = await reassign({ 'leader.replication.throttled.replicas': '0:3' })
  assert.ok(byLeader > 3500 && byLeader < 7000, `${byLeader} ms`)
})

test('and what its own throttle gives', async () => {
  const byFollower = await reassign({ 'follower.replication.throttled.replicas': '*' })
  assert.ok(byFollower > 3500 && byFollower < 7000, `${byFollower} ms`)
})
