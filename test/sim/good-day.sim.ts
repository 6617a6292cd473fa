/**
 * Three nodes and six clients, and nothing goes wrong: whoever leads goes on leading, and nobody falls behind. What such a
 * day costs is the simulator's measure of speed.
 */
import assert from 'node:assert/strict'
import { scenario } from '../../src/sim/scenario.ts'
import { STEADY_DISK } from '../../src/sim/disk/disk-faults.ts'
import { STEADY_NET } from '../../src/sim/net/sim-net.ts'
import { ClusterRun } from './support/cluster-run.ts'

scenario(
  'a good day: three nodes serve six clients, and nobody else has to lead',
  { seeds: 10, measured: true, disk: STEADY_DISK, net: STEADY_NET },
  async (sim) => {
    const run = await ClusterRun.begin(sim, { partitions: 3, gapMs: 150 })
    const states = () =>
      run.cluster.image?.topic('orders')?.partitions.map(({ leaderEpoch, isr }) => ({ leaderEpoch, isr }))
    const before = states()
    await sim.runFor(30_000)
    assert.deepEqual(states(), before)
    await run.finish()
  },
)
