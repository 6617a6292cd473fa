import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ErrorCode } from '../protocol/errors.ts'
import type { Host } from '../sim/net/host.ts'
import type { Sim } from '../sim/sim.ts'
import { simulate } from '../sim/sim.ts'
import { LOST_DIRECTORY } from './directory-reports.ts'
import { type ClusterSettings, ReplicaCluster } from '../testing/replica-cluster.ts'
import { batchOf, fetchRequest, requestContext } from '../testing/replica-node.ts'

/** A topic `a` on all nodes, led by node 1. */
async function withTopic(
  run: (cluster: ReplicaCluster, sim: Sim) => Promise<void>,
  settings: ClusterSettings = {},
): Promise<void> {
  await simulate({ seed: 11 }, async (sim) => {
    const cluster = await ReplicaCluster.start(sim, settings)
    cluster.createTopic('a', { configs: { 'min.insync.replicas': '2' } })
    await sim.runFor(100)
    await run(cluster, sim)
  })
}

/** Batch `sequence` of an idempotent producer: a retry of it is the same. */
const batch = (sequence: number) =>
  batchOf([`${sequence}`], { producerId: 5, producerEpoch: 0, baseSequence: sequence })

async function allHold(cluster: ReplicaCluster, values: readonly string[]): Promise<void> {
  for (const node of cluster.nodes)
    if (node.isRunning) assert.deepEqual(await node.held('a'), values, `node ${node.id}`)
}

test('scenario 1: a leader that dies before anyone has fetched has acknowledged nothing, and the retry lands once', () =>
  withTopic(async (cluster, sim) => {
    await cluster.node(1).produce('a', batch(0))
    sim.net.isolate(cluster.node(1).machine.host)
    let acked = false
    void cluster
      .node(1)
      .produce('a', batch(1))
      .then(() => {
        acked = true
      })
    await sim.runFor(200)
    assert.equal(cluster.node(1).partition('a').log?.endOffset, 2)
    await cluster.kill(1)
    await sim.runFor(100)
    assert.ok(!acked)
    assert.equal((await cluster.node(2).produce('a', batch(1))).baseOffset, 1)
    // It comes back with a record that is no one else's, and gives it up.
    sim.net.heal()
    await cluster.node(1).start()
    await sim.runFor(1500)
    await allHold(cluster, ['0', '1'])
    assert.equal(cluster.node(1).partition('a').log?.epochs.latest, 1)
    assert.deepEqual(cluster.node(1).losses, [])
  }))

test('scenario 2: a retry of what was committed before the leader died is answered with its first offset', () =>
  withTopic(async (cluster, sim) => {
    await cluster.node(1).produce('a', batch(0))
    await cluster.node(1).produce('a', batch(1))
    await cluster.kill(1)
    await sim.runFor(100)
    assert.equal((await cluster.node(2).produce('a', batch(1))).baseOffset, 1)
    await allHold(cluster, ['0', '1'])
  }))

test('scenario 3: a follower that restarts before it learnt the high watermark keeps the record, and leads with it', () =>
  withTopic(async (cluster, sim) => {
    await cluster.node(1).produce('a', batch(0))
    cluster.node(2).kill()
    // The leader dies before the follower is back.
    cluster.node(1).kill()
    await cluster.node(2).start({ staysInSync: true })
    assert.equal(cluster.node(2).partition('a').highWatermark, 0)
    cluster.controller.fence(1)
    await sim.runFor(1500)
    assert.equal(cluster.node(2).partition('a').leader?.leaderEpoch, 1)
    assert.deepEqual(await cluster.node(2).held('a'), ['0'])
    assert.equal(cluster.node(2).partition('a').highWatermark, 1)
  }))

test('scenario 4: two that lose power with a record more each make one history', async () => {
  await simulate({ seed: 3 }, async (sim) => {
    const cluster = await ReplicaCluster.start(sim, { nodes: 2 })
    cluster.createTopic('a')
    await sim.runFor(100)
    await cluster.node(1).produce('a', batchOf(['both']))
    sim.net.isolate(cluster.node(2).machine.host)
    void cluster.node(1).produce('a', batchOf(['of 1']))
    await sim.runFor(100)
    cluster.node(1).losePower('none')
    cluster.node(2).losePower('all')
    cluster.controller.fence(1)
    cluster.controller.change('a', { leader: 2 })
    sim.net.heal()
    await cluster.node(2).start()
    cluster.controller.change('a', { leader: 2, isr: [2] })
    await sim.runFor(50)
    await cluster.node(2).produce('a', batchOf(['of 2']))
    await cluster.node(1).start()
    await sim.runFor(1500)
    await allHold(cluster, ['both', 'of 2'])
    const [one, two] = cluster.nodes.map((node) => node.partition('a').log)
    assert.deepEqual(one?.epochs.entries, two?.epochs.entries)
  })
})

test('scenario 5: leaders that change faster than anyone hears of them leave one history', () =>
  withTopic(async (cluster, sim) => {
    await cluster.node(1).produce('a', batchOf(['0']))
    // Each takes one record that nobody else hears of, and does not hear of its successor.
    for (const node of cluster.nodes) node.isConnected = false
    for (const leader of [2, 3, 1, 2]) {
      cluster.controller.lead('a', leader)
      sim.net.heal()
      for (const node of cluster.nodes) sim.net.isolate(node.machine.host)
      cluster.node(leader).isConnected = true
      cluster.node(leader).hear()
      await sim.runFor(20)
      void cluster.node(leader).produce('a', batchOf([`of ${leader}`]))
      await sim.runFor(20)
      cluster.node(leader).isConnected = false
    }
    // Epochs in which nothing is written.
    for (const leader of [3, 1, 3]) cluster.controller.lead('a', leader)
    for (const node of cluster.nodes) node.isConnected = true
    sim.net.heal()
    for (const node of cluster.nodes) node.hear()
    await sim.runFor(2000)
    assert.equal((await cluster.node(3).produce('a', batchOf(['last']))).errorCode, 0)
    await sim.runFor(100)
    await allHold(cluster, ['0', 'of 3', 'last'])
    for (const node of cluster.nodes) {
      assert.deepEqual(node.losses, [])
      const { epochs } = node.partition('a').log as NonNullable<ReturnType<typeof node.partition>['log']>
      assert.deepEqual(epochs.entries.at(-1), { epoch: 7, startOffset: 2 })
    }
  }))

test('scenario 7: a leader cut from its followers has them taken out, and refuses below min.insync.replicas', () =>
  withTopic(
    async (cluster, sim) => {
      cluster.createTopic('b', { idByte: 8, replicas: [2, 3] })
      await sim.runFor(100)
      const { host } = cluster.node(1).machine
      sim.net.isolate(host)
      const late = await cluster.node(1).produce('a', batchOf(['x']), { timeoutMs: 5000 })
      assert.equal(late.errorCode, ErrorCode.REQUEST_TIMED_OUT)
      await sim.runFor(12_000)
      assert.deepEqual(cluster.controller.decided, ['a-0 isr=1'])
      assert.equal((await cluster.node(1).produce('a', batchOf(['y']))).errorCode, ErrorCode.NOT_ENOUGH_REPLICAS)
      // Nothing above is visible, though the leader has it.
      assert.equal(cluster.node(1).partition('a').highWatermark, 0)
      // Others do not notice.
      assert.equal((await cluster.node(2).produce('b', batchOf(['z']))).errorCode, 0)
      sim.net.heal()
      await sim.runFor(3000)
      assert.deepEqual(cluster.controller.decided.at(-1), 'a-0 isr=1,2,3')
      assert.equal((await cluster.node(1).produce('a', batchOf(['y']))).errorCode, 0)
      await allHold(cluster, ['x', 'y'])
    },
    { replica: { lagTimeMaxMs: 4000 } },
  ))

test('scenario 9: an unclean leader makes others give up what was committed, and they say so', () =>
  withTopic(async (cluster, sim) => {
    await cluster.node(1).produce('a', batchOf(['0']))
    await cluster.kill(3)
    await sim.runFor(50)
    await cluster.node(1).produce('a', batchOf(['1']))
    // How far it is committed is noted down now and then.
    await sim.runFor(6000)
    await cluster.kill(2, { noticedMs: 0 })
    await cluster.kill(1, { noticedMs: 0 })
    await cluster.node(3).start()
    cluster.controller.change('a', { leader: 3, isr: [3], leaderRecoveryState: 1 })
    await cluster.node(1).start()
    await sim.runFor(1500)
    assert.deepEqual(await cluster.node(1).held('a'), ['0'])
    assert.deepEqual(cluster.node(1).losses, ['a-0 from 1'])
  }))

test('scenario 10: a fetch that an earlier life of a follower sent, and that comes late, is refused and counts for nothing', () =>
  withTopic(async (cluster, sim) => {
    const old = cluster.controller.image.broker(3)?.brokerEpoch ?? -1
    await cluster.kill(3)
    void cluster.node(1).produce('a', batchOf(['0']))
    await cluster.node(3).start()
    const { topicId } = cluster.node(1).partition('a')
    const ask = fetchRequest([['a', { topicId, offset: 0, leaderEpoch: 0 }]])
    const late = { ...ask, replicaState: { replicaId: 3, replicaEpoch: old } }
    const refused = await cluster.node(1).replicas.fetch(late, requestContext(18))
    assert.equal(refused.errorCode, ErrorCode.STALE_BROKER_EPOCH)
    await sim.runFor(1500)
    const follower = cluster
      .node(1)
      .partition('a')
      .leader?.followers.find(({ id }) => id === 3)
    assert.equal(follower?.brokerEpoch, cluster.controller.image.broker(3)?.brokerEpoch)
    // Whoever may not act as a replica is told so.
    const stranger = { ...requestContext(18), mayReplicate: false }
    const denied = await cluster.node(1).replicas.fetch(late, stranger)
    assert.equal(denied.errorCode, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
  }))

test('scenario 14: a follower whose disk stands still leaves the in-sync replicas, and the others go on', () =>
  withTopic(
    async (cluster, sim) => {
      await cluster.node(1).produce('a', batchOf(['0']))
      cluster.node(3).machine.stallDisk(20_000)
      const beganMs = sim.nowMs
      await cluster.node(1).produce('a', batchOf(['1']))
      assert.ok(sim.nowMs - beganMs < 6500, `${sim.nowMs - beganMs} ms`)
      // It holds the record, and is not counted for it.
      assert.equal(cluster.node(3).partition('a').log?.endOffset, 2)
      assert.equal(cluster.node(3).partition('a').log?.durableOffset, 1)
      const againMs = sim.nowMs
      await cluster.node(1).produce('a', batchOf(['2']))
      assert.ok(sim.nowMs - againMs < 50, `${sim.nowMs - againMs} ms`)
      await sim.runFor(20_000)
      assert.deepEqual(cluster.controller.decided, ['a-0 isr=1,2', 'a-0 isr=1,2,3'])
      await allHold(cluster, ['0', '1', '2'])
    },
    { replica: { lagTimeMaxMs: 4000 } },
  ))

test('scenario 17: a replica that returns below the leader’s start begins there, with epochs and producers as the leader has them', () =>
  withTopic(async (cluster, sim) => {
    await cluster.node(1).produce('a', batch(0))
    await cluster.kill(3)
    for (const sequence of [1, 2, 3, 4]) await cluster.node(1).produce('a', batch(sequence))
    const topics = [{ name: 'a', partitions: [{ partitionIndex: 0, offset: 4 }] }]
    await cluster.node(1).replicas.deleteRecords({ topics, timeoutMs: 1000 }, requestContext(2))
    await cluster.node(3).start()
    await sim.runFor(1500)
    const { log } = cluster.node(3).partition('a')
    assert.deepEqual([log?.logStartOffset, log?.endOffset], [4, 5])
    assert.deepEqual(log?.epochs.entries, cluster.node(1).partition('a').log?.epochs.entries)
    assert.deepEqual(await cluster.node(3).held('a'), ['4'])
    // It leads, and still knows the last batch of the producer.
    cluster.controller.lead('a', 3)
    await sim.runFor(50)
    assert.equal((await cluster.node(3).produce('a', batch(4))).baseOffset, 4)
  }))

test('scenario 18: sessions that are lost, and partitions that come and go in them, starve nobody', () =>
  withTopic(async (cluster, sim) => {
    const [one, two, three] = cluster.nodes.map(({ machine }) => machine.host) as [Host, Host, Host]
    for (let round = 0; round < 8; round++) {
      const [name, idByte] = [`t${round}`, 20 + round]
      cluster.createTopic(name, { idByte })
      if (round % 2 === 0) sim.net.resetConnections(one, round % 4 === 0 ? two : three)
      await sim.runFor(10)
      if (round > 1) cluster.deleteTopic(`t${round - 2}`)
      const beganMs = sim.nowMs
      const answers = await Promise.all([
        cluster.node(1).produce('a', batchOf([`${round}`])),
        cluster.node(1).produce(name, batchOf(['x'])),
      ])
      for (const { errorCode } of answers) assert.equal(errorCode, 0)
      assert.ok(sim.nowMs - beganMs < 200, `${sim.nowMs - beganMs} ms`)
    }
    // A leader that has forgotten all of its followers' sessions.
    cluster.node(1).kill()
    await cluster.node(1).start({ staysInSync: true })
    cluster.controller.lead('a', 1)
    await sim.runFor(50)
    assert.equal((await cluster.node(1).produce('a', batchOf(['last']))).errorCode, 0)
  }))

test('a leader whose log fails is followed by another at once, and a follower whose log fails leaves the in-sync replicas', () =>
  withTopic(async (cluster, sim) => {
    await cluster.node(1).produce('a', batchOf(['0']))
    cluster.node(1).machine.failDisk({ operation: 'write', pathEnd: '.log', code: 'EIO', times: 1 })
    const failed = await cluster.node(1).produce('a', batchOf(['1']))
    assert.equal(failed.errorCode, ErrorCode.KAFKA_STORAGE_ERROR)
    await sim.runFor(100)
    assert.equal((await cluster.node(2).produce('a', batchOf(['1']))).errorCode, 0)
    assert.deepEqual(cluster.controller.image.partition('a', 0)?.isr, [2, 3])
    // The next process finds a log that is well, and takes part again.
    cluster.node(1).kill()
    await cluster.node(1).start()
    await sim.runFor(1500)
    assert.deepEqual(cluster.controller.image.partition('a', 0)?.isr, [2, 3, 1])
    assert.notEqual(cluster.controller.image.partition('a', 0)?.directories[0], LOST_DIRECTORY)
    cluster.node(3).machine.failDisk({ operation: 'write', pathEnd: '.log', code: 'EIO', times: 1 })
    const beganMs = sim.nowMs
    await cluster.node(2).produce('a', batchOf(['2']))
    assert.ok(sim.nowMs - beganMs < 100, `${sim.nowMs - beganMs} ms`)
    assert.deepEqual(cluster.controller.image.partition('a', 0)?.isr, [2, 1])
  }))

test('a replica for which there was no room follows once there is, also when an image comes before it is tried again', () =>
  withTopic(async (cluster, sim) => {
    cluster.node(3).machine.leaveRoom(0)
    cluster.createTopic('b', { idByte: 9 })
    await sim.runFor(100)
    assert.equal(cluster.node(3).replicas.hosted.get('b', 0), undefined)
    cluster.node(3).machine.leaveRoom(Number.POSITIVE_INFINITY)
    cluster.controller.change('b', { isr: [1, 2] })
    await sim.runFor(8000)
    assert.equal((await cluster.node(1).produce('b', batchOf(['0']))).errorCode, 0)
    assert.deepEqual(await cluster.node(3).held('b'), ['0'])
    assert.deepEqual(cluster.controller.image.partition('b', 0)?.isr, [1, 2, 3])
  }))

test('a node that stops after its leaderships were moved is not complained about, and is followed again when it leads', () =>
  withTopic(async (cluster, sim) => {
    cluster.controller.lead('a', 2)
    await sim.runFor(200)
    await cluster.node(1).replicas.stop()
    await sim.runFor(1000)
    assert.deepEqual(
      sim.logs.lines.filter((line) => line.includes('A leader cannot be followed')),
      [],
    )
    cluster.node(1).kill()
    await cluster.node(1).start()
    await sim.runFor(2000)
    cluster.controller.lead('a', 1)
    await sim.runFor(500)
    await cluster.node(1).produce('a', batch(0))
    await sim.runFor(500)
    await allHold(cluster, ['0'])
  }))

test('a log that could not be cut back is cut back later, and its replica follows', () =>
  withTopic(async (cluster, sim) => {
    await cluster.node(1).produce('a', batch(0))
    await sim.runFor(100)
    sim.net.isolate(cluster.node(1).machine.host)
    void cluster.node(1).produce('a', batch(1))
    await sim.runFor(100)
    const { log } = cluster.node(1).partition('a')
    assert.ok(log)
    const cutBack = log.truncateTo.bind(log)
    let tries = 0
    // No descriptor is left, say.
    log.truncateTo = (offset) => (++tries === 1 ? Promise.reject(new Error('EMFILE')) : cutBack(offset))
    cluster.controller.lead('a', 2)
    await sim.runFor(100)
    sim.net.heal()
    await cluster.node(2).produce('a', batch(1))
    await sim.runFor(3000)
    assert.equal(tries, 2)
    await allHold(cluster, ['0', '1'])
  }))
