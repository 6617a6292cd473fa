/**
 * All copies die one after the other, and the one that has been away longest is back first: it lacks what the others have
 * committed without it, so nobody leads before one of them is back (I8, KIP-966).
 */
import assert from 'node:assert/strict'
import { someOf } from '../../src/sim/faults/process-faults.ts'
import { clusterScenario } from './support/cluster-scenario.ts'

clusterScenario(
  'the copy that was away longest is back first, and does not lead',
  { run: { nodes: 4, controllers: 1, zones: 4, gapMs: 100 } },
  async (run, sim) => {
    const random = sim.streams.faults
    const [first, ...others] = someOf(run.cluster.brokers, 3, random)
    assert.ok(first !== undefined)
    first.kill()
    await run.until(() => !run.isr.includes(first.nodeId), 'the first is out of the ISR')
    const before = run.acknowledged
    await run.until(() => run.acknowledged > before, 'records are acknowledged without it')
    for (const node of others) {
      if (random.chance(0.5)) node.kill()
      else node.losePower('any')
      await run.forAWhile()
    }
    first.start()
    await run.until(() => first.isServing, 'the first serves')
    await run.until(() => !others.some(({ nodeId }) => run.isr.includes(nodeId)), 'the others are given up')
    await sim.runFor(random.float() * 2000)
    const placed = run.cluster.image?.partition('orders', 0)
    assert.equal(placed?.leader, -1, `I8: isr (${placed?.isr}) elr (${placed?.elr}) leader ${placed?.leader}`)
    for (const node of someOf(others, 2, random)) {
      node.start()
      await run.forAWhile()
    }
  },
)
