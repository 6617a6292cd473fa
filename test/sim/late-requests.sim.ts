/**
 * A network that keeps what an earlier life has sent, and delivers it after the next life has begun: requests that were true
 * once. The next life has an empty disk, so whoever takes them for its own commits what it does not hold.
 */
import { PlainProducer } from '../../src/sim/clients/plain-producer.ts'
import type { SimNode } from '../../src/sim/cluster/sim-node.ts'
import type { Sim } from '../../src/sim/sim.ts'
import type { ClusterRun } from './support/cluster-run.ts'
import { clusterScenario } from './support/cluster-scenario.ts'

/** The controller's node is a place of its own: its way to all brokers stays open. */
const OPTIONS = { nodes: 4, controllers: 1, zones: 4, gapMs: 100 }

clusterScenario(
  'a fetch of an earlier life arrives when its disk has been replaced',
  { run: OPTIONS },
  async (run, sim) => {
    const { leader, cluster, load } = run
    const [follower] = run.followers
    const { client } = cluster.client('gina')
    const last = new PlainProducer({ name: 'gina', topic: 'orders', client, history: load.history, acks: 'leader' })
    // A disk that is another one must wait until the session of the one before is over.
    const heldMs = 3500 + sim.streams.faults.float() * 3000
    // Nobody else writes from now on.
    const ways = load.machines.flatMap(({ host }) => cluster.nodes.map(({ machine }) => [host, machine.host] as const))
    sim.net.cutLinks(ways)
    await sim.runFor(1000)
    await last.send(0, 1)
    sim.net.holdBack(follower.machine.host, leader.machine.host, heldMs)
    // The follower is given one record more, and asks for the next: by that it tells that it holds all there is.
    await last.send(0, 1)
    await sim.runFor(sim.streams.faults.float() * 500)
    await replacedDisk(run, sim, follower, heldMs)
  },
)

clusterScenario('an ISR is proposed, and heard of long after it has changed', { run: OPTIONS }, async (run, sim) => {
  const { leader, cluster } = run
  const [follower] = run.followers
  const controller = cluster.node(1)
  follower.kill()
  await run.until(() => !run.isr.includes(follower.nodeId), 'the follower is out')
  const heldMs = 2000 + sim.streams.faults.float() * 4000
  sim.net.holdBack(leader.machine.host, controller.machine.host, heldMs)
  follower.start()
  // The leader asks once more, on another connection.
  await run.until(() => run.isr.includes(follower.nodeId), 'the follower is in sync again')
  await replacedDisk(run, sim, follower, heldMs)
})

/** A new life on an empty disk, which gets nothing from the leader before all that was late has arrived. */
async function replacedDisk(run: ClusterRun, sim: Sim, node: SimNode, heldMs: number): Promise<void> {
  node.replaceDisk([run.cluster.node(1)])
  const cut = sim.net.cutLink(run.leader.machine.host, node.machine.host)
  await sim.runFor(sim.streams.faults.float() * 300)
  node.start()
  await sim.runFor(heldMs)
  cut.heal()
}
