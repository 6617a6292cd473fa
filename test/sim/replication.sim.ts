/**
 * Scenarios 1 to 19 of replication: what a leader, its followers and the way between them may meet. The faults come at
 * instants that the seed draws; in the end everything sent is there once, in order, on equal replicas.
 */
import assert from 'node:assert/strict'
import type { SimNode } from '../../src/sim/cluster/sim-node.ts'
import { someMs } from '../../src/sim/faults/fault.ts'
import type { ClusterRun } from './support/cluster-run.ts'
import { clusterScenario } from './support/cluster-scenario.ts'

// Scenario 1
clusterScenario('a leader is killed before any follower has fetched what it took', {}, async (run, sim) => {
  const { leader, followers } = run
  // Followers' requests do not arrive; clients' do.
  sim.net.cutLinks(followers.map(({ machine }) => [machine.host, leader.machine.host]))
  await run.forAWhile()
  leader.kill()
  sim.net.heal()
  await run.failedOver(leader)
  leader.start()
})

// Scenario 2
clusterScenario(
  'a leader is killed while its answers are lost: a retry is told the first offset',
  {},
  async (run, sim) => {
    const { leader } = run
    sim.net.cutLinks(run.load.machines.map(({ host }) => [leader.machine.host, host]))
    await run.forAWhile()
    leader.kill()
    sim.net.heal()
    await run.failedOver(leader)
    leader.start()
  },
)

// Scenario 3 (KIP-101 a)
clusterScenario(
  'a follower restarts before it has learnt the high watermark, and then the leader dies',
  {},
  async (run) => {
    const [follower] = run.followers
    const { leader } = run
    follower.losePower('any')
    follower.start()
    await run.until(() => follower.isServing && run.isr.includes(follower.nodeId), 'the follower is in sync again')
    leader.losePower('any')
    await run.failedOver(leader)
    leader.start()
  },
)

// Scenario 4 (KIP-101 b)
clusterScenario(
  'leader and follower lose power together, each with records that the other has not',
  {},
  async (run, sim) => {
    const { leader, followers } = run
    const random = sim.streams.faults
    for (const node of [leader, followers[0]]) node.losePower(random.pick(['any', 'all', 'none']))
    await run.forAWhile()
    const order = random.chance(0.5) ? [leader, followers[0]] : [followers[0], leader]
    for (const node of order) {
      node.start()
      await sim.runFor(random.float() * 300)
    }
  },
)

// Scenario 5 (KIP-279)
clusterScenario(
  'leaders change fast, and a follower misses several epochs',
  { run: { nodes: 4, zones: 4 } },
  async (run, sim) => {
    const [away] = run.followers
    sim.net.isolate(away.machine.host)
    for (let changes = 3; changes > 0; changes--) {
      const { leader } = run
      leader.kill()
      leader.start()
      await run.failedOver(leader)
    }
  },
)

/**
 * Until another node leads, and for a while more. How long that is no number tells: where the active controller stands
 * still with it, its successor gives every broker a whole session from its own election on (seeds 2001451 and 2002231).
 */
async function standStill(run: ClusterRun, node: SimNode): Promise<void> {
  const { sim, cluster } = run
  const [stepMs, giveUpMs] = [500, sim.nowMs + 20_000]
  while ([null, node].includes(cluster.leaderOf('orders', 0)) && sim.nowMs < giveUpMs) {
    node.machine.pause(2 * stepMs)
    await sim.runFor(stepMs)
  }
  node.machine.pause(someMs(sim.streams.faults, 50, 10_000))
}

// Scenario 6
clusterScenario('a leader that only clients can reach acknowledges nothing once it is fenced', {}, async (run, sim) => {
  const { leader, cluster } = run
  const others = cluster.nodes.filter((node) => node !== leader)
  if (sim.streams.faults.chance(0.3)) await standStill(run, leader)
  else for (const { machine } of others) sim.net.cutBetween(leader.machine.host, machine.host)
  await run.failedOver(leader)
  await sim.runFor(2000)
})

// Scenario 7
clusterScenario(
  'a leader cut from its followers only shrinks the ISR, and refuses when it is too small',
  { run: { nodes: 6, controllers: 3 } },
  async (run, sim) => {
    const { leader, followers } = run
    const minority = sim.streams.faults.chance(0.5)
    for (const { machine } of minority ? followers.slice(0, 1) : followers) {
      sim.net.cutBetween(leader.machine.host, machine.host)
    }
    const expected = minority ? 2 : 1
    await run.until(() => run.isr.length === expected, `the ISR has ${expected} members`)
    const before = run.acknowledged
    await sim.runFor(5000)
    assert.equal(run.acknowledged > before, minority, 'records are acknowledged just as long as two copies are in sync')
  },
)

// Scenario 8
clusterScenario(
  'the last replica standing loses power: nothing is lost, whoever comes back first',
  { run: (sim) => ({ minInsync: sim.streams.workload.pick([1, 2]) }) },
  async (run, sim) => {
    const random = sim.streams.faults
    const [first, second] = run.followers
    first.losePower('any')
    await run.forAWhile()
    second.losePower('any')
    await sim.runFor(random.float() * 5000)
    run.cluster.nodes.find((node) => node !== first && node !== second)?.losePower('all')
    const back = [...run.cluster.nodes].sort(() => random.float() - 0.5)
    for (const node of back) {
      await run.forAWhile()
      node.start()
    }
  },
)

// Scenario 10
clusterScenario('what an earlier life of a follower had sent arrives after it came back', {}, async (run, sim) => {
  const { leader } = run
  const [follower] = run.followers
  const cut = sim.net.cutLink(follower.machine.host, leader.machine.host)
  await run.forAWhile()
  follower.losePower('any')
  follower.start()
  await run.forAWhile()
  cut.heal()
})

// Scenario 13
clusterScenario(
  'each way between two nodes is cut for a while, one way or both, and links come and go',
  {},
  async (run, sim) => {
    const random = sim.streams.faults
    const { nodes } = run.cluster
    for (const from of nodes) {
      for (const to of nodes) {
        if (from === to) continue
        const cut = random.chance(0.5)
          ? sim.net.cutLink(from.machine.host, to.machine.host)
          : sim.net.cutBetween(from.machine.host, to.machine.host)
        await sim.runFor(someMs(random, 500, 8000))
        cut.heal()
        await sim.runFor(random.float() * 1000)
      }
    }
  },
)

// Scenario 14
clusterScenario('the disk of a follower stands still: it leaves the ISR, and records go on', {}, async (run) => {
  const [slow] = run.followers
  slow.machine.stallDisk(10_000)
  await run.until(() => !run.isr.includes(slow.nodeId), 'it has left the ISR')
  const before = run.acknowledged
  // Not at once where the network held up the other follower too, for seconds: then both are out for a moment.
  await run.until(() => run.acknowledged > before || run.isr.includes(slow.nodeId), 'records are acknowledged')
  assert.ok(run.acknowledged > before, 'records are acknowledged without it')
  await run.until(() => run.isr.includes(slow.nodeId), 'it is in the ISR again', 30_000)
})

// Scenario 16
clusterScenario(
  'one node after the other is restarted, cleanly and by kill -9 in turn',
  { run: { partitions: 3 } },
  async (run, sim) => {
    for (let round = 0; round < 6; round++) {
      const node = run.cluster.nodes[round % 3]
      if (node === undefined) continue
      if (round % 2 === 0) await sim.within(node.stop(), { withinMs: 60_000, what: 'a clean stop' })
      else node.kill()
      await run.forAWhile()
      node.start()
      await run.cluster.settled()
    }
  },
)

// Scenario 18
clusterScenario(
  'fetch sessions are thrown out all the time, and no partition starves',
  { run: { partitions: 5, settings: { 'max.incremental.fetch.session.cache.slots': '1' } } },
  async (run, sim) => {
    for (let times = 0; times < 5; times++) {
      const [one, other] = [sim.streams.faults.pick(run.cluster.nodes), sim.streams.faults.pick(run.cluster.nodes)]
      if (one !== other) sim.net.resetConnections(one.machine.host, other.machine.host)
      await run.forAWhile()
    }
  },
)
