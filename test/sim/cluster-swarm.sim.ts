/**
 * Three nodes in three zones under load, and whatever can go wrong: processes, power, network, disks, clocks, a swarm of
 * faults drawn from the seed. Then all is healed: the cluster must settle, everything sent must be acknowledged, read by
 * the group and be there, the replicas must be equal, and no client may ever have seen anything a log does not do.
 */
import { SimCluster } from '../../src/sim/cluster/sim-cluster.ts'
import { FaultWorld } from '../../src/sim/faults/fault.ts'
import { restartWhereDiskFailed } from '../../src/sim/faults/given-up.ts'
import { swarmOfFaults } from '../../src/sim/faults/swarm-of-faults.ts'
import { watchInvariants } from '../../src/sim/invariants/cluster-invariants.ts'
import { assertEqualReplicas } from '../../src/sim/invariants/equal-replicas.ts'
import { scenario } from '../../src/sim/scenario.ts'
import { Load } from './support/load.ts'

scenario(
  'a cluster of three loses nothing, whatever happens',
  { seeds: 300, share: 30, measured: true },
  async (sim) => {
    const random = sim.streams.workload
    const cluster = new SimCluster(sim, {
      nodes: 3,
      zones: 3,
      settings: {
        'offsets.topic.num.partitions': '3',
        'group.initial.rebalance.delay.ms': random.pick(['0', '500']),
        'replica.lag.time.max.ms': random.pick(['2000', '30000']),
        'metadata.log.max.record.bytes.between.snapshots': random.pick(['2000', '20971520']),
      },
      onGivenUp: restartWhereDiskFailed(sim),
    })
    watchInvariants(sim, cluster)
    await cluster.settled()
    const load = new Load(sim, cluster, { replicationFactor: 3, gapMs: random.pick([40, 150, 400, 400]) })
    await load.start({
      'min.insync.replicas': random.pick(['1', '2', '2']),
      'segment.ms': random.pick(['1000', '604800000']),
    })
    const forMs = random.between(3000, 30_000)
    await swarmOfFaults(new FaultWorld(sim, cluster), { forMs, gapMs: random.pick([300, 1000, 4000]) })
    await cluster.settled()
    await load.settleAndJudge()
    await assertEqualReplicas(sim, cluster)
  },
)
