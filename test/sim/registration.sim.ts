/** Found by swarms: a broker whose registration was taken, and whose process died before it heard of that. */
import { SimCluster, type ClusterOptions } from '../../src/sim/cluster/sim-cluster.ts'
import { scenario } from '../../src/sim/scenario.ts'

const OPTIONS: ClusterOptions = { nodes: 3, zones: 3, settings: { 'offsets.topic.num.partitions': '1' } }
const TOPIC = { name: 'orders', partitions: 3, replicationFactor: 3, configs: { 'min.insync.replicas': '2' } }

scenario(
  'brokers that die before they know that they are registered keep their replicas',
  { seeds: 30 },
  async (sim) => {
    const random = sim.streams.workload
    const cluster = new SimCluster(sim, OPTIONS)
    await cluster.settled()
    await cluster.createTopic(cluster.client('admin').client, TOPIC)
    for (const node of cluster.nodes) node.losePower('any')
    // None of them gets further than to register, again and again.
    for (let lives = random.between(1, 6); lives > 0; lives--) {
      for (const node of cluster.nodes) node.start()
      await sim.runFor(random.float() * (random.chance(0.5) ? 300 : 3000))
      for (const node of cluster.nodes) {
        if (!node.isRunning) continue
        if (random.chance(0.3)) await sim.within(node.stop(), { withinMs: 60_000, what: 'a clean stop' })
        else node.kill()
      }
    }
    for (const node of cluster.nodes) node.start()
    await cluster.settled()
  },
)
