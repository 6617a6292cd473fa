import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Sim } from '../sim/sim.ts'
import { simulate } from '../sim/sim.ts'
import { type ClusterSettings, ReplicaCluster } from '../testing/replica-cluster.ts'
import { batchOf } from '../testing/replica-node.ts'

async function withCluster(
  run: (cluster: ReplicaCluster, sim: Sim) => Promise<void>,
  settings: ClusterSettings = {},
): Promise<void> {
  await simulate({ seed: 4 }, async (sim) => run(await ReplicaCluster.start(sim, settings), sim))
}

test('what is acknowledged by all is on the disks of all, and all know that it is committed', () =>
  withCluster(async (cluster, sim) => {
    cluster.createTopic('a')
    await sim.runFor(100)
    for (const value of ['0', '1', '2']) {
      assert.equal((await cluster.node(1).produce('a', batchOf([value]))).errorCode, 0)
    }
    for (const node of cluster.nodes) {
      assert.deepEqual(await node.held('a'), ['0', '1', '2'])
      assert.equal(node.partition('a').log?.durableOffset, 3)
    }
    await sim.runFor(10)
    for (const node of cluster.nodes) assert.equal(node.partition('a').highWatermark, 3)
  }))

test('a follower that is silent leaves the in-sync replicas, and comes back once it is level', () =>
  withCluster(
    async (cluster, sim) => {
      cluster.createTopic('a', { configs: { 'min.insync.replicas': '2' } })
      await sim.runFor(100)
      // Its process stands still, and the controller does not notice.
      cluster.node(3).machine.pause(40_000)
      const startMs = sim.nowMs
      assert.equal((await cluster.node(1).produce('a', batchOf(['x']))).errorCode, 0)
      const tookMs = sim.nowMs - startMs
      assert.ok(tookMs > 10_000 && tookMs < 16_000, `${tookMs} ms`)
      assert.deepEqual(cluster.controller.decided, ['a-0 isr=1,2'])
      await sim.runFor(40_000)
      assert.deepEqual(cluster.controller.decided, ['a-0 isr=1,2', 'a-0 isr=1,2,3'])
      assert.deepEqual(await cluster.node(3).held('a'), ['x'])
    },
    { replica: { lagTimeMaxMs: 10_000 } },
  ))
