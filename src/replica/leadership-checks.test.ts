import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FetchRequest } from '../protocol/apis/fetch.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { Sim } from '../sim/sim.ts'
import { simulate } from '../sim/sim.ts'
import { ReplicaCluster, type ReplicaMember } from '../testing/replica-cluster.ts'
import { fetchRequest, requestContext } from '../testing/replica-node.ts'

async function withTopic(run: (cluster: ReplicaCluster, sim: Sim) => Promise<void>): Promise<void> {
  await simulate({ seed: 11 }, async (sim) => {
    const cluster = await ReplicaCluster.start(sim)
    cluster.createTopic('a', { configs: { 'min.insync.replicas': '2' } })
    await sim.runFor(700)
    await run(cluster, sim)
  })
}

const isStillLed = (node: ReplicaMember) => node.partition('a').isStillLed()

test('a leader is known to lead as soon as both followers, whose fetches wait, have asked again', () =>
  withTopic(async (cluster, sim) => {
    const beganMs = sim.nowMs
    assert.equal(await isStillLed(cluster.node(1)), true)
    assert.ok(sim.nowMs - beganMs < 100, `${sim.nowMs - beganMs} ms`)
  }))

test('a leader is not known to lead while one of those is not heard who may have been elected', () =>
  withTopic(async (cluster, sim) => {
    sim.net.isolate(cluster.node(3).machine.host)
    assert.equal(await isStillLed(cluster.node(1)), false)
    // It is out of the in-sync set, which is known here: nobody elects it.
    cluster.controller.fence(3)
    await sim.runFor(100)
    assert.equal(await isStillLed(cluster.node(1)), true)
  }))

test('who is out of the in-sync set and eligible may have been elected', () =>
  withTopic(async (cluster, sim) => {
    sim.net.isolate(cluster.node(3).machine.host)
    cluster.controller.change('a', { isr: [1, 2], eligibleLeaderReplicas: [3] })
    await sim.runFor(100)
    assert.equal(await isStillLed(cluster.node(1)), false)
  }))

test('a leader alone in the in-sync set leads, whoever is silent', () =>
  withTopic(async (cluster, sim) => {
    sim.net.isolate(cluster.node(1).machine.host)
    for (const id of [2, 3]) cluster.controller.fence(id)
    await sim.runFor(100)
    assert.equal(await isStillLed(cluster.node(1)), true)
  }))

test('a leader that has not heard of its successor is not known to lead, though the third follows it still', () =>
  withTopic(async (cluster, sim) => {
    cluster.node(1).isConnected = false
    cluster.node(3).isConnected = false
    cluster.controller.lead('a', 2)
    await sim.runFor(100)
    assert.ok(cluster.node(1).partition('a').leader !== null)
    assert.equal(await isStillLed(cluster.node(1)), false)
  }))

test('a follower that has another leader by now is not asked again and again', () =>
  withTopic(async (cluster, sim) => {
    cluster.createTopic('b', { idByte: 9 })
    await sim.runFor(700)
    cluster.node(1).isConnected = false
    cluster.controller.lead('a', 2)
    await sim.runFor(100)
    const { metrics } = cluster.node(2).replicas
    const before = metrics.followerFetches
    assert.equal(await isStillLed(cluster.node(1)), false)
    assert.ok(metrics.followerFetches - before < 10, `${metrics.followerFetches - before} fetches`)
  }))

test('a request that was made before the check proves nothing, however late it comes', () =>
  withTopic(async (cluster, sim) => {
    for (const id of [2, 3]) sim.net.isolate(cluster.node(id).machine.host)
    cluster.controller.fence(3)
    await sim.runFor(100)
    const follower = played(cluster.node(1), 2)
    await follower.ask(0)
    const checked = isStillLed(cluster.node(1))
    // It is on its way already: the answer that it follows left before the check.
    await follower.ask(1)
    assert.equal(await Promise.race([checked, sim.runFor(300)]), undefined)
    await follower.ask(2)
    assert.equal(await checked, true)
  }))

test('an offset beyond the end is out of range when the followers say so, where no controller does; else the client asks again', () =>
  withTopic(async (cluster, sim) => {
    const leader = cluster.node(1)
    const beyond = async () => (await leader.fetch('a', { offset: 5 })).errorCode
    leader.replicas.hosted.mayBeSucceeded = () => true
    assert.equal(await beyond(), ErrorCode.OFFSET_OUT_OF_RANGE)
    leader.isConnected = false
    cluster.controller.lead('a', 2)
    await sim.runFor(100)
    assert.equal(await beyond(), ErrorCode.NOT_LEADER_OR_FOLLOWER)
  }))

/** A follower that asks when it is told to, in one session. */
function played(leader: ReplicaMember, replicaId: number) {
  let sessionId = 0
  return {
    async ask(sessionEpoch: number): Promise<void> {
      const named = fetchRequest(sessionEpoch === 0 ? [['a', { leaderEpoch: 0 }]] : [])
      const request: FetchRequest = { ...named, replicaId, sessionId, sessionEpoch }
      const answer = await leader.replicas.fetch(request, requestContext(12))
      assert.equal(answer.errorCode, 0)
      sessionId = answer.sessionId ?? 0
    },
  }
}
