/** Replicas on the move while everything dies (scenario 12), and leaderships that never rest (scenario 15). */
import assert from 'node:assert/strict'
import type { SimNode } from '../../src/sim/cluster/sim-node.ts'
import { someMs } from '../../src/sim/faults/fault.ts'
import { someOf } from '../../src/sim/faults/process-faults.ts'
import type { ClusterRun } from './support/cluster-run.ts'
import { clusterScenario } from './support/cluster-scenario.ts'

// Scenario 12
clusterScenario(
  'a partition is moved, moved on and called back while nodes die: it has its copies in the end, and all its records',
  { seeds: 100, run: { nodes: 5, zones: 5 } },
  async (run, sim) => {
    const random = sim.streams.faults
    for (let steps = random.between(3, 8); steps > 0; steps--) {
      const called = random.chance(0.25) ? null : someOf(run.nodeIds, 3, random)
      void run.operator.reassign('orders', 0, called)
      await sim.runFor(someMs(random, 5, 1500))
      if (random.chance(0.7)) fell(run, concerned(run))
      await sim.runFor(someMs(random, 5, 1500))
    }
    await run.finishMoves()
    assert.equal(run.partition?.replicas.length, 3)
  },
)

/** Of a move: who comes, who goes, who leads, who decides; or anybody. */
function concerned({ sim, cluster, partition }: ClusterRun): SimNode {
  const random = sim.streams.faults
  const { addingReplicas = [], removingReplicas = [], leader = -1 } = partition ?? {}
  const controller = cluster.activeController?.nodeId
  const ids = [...addingReplicas, ...removingReplicas, leader, controller ?? -1].filter((id) => id > 0)
  return ids.length > 0 && random.chance(0.8) ? cluster.node(random.pick(ids)) : random.pick(cluster.nodes)
}

function fell({ sim, world }: ClusterRun, node: SimNode): void {
  const random = sim.streams.faults
  switch (random.below(4)) {
    case 0:
      return node.machine.pause(someMs(random, 50, 6000))
    case 1:
      return world.healLater(sim.net.isolate(node.machine.host), someMs(random, 50, 6000))
    case 2:
      node.losePower('any')
      return world.startLater(node, someMs(random, 20, 4000))
    default:
      node.kill()
      world.startLater(node, someMs(random, 20, 4000))
  }
}

// Scenario 15
clusterScenario('leadership moves several times a second', { run: { partitions: 2 } }, async (run, sim) => {
  const random = sim.streams.faults
  for (let moves = random.between(8, 25); moves > 0; moves--) {
    // The first of the replicas is the preferred one; another order of them is no move of data.
    const partition = random.below(2)
    await run.operator.reassign('orders', partition, someOf(run.nodeIds, 3, random))
    await run.operator.elect('orders', partition, 'preferred')
    await sim.runFor(random.float() * 600)
  }
})
