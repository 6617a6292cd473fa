/**
 * Who decides when controllers are cut off, come back after long, or die in the middle of a decision (scenarios 20 to 22), and
 * what goes on while nobody does.
 */
import assert from 'node:assert/strict'
import { GroupMember } from '../../src/sim/clients/group-member.ts'
import { fetchOffsets } from '../../src/sim/clients/group-offsets.ts'
import type { SimNode } from '../../src/sim/cluster/sim-node.ts'
import { STEADY_DISK } from '../../src/sim/disk/disk-faults.ts'
import { someMs } from '../../src/sim/faults/fault.ts'
import type { Host } from '../../src/sim/net/host.ts'
import { STEADY_NET } from '../../src/sim/net/sim-net.ts'
import type { ClusterRun } from './support/cluster-run.ts'
import { clusterScenario } from './support/cluster-scenario.ts'

const APART = { nodes: 6, controllers: 3, zones: 0 }
/** `broker.session.timeout.ms` */
const SESSION_MS = 3000

function active({ cluster }: ClusterRun): SimNode {
  const node = cluster.activeController
  assert.ok(node, 'somebody decides')
  return node
}

function othersThan(node: SimNode, { controllers }: ClusterRun): [SimNode, SimNode] {
  return controllers.filter((other) => other !== node) as [SimNode, SimNode]
}

// Scenario 20
clusterScenario(
  'a controller that only brokers reach steps down, and records are acknowledged all the while',
  // Nothing else shall hold them up.
  { run: APART, net: STEADY_NET, disk: STEADY_DISK },
  async (run, sim) => {
    const leader = active(run)
    const others = othersThan(leader, run)
    for (const { machine } of others) sim.net.cutBetween(leader.machine.host, machine.host)
    for (let seconds = 0; seconds < 5; seconds++) {
      const before = run.acknowledged
      await sim.runFor(1000)
      assert.ok(run.acknowledged > before, 'the data path does not wait for the quorum')
    }
    assert.equal(leader.node?.quorum?.isActive, false, 'it decides nothing any more')
    await run.until(() => others.some(({ node }) => node?.quorum?.isActive === true), 'one of the others decides')
  },
)

clusterScenario(
  'a consumer that begins while all controllers are away is told where its group has come to',
  { run: APART },
  async (run, sim) => {
    const random = sim.streams.faults
    await run.until(() => run.load.history.commits.some(({ outcome }) => outcome === 'acked'), 'offsets are kept')
    for (const node of run.controllers) {
      if (random.chance(0.5)) node.kill()
      else node.losePower('any')
    }
    await sim.runFor(SESSION_MS + someMs(random, 100, 10_000))
    const { history } = run.load
    const { client } = run.cluster.client('late')
    const late = new GroupMember({ name: 'late', group: 'late', topic: 'orders', client, history })
    late.start()
    await run.until(() => history.reads.some(({ consumer }) => consumer === 'late'), 'it reads', 10_000)
    for (const node of run.controllers) node.start()
    await run.cluster.settled()
    await sim.within(late.stop(), { withinMs: 20_000, what: 'it leaves its group' })
  },
)

clusterScenario(
  'a coordinator that is cut off with one of its followers does not tell what its group had committed before',
  { run: APART },
  async (run, sim) => {
    const [group, topic, offsets] = ['billing', 'orders', '__consumer_offsets']
    const { history } = run.load
    const { client } = run.cluster.client('asker')
    await run.until(() => history.commits.some(({ outcome }) => outcome === 'acked'), 'offsets are kept')
    // So that the third commits alone.
    await run.operator.configure(offsets, 'min.insync.replicas', '1')
    await run.cluster.settled()
    const coordinator = run.cluster.leaderOf(offsets, 0) as SimNode
    const [follower, successor] = run.cluster.followersOf(offsets, 0) as [SimNode, SimNode]
    const others = [successor, ...run.cluster.nodes.filter((node) => !run.cluster.brokers.includes(node))]
    for (const { machine } of [coordinator, follower])
      for (const other of others) sim.net.cutBetween(machine.host, other.machine.host)
    const asker = { group, topic, name: 'asker', memberId: '', generation: -1 }
    for (const endMs = sim.nowMs + 20_000; sim.nowMs < endMs; ) {
      await client.tolerate(() => fetchOffsets(client, history, asker, [0]))
      await sim.runFor(100)
    }
  },
)

// Scenario 21
clusterScenario(
  'a voter that comes back after a long absence does not disturb the controller',
  { run: APART },
  async (run, sim) => {
    const random = sim.streams.faults
    const leader = active(run)
    const [away] = othersThan(leader, run)
    const epoch = leader.node?.quorum?.epoch
    // Cut off altogether, or only deaf: then the others hear it ask for votes.
    const deaf = run.cluster.nodes.map(({ machine }): [Host, Host] => [machine.host, away.machine.host])
    const cut = random.chance(0.5) ? sim.net.isolate(away.machine.host) : sim.net.cutLinks(deaf)
    await sim.runFor(someMs(random, 5000, 40_000))
    cut.heal()
    await run.until(() => away.node?.quorum?.activeController() === leader.nodeId, 'it follows again')
    assert.equal(leader.node?.quorum?.isActive, true, 'the leader has not changed')
    assert.equal(leader.node?.quorum?.epoch, epoch, 'nor has the epoch')
  },
)

// Scenario 22
clusterScenario(
  'a controller dies between writing down what it decided and having it agreed on',
  { seeds: 60, run: { ...APART, nodes: 7, settings: { 'metadata.log.max.record.bytes.between.snapshots': '4000' } } },
  async (run, sim) => {
    const random = sim.streams.faults
    await run.createTopic('doomed')
    for (let rounds = random.between(1, 3); rounds > 0; rounds--) {
      const leader = active(run)
      // It hears brokers and operators, and its own disk; the others fetch nothing from it.
      for (const { machine } of othersThan(leader, run)) sim.net.cutLink(machine.host, leader.machine.host)
      const decisions = DECISIONS.filter(() => random.chance(0.5)).map((decide) => decide(run, `made-${rounds}`))
      await sim.runFor(someMs(random, 5, 800))
      if (random.chance(0.5)) leader.kill()
      else leader.losePower('any')
      sim.net.heal()
      await run.until(() => run.cluster.activeController !== null, 'another one decides')
      if (random.chance(0.5)) await run.forAWhile()
      leader.start()
      await sim.within(Promise.all(decisions), { withinMs: 60_000, what: 'every question is answered or given up' })
      await run.cluster.settled()
    }
    await run.finishMoves()
    // What it had decided alone is decided again, or not: that there are two is not possible.
    await run.createTopic('after')
  },
)

/** One of each kind of record, or nearly so. */
const DECISIONS: readonly ((run: ClusterRun, name: string) => Promise<unknown>)[] = [
  ({ operator }, name) => operator.createTopic(name, 3),
  ({ operator }) => operator.deleteTopic('doomed'),
  ({ operator }) => operator.configure('orders', 'retention.ms', '1000000000'),
  ({ operator, nodeIds }) => operator.reassign('orders', 0, nodeIds.slice(0, 3)),
  ({ operator, nodeIds }) => operator.reassign('orders', 0, nodeIds.slice(-3)),
  ({ operator }) => operator.elect('orders', 0, 'preferred'),
  ({ operator }, name) => operator.createPartitions(name, 2),
  ({ operator }) => operator.newProducer(),
  // An ISR that changes, a broker that is fenced and one that registers.
  async ({ sim, cluster, world }) => {
    const node = sim.streams.faults.pick(cluster.brokers)
    node.kill()
    world.startLater(node, someMs(sim.streams.faults, 20, 500))
  },
]
