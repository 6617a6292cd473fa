/**
 * One node whose clock jumps by hours and years, both ways, while it looks for old segments every second. Nothing may be
 * deleted, and no producer forgotten, because a clock was wrong for a while (scenario 69).
 */
import { SimCluster } from '../../src/sim/cluster/sim-cluster.ts'
import type { SimNode } from '../../src/sim/cluster/sim-node.ts'
import { scenario } from '../../src/sim/scenario.ts'
import { Load } from './support/load.ts'

const HOUR_MS = 3_600_000
const YEAR_MS = 365 * 24 * HOUR_MS
const RETENTION_MS = HOUR_MS
const SETTINGS = {
  'offsets.topic.num.partitions': '1',
  'group.initial.rebalance.delay.ms': '0',
  'log.retention.check.interval.ms': '1000',
  'offsets.retention.check.interval.ms': '1000',
}

scenario('a clock that jumps for a while makes one node delete nothing', { seeds: 50 }, async (sim) => {
  const random = sim.streams.faults
  const cluster = new SimCluster(sim, { nodes: 1, settings: SETTINGS })
  const [node] = cluster.nodes as [SimNode]
  const load = new Load(sim, cluster)
  await load.start({
    'segment.ms': '500',
    'retention.ms': String(RETENTION_MS),
    // Clients' clocks are right, and now seem to be ahead.
    'message.timestamp.after.max.ms': String(Number.MAX_SAFE_INTEGER),
  })
  for (const partition of [0, 1, 2]) load.history.policies.set(`orders-${partition}`, { retentionMs: RETENTION_MS })
  for (let jumps = random.between(2, 6); jumps > 0; jumps--) {
    await sim.runFor(random.float() * 3000)
    node.machine.wallOffsetMs = random.pick([1, -1]) * random.pick([2 * HOUR_MS, 48 * HOUR_MS, YEAR_MS, 10 * YEAR_MS])
    await sim.runFor(random.float() * 3000)
    node.machine.wallOffsetMs = 0
  }
  await sim.runFor(2000)
  await load.settleAndJudge()
})
