/**
 * Lives of one node: it comes back before anybody missed it, and another process claims its number (scenario 11); and a
 * batch that is sent again to every leader there ever was (scenario 41).
 */
import assert from 'node:assert/strict'
import { SimNode } from '../../src/sim/cluster/sim-node.ts'
import { someMs } from '../../src/sim/faults/fault.ts'
import type { ClusterRun } from './support/cluster-run.ts'
import { clusterScenario } from './support/cluster-scenario.ts'
import { Resender } from './support/resender.ts'

// Scenario 11
clusterScenario(
  'a broker is back before its session ends, again and again: each life takes the place of the one before',
  {},
  async (run, sim) => {
    const random = sim.streams.faults
    for (let lives = random.between(2, 6); lives > 0; lives--) {
      const node = random.chance(0.5) ? run.leader : random.pick(run.cluster.nodes)
      // Also without a word to anybody: cut off, it dies, and is back when the way is open again.
      const cut = random.chance(0.5) ? sim.net.isolate(node.machine.host) : null
      node.kill()
      await sim.runFor(random.float() * 500)
      node.start()
      await sim.runFor(random.float() * 1500)
      cut?.heal()
      await run.until(() => run.cluster.leaderOf('orders', 0) !== null, 'somebody leads')
    }
  },
)

clusterScenario(
  'a second process with the number of a living node does not get in, and does it no harm',
  {},
  async (run, sim) => {
    const random = sim.streams.faults
    const node = random.pick(run.cluster.nodes)
    const others = run.cluster.nodes.filter((other) => other !== node)
    const join = others.map(({ machine }) => `${machine.host.ip}:9093`).join(',')
    let reason: unknown = null
    const second = new SimNode(sim, {
      nodeId: node.nodeId,
      name: 'second',
      settings: { ...node.settings, join },
      onGivenUp: (_, error) => {
        reason = error
      },
    })
    second.start()
    const { process } = node
    // The first one stands still for less than its session, and is alive.
    for (let times = 0; times < 4; times++) {
      node.machine.pause(random.float() * 1500)
      await sim.runFor(2000)
    }
    assert.equal(second.isServing, false, 'the number is taken')
    assert.equal(node.process, process, 'who had it has it still')
    if (second.isRunning) second.kill()
    else assert.match(String(reason), /registration|number|node/)
  },
)

// Scenario 41
clusterScenario(
  'a batch is sent again to this leader, the next, the one before again, after restarts: it is there once',
  { seeds: 60, run: { configs: { 'segment.ms': '500' } } },
  async (run, sim) => {
    const random = sim.streams.faults
    const resender = new Resender(run)
    await resender.begin()
    for (let times = random.between(3, 7); times > 0; times--) {
      await resender.send(random.between(1, 3))
      await change(run)
      await run.until(() => run.cluster.leaderOf('orders', 0) !== null, 'somebody leads')
      if (random.chance(0.3)) await run.cluster.settled()
      await resender.sendAgain()
    }
  },
)

/** Something that a leader's memory of its producers has to outlive. */
async function change(run: ClusterRun): Promise<void> {
  const { sim, cluster, leader } = run
  const random = sim.streams.faults
  switch (random.below(5)) {
    case 0:
      leader.kill()
      leader.start()
      return
    case 1:
      for (const node of cluster.nodes) node.losePower('any')
      for (const node of cluster.nodes) node.start()
      return
    case 2: {
      // It takes what nobody else gets, and cuts that off when it is back.
      const cut = sim.net.isolate(leader.machine.host)
      await sim.runFor(someMs(random, 3500, 6000))
      return cut.heal()
    }
    case 3:
      await sim.within(leader.stop(), { withinMs: 60_000, what: 'a clean stop' })
      leader.start()
      return
    default: {
      const order = [...run.nodeIds].sort(() => random.float() - 0.5)
      await run.operator.reassign('orders', 0, order)
      await run.operator.elect('orders', 0, 'preferred')
    }
  }
}
