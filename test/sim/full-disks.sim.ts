/** Disks that are full for a while (reliability S6): who has room goes on, and all comes back by itself. */
import assert from 'node:assert/strict'
import type { Random } from '../../src/base/random.ts'
import { fetchOffsets } from '../../src/sim/clients/group-offsets.ts'
import { scenario } from '../../src/sim/scenario.ts'
import { ClusterRun } from './support/cluster-run.ts'

/** A disk of the others may take its time now and then. */
const HAND_OVER_MS = 10_000
const ASKED_MS = 3000

/** Asks where the group of the load has come to, as one who has asked its coordinator before; H13 judges the answers. */
async function groupAsker(run: ClusterRun): Promise<() => Promise<unknown>> {
  const { history } = run.load
  const { client } = run.cluster.client('asker')
  const asker = { group: 'billing', topic: 'orders', name: 'asker', memberId: '', generation: -1 }
  const ask = () => client.tolerate(() => fetchOffsets(client, history, asker, [0]))
  await run.until(() => history.commits.some(({ outcome }) => outcome === 'acked'), 'offsets are kept')
  await ask()
  return ask
}

scenario('the disk of a leader is full: another one leads at once, and records go on', { seeds: 50 }, async (sim) => {
  const run = await ClusterRun.begin(sim)
  const { leader } = run
  leader.machine.leaveRoom(sim.streams.faults.below(20_000))
  await run.until(() => run.cluster.leaderOf('orders', 0) !== leader, 'another node leads', HAND_OVER_MS)
  const before = run.acknowledged
  await run.until(() => run.acknowledged > before + 10, 'records are acknowledged', HAND_OVER_MS)
  assert.equal(leader.isRunning, true)
  assert.ok(!run.isr.includes(leader.nodeId), 'nobody waits for the full disk')
  leader.machine.leaveRoom(Number.POSITIVE_INFINITY)
  await run.until(() => run.isr.includes(leader.nodeId), 'it is in sync again by itself')
  await run.finish()
})

scenario('the disk of a follower is full: nobody waits for it', { seeds: 50 }, async (sim) => {
  const run = await ClusterRun.begin(sim, { settings: { 'replica.lag.time.max.ms': '600000' } })
  const [one, other] = run.followers
  // The leader of a topic is seldom the coordinator too. One that is takes no metadata that says that it is not any more.
  const full = run.cluster.leaderOf('__consumer_offsets', 0) === other ? other : one
  const askAboutGroup = await groupAsker(run)
  const random = sim.streams.faults
  full.machine.leaveRoom(random.chance(0.5) ? 0 : random.below(20_000))
  await run.until(() => !run.isr.includes(full.nodeId), 'it leaves the ISR', HAND_OVER_MS)
  const before = run.acknowledged
  await run.until(() => run.acknowledged > before + 10, 'records are acknowledged', HAND_OVER_MS)
  for (const endMs = sim.nowMs + ASKED_MS; sim.nowMs < endMs; await sim.runFor(50)) await askAboutGroup()
  full.machine.leaveRoom(Number.POSITIVE_INFINITY)
  await run.until(() => run.isr.includes(full.nodeId), 'it is in sync again by itself')
  await run.finish()
})

scenario('all disks are full, one after the other, and get room again in any order', { seeds: 50 }, async (sim) => {
  const run = await ClusterRun.begin(sim)
  const { nodes } = run.cluster
  const random = sim.streams.faults
  for (const { machine } of inAnyOrder(nodes, random)) {
    machine.leaveRoom(random.below(20_000))
    await run.forAWhile()
  }
  await run.until(
    () => nodes.filter(({ node }) => node?.logs?.isWritable === false).length >= 2,
    'no two disks have room',
  )
  await sim.runFor(2000)
  assert.ok(run.cluster.leaderOf('orders', 0) !== null, 'somebody leads, for those who read')
  const before = run.acknowledged
  for (const { machine } of inAnyOrder(nodes, random)) {
    machine.leaveRoom(Number.POSITIVE_INFINITY)
    await run.forAWhile()
  }
  await run.until(() => run.acknowledged > before, 'records are acknowledged again')
  await run.finish()
})

function inAnyOrder<T>(items: readonly T[], random: Random): T[] {
  const left = [...items]
  return items.map(() => left.splice(random.below(left.length), 1)[0] as T)
}
