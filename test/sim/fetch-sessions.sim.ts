/**
 * Readers with fetch sessions (KIP-227) that forget partitions and take them up again, begin anew, and lose their connections
 * and their node: none of their partitions may starve (scenario 18).
 */
import { SessionReader } from '../../src/sim/clients/session-reader.ts'
import { SimCluster } from '../../src/sim/cluster/sim-cluster.ts'
import type { SimNode } from '../../src/sim/cluster/sim-node.ts'
import { assertHistory } from '../../src/sim/history/check.ts'
import { scenario } from '../../src/sim/scenario.ts'
import { Load } from './support/load.ts'

const PARTITIONS = 5
const SETTINGS = { 'offsets.topic.num.partitions': '1', 'group.initial.rebalance.delay.ms': '0' }

scenario(
  'a reader with a fetch session sees every partition, whatever it forgets meanwhile',
  { seeds: 50 },
  async (sim) => {
    const random = sim.streams.faults
    const cluster = new SimCluster(sim, { nodes: 1, settings: SETTINGS })
    const [node] = cluster.nodes as [SimNode]
    const load = new Load(sim, cluster, { partitions: PARTITIONS })
    await load.start({})
    const { history } = load
    const readers = ['hans', 'ines'].map((name) => {
      const { client } = cluster.client(name)
      return new SessionReader({ name, topic: 'orders', partitions: PARTITIONS, client, history })
    })
    for (const reader of readers) void reader.run()
    for (let troubles = random.between(0, 4); troubles > 0; troubles--) {
      await sim.runFor(random.float() * 1500)
      if (random.chance(0.6)) for (const { host } of sim.machines) sim.net.resetConnections(host, node.machine.host)
      else {
        node.kill()
        await sim.runFor(random.float() * 300)
        node.start()
      }
    }
    await sim.runFor(1000)
    for (const reader of readers) reader.isSteady = true
    await load.settleAndJudge()
    const ends = history.finalReads.map(({ end }) => end)
    const haveRead = () =>
      readers.every(({ positions }) => ends.every((end, partition) => (positions[partition] ?? 0) >= end))
    const what = () => `read up to ${readers.map(({ positions }) => positions.join()).join(' and ')} of ${ends.join()}`
    await sim.until(haveRead, { withinMs: 10_000, what })
    assertHistory(history)
  },
)
