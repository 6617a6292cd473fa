import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimCluster } from '../sim/cluster/sim-cluster.ts'
import type { SimNode } from '../sim/cluster/sim-node.ts'
import { simulate } from '../sim/sim.ts'

type Folder = 'empty' | 'cleanly closed' | 'left by a crash'

/** Starts on such a folder, stops `delayMs` later, starts again. Returns whether it had served by then. */
async function startThenStop(folder: Folder, delayMs: number): Promise<boolean> {
  let served = false
  await simulate({ seed: 1 }, async (sim) => {
    const [node] = new SimCluster(sim, { nodes: 1 }).nodes as [SimNode]
    const serving = () => sim.until(() => node.isServing, { withinMs: 5000, what: 'a start' })
    if (folder !== 'empty') {
      await serving()
      if (folder === 'cleanly closed') await node.stop()
      else node.losePower('none')
      node.start()
    }
    await sim.runFor(delayMs)
    served = node.isServing
    await sim.within(node.stop(), { withinMs: 1000, what: `a stop ${delayMs} ms after the start` })
    assert.equal(node.isRunning, false)
    node.start()
    await serving()
    await node.stop()
  })
  return served
}

for (const folder of ['empty', 'cleanly closed', 'left by a crash'] as const) {
  test(`a node told to stop at any moment of its start stops, and starts again (folder ${folder})`, async () => {
    let delayMs = 0
    while (!(await startThenStop(folder, delayMs))) {
      delayMs += 0.7
      assert.ok(delayMs < 1000, `no start within ${delayMs} ms`)
    }
    assert.ok(delayMs > 3, 'the start was met on its way')
  })
}
