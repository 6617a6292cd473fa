import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ErrorCode } from '../protocol/errors.ts'
import type { Sim } from '../sim/sim.ts'
import { simulate } from '../sim/sim.ts'
import { type ClusterSettings, ReplicaCluster } from '../testing/replica-cluster.ts'
import { batchOf, requestContext } from '../testing/replica-node.ts'

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
      await sim.runFor(1000)
      const [laggard, ...others] = cluster.node(1).replicas.laggards('a', 0)
      assert.deepEqual(others, [])
      assert.deepEqual([laggard?.nodeId, laggard?.behindRecords, laggard?.why], [3, 1, 'behind'])
      assert.ok((laggard?.behindMs ?? 0) > 10_000 && (laggard?.behindMs ?? 0) < 20_000, `${laggard?.behindMs}`)
      await sim.runFor(40_000)
      assert.deepEqual(cluster.node(1).replicas.laggards('a', 0), [])
      assert.deepEqual(cluster.controller.decided, ['a-0 isr=1,2', 'a-0 isr=1,2,3'])
      assert.deepEqual(await cluster.node(3).held('a'), ['x'])
    },
    { replica: { lagTimeMaxMs: 10_000 } },
  ))

test('a fetch that waits at the leader is called back for a partition that has just come', () =>
  withCluster(async (cluster, sim) => {
    cluster.createTopic('a')
    await sim.runFor(100)
    for (const name of ['b', 'c']) {
      cluster.createTopic(name, { idByte: name.charCodeAt(0) })
      await sim.runFor(5)
      const beganMs = sim.nowMs
      assert.equal((await cluster.node(1).produce(name, batchOf(['x']))).errorCode, 0)
      assert.ok(sim.nowMs - beganMs < 40, `${sim.nowMs - beganMs} ms`)
    }
  }))

test('an acknowledgement costs a follower two fetches: one brings the record, one the news that it is committed', () =>
  withCluster(async (cluster, sim) => {
    cluster.createTopic('a')
    await sim.runFor(100)
    await cluster.node(1).produce('a', batchOf(['warm']))
    await sim.runFor(100)
    const { metrics } = cluster.node(2).replicas
    const before = { ...metrics }
    const tookMs: number[] = []
    for (let index = 0; index < 20; index++) {
      const beganMs = sim.nowMs
      await cluster.node(1).produce('a', batchOf([`${index}`]))
      tookMs.push(sim.nowMs - beganMs)
      await sim.runFor(20)
    }
    assert.ok(metrics.followerFetches - before.followerFetches <= 44, `${metrics.followerFetches} fetches`)
    assert.equal(metrics.followerWakes, before.followerWakes)
    assert.ok(Math.max(...tookMs) < 8, `${tookMs.map((ms) => ms.toFixed(1))} ms`)
  }))

test('an idle follower of many partitions asks twice a second, in few bytes', () =>
  withCluster(async (cluster, sim) => {
    cluster.createTopic('a', { partitions: 300 })
    await sim.runFor(2000)
    const { metrics } = cluster.node(2).replicas
    const before = metrics.followerFetches
    await sim.runFor(10_000)
    const fetches = metrics.followerFetches - before
    assert.ok(fetches >= 15 && fetches <= 25, `${fetches} fetches`)
  }))

test('a leader whose start lies within a batch is followed from the whole batch on', () =>
  withCluster(async (cluster, sim) => {
    cluster.createTopic('a')
    await sim.runFor(100)
    await cluster.kill(3)
    await cluster.node(1).produce('a', batchOf(['0', '1', '2']))
    await cluster.node(1).produce('a', batchOf(['3']))
    const topics = [{ name: 'a', partitions: [{ partitionIndex: 0, offset: 1 }] }]
    await cluster.node(1).replicas.deleteRecords({ topics, timeoutMs: 1000 }, requestContext(2))
    await cluster.node(3).start()
    await sim.runFor(1500)
    const { log } = cluster.node(3).partition('a')
    assert.deepEqual([log?.logStartOffset, log?.endOffset], [1, 4])
    cluster.controller.lead('a', 3)
    await sim.runFor(100)
    assert.deepEqual((await cluster.node(3).fetch('a', { offset: 1 })).highWatermark, 4)
  }))

test('records are deleted on every replica that is alive before that is answered', () =>
  withCluster(async (cluster, sim) => {
    cluster.createTopic('a')
    await sim.runFor(100)
    for (const value of ['0', '1', '2']) await cluster.node(1).produce('a', batchOf([value]))
    const deleteUpTo = async (offset: number) => {
      const topics = [{ name: 'a', partitions: [{ partitionIndex: 0, offset }] }]
      const answer = await cluster.node(1).replicas.deleteRecords({ topics, timeoutMs: 2000 }, requestContext(2))
      return answer.topics[0]?.partitions[0]
    }
    const beganMs = sim.nowMs
    assert.deepEqual(await deleteUpTo(2), { partitionIndex: 0, lowWatermark: 2, errorCode: 0 })
    assert.ok(sim.nowMs - beganMs < 100, `${sim.nowMs - beganMs} ms`)
    for (const node of cluster.nodes) assert.equal(node.partition('a').log?.logStartOffset, 2)
    // One that is silent is waited for, one that is known to be gone is not.
    cluster.node(3).kill()
    const late = await deleteUpTo(3)
    assert.deepEqual(late, { partitionIndex: 0, lowWatermark: -1, errorCode: ErrorCode.REQUEST_TIMED_OUT })
    cluster.controller.fence(3)
    await sim.runFor(10)
    assert.deepEqual(await deleteUpTo(3), { partitionIndex: 0, lowWatermark: 3, errorCode: 0 })
  }))

test('a consumer is sent to the replica in its rack, which never gives more than it knows to be committed', () =>
  withCluster(
    async (cluster, sim) => {
      cluster.createTopic('a')
      await sim.runFor(100)
      await cluster.node(1).produce('a', batchOf(['0']))
      await sim.runFor(20)
      const sent = await cluster.node(1).fetch('a', { rack: 'zone-3' })
      assert.deepEqual([sent.preferredReadReplica, sent.records?.length], [3, 0])
      assert.equal((await cluster.node(1).fetch('a', { rack: 'zone-1' })).preferredReadReplica, -1)
      assert.equal((await cluster.node(1).fetch('a', { rack: 'elsewhere' })).preferredReadReplica, -1)
      // A long poll there hears of the next record when it is committed.
      const polled = cluster.node(3).fetch('a', { offset: 1, maxWaitMs: 1000, rack: 'zone-3' })
      await sim.runFor(10)
      const beganMs = sim.nowMs
      await cluster.node(1).produce('a', batchOf(['1']))
      assert.equal((await polled).highWatermark, 2)
      assert.ok(sim.nowMs - beganMs < 30, `${sim.nowMs - beganMs} ms`)
      // It holds a record that is not committed, and is asked for one that it has not heard of.
      sim.net.isolate(cluster.node(2).machine.host)
      void cluster.node(1).produce('a', batchOf(['2']))
      await sim.runFor(20)
      assert.equal(cluster.node(3).partition('a').log?.endOffset, 3)
      const waiting = await cluster.node(3).fetch('a', { offset: 2 })
      assert.deepEqual([waiting.errorCode, waiting.records?.length], [0, 0])
      const ahead = await cluster.node(3).fetch('a', { offset: 4 })
      assert.equal(ahead.errorCode, ErrorCode.OFFSET_NOT_AVAILABLE)
      // Versions of before that are sent to the leader, and so is whoever believes in another epoch.
      const old = await cluster.node(3).fetch('a', { version: 10 })
      assert.equal(old.errorCode, ErrorCode.NOT_LEADER_OR_FOLLOWER)
      const fenced = await cluster.node(3).fetch('a', { leaderEpoch: 5 })
      assert.equal(fenced.errorCode, ErrorCode.UNKNOWN_LEADER_EPOCH)
    },
    { replica: { selectsByRack: true } },
  ))
