import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ErrorCode } from '../protocol/errors.ts'
import type { Sim } from '../sim/sim.ts'
import { simulate } from '../sim/sim.ts'
import { ReplicaCluster } from '../testing/replica-cluster.ts'
import { batchOf, type ProducedPartition } from '../testing/replica-node.ts'

/** A topic `a` on three nodes, led by node 1, with one record. */
async function withTopic(run: (cluster: ReplicaCluster, sim: Sim) => Promise<void>): Promise<void> {
  await simulate({ seed: 5 }, async (sim) => {
    const cluster = await ReplicaCluster.start(sim)
    cluster.createTopic('a', { configs: { 'min.insync.replicas': '2' } })
    await sim.runFor(100)
    await cluster.node(1).produce('a', batchOf(['0']))
    await run(cluster, sim)
  })
}

/** What becomes of a request; empty until it is answered. */
function answersOf(asked: Promise<ProducedPartition>): ProducedPartition[] {
  const answers: ProducedPartition[] = []
  void asked.then((answer) => answers.push(answer))
  return answers
}

test('a leader that is succeeded sends nobody to a node that has not heard yet that it leads', () =>
  withTopic(async (cluster, sim) => {
    cluster.node(2).isConnected = false
    cluster.controller.lead('a', 2)
    await sim.runFor(20)
    const answers = answersOf(cluster.node(1).produce('a', batchOf(['1'])))
    await sim.runFor(50)
    assert.equal(answers.length, 0)
    cluster.node(2).isConnected = true
    cluster.node(2).hear()
    await sim.runFor(60)
    assert.equal(answers[0]?.errorCode, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert.deepEqual(answers[0]?.currentLeader, { leaderId: 2, leaderEpoch: 1 })
    // From now on nobody has to wait.
    const beganMs = sim.nowMs
    const late = await cluster.node(1).produce('a', batchOf(['1']))
    assert.deepEqual([late.errorCode, sim.nowMs - beganMs], [ErrorCode.NOT_LEADER_OR_FOLLOWER, 0])
    assert.equal((await cluster.node(2).produce('a', batchOf(['1']))).baseOffset, 1)
  }))

test('what was under way when the leader changed is acknowledged when the next one has committed it', () =>
  withTopic(async (cluster, sim) => {
    const answers = answersOf(cluster.node(1).produce('a', batchOf(['1'])))
    // Everybody has it, and nobody has told.
    while (cluster.nodes.some((node) => node.partition('a').log?.endOffset !== 2)) await sim.runFor(0.1)
    assert.equal(answers.length, 0)
    cluster.controller.lead('a', 2)
    await sim.runFor(50)
    assert.equal(cluster.node(2).partition('a').leader?.leaderEpoch, 1)
    assert.deepEqual([answers[0]?.errorCode, answers[0]?.baseOffset], [ErrorCode.NONE, 1])
    assert.ok(cluster.node(2).partition('a').highWatermark >= 2)
  }))

test('what only the old leader had is not acknowledged: it is cut off there, and its producer sent on', () =>
  withTopic(async (cluster, sim) => {
    const { host } = cluster.node(1).machine
    sim.net.isolate(host)
    const answers = answersOf(cluster.node(1).produce('a', batchOf(['1'])))
    await sim.runFor(20)
    cluster.controller.lead('a', 2)
    await sim.runFor(100)
    sim.net.heal()
    await sim.runFor(3000)
    assert.equal(answers[0]?.errorCode, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert.deepEqual(await cluster.node(1).held('a'), ['0'])
  }))

test('a successor that is not heard is waited for a third of a second', () =>
  withTopic(async (cluster, sim) => {
    cluster.node(2).kill()
    cluster.controller.lead('a', 2)
    await sim.runFor(5)
    const beganMs = sim.nowMs
    const { errorCode } = await cluster.node(1).produce('a', batchOf(['1']))
    assert.equal(errorCode, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert.ok(sim.nowMs - beganMs > 250 && sim.nowMs - beganMs < 320, `${sim.nowMs - beganMs} ms`)
  }))

test('a planned change of leaders leaves the next one with all that the last one had, whoever hears of it first', () =>
  withTopic(async (cluster, sim) => {
    const ends = [0, 0, 0]
    const answers: ProducedPartition[] = []
    let sent = 0
    const step = async () => {
      // Clients stay with a leader as long as it takes what they send.
      const old = cluster.nodes.filter((node) => node.partition('a').leader !== null)
      const [{ id: leader } = { id: 1 }] = old.sort(
        (a, b) => a.partition('a').leaderEpoch - b.partition('a').leaderEpoch,
      )
      void cluster
        .node(leader)
        .produce('a', batchOf([`${sent++}`]))
        .then((answer) => answers.push(answer))
      await sim.runFor(1)
      for (const node of cluster.nodes) {
        const end = node.partition('a').log?.endOffset as number
        assert.ok(end >= (ends[node.id - 1] as number), `node ${node.id} cut ${end}`)
        ends[node.id - 1] = end
      }
    }
    for (const [round, leader] of [2, 3, 1, 2, 1, 3].entries()) {
      for (let i = 0; i < 30; i++) await step()
      for (const node of cluster.nodes) node.isConnected = false
      cluster.controller.lead('a', leader)
      const order = [
        [1, 2, 3],
        [3, 2, 1],
        [2, 1, 3],
      ][round % 3] as number[]
      for (const id of order) {
        cluster.node(id).isConnected = true
        cluster.node(id).hear()
        for (let i = 0; i < 5; i++) await step()
      }
    }
    await sim.runFor(400)
    assert.equal(answers.length, sent)
    const acknowledged = answers.filter(({ errorCode }) => errorCode === ErrorCode.NONE).length
    assert.equal((await cluster.node(3).held('a')).length, acknowledged + 1)
    assert.ok(acknowledged > 180, `${acknowledged} of ${sent}`)
  }))
