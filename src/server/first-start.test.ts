import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimCluster } from '../sim/cluster/sim-cluster.ts'
import type { SimNode } from '../sim/cluster/sim-node.ts'
import { simulate } from '../sim/sim.ts'

for (const crash of ['kill', 'power cut'] as const) {
  test(`a first start that a ${crash} cuts short, at any moment, leaves a folder that the next one takes`, async () => {
    for (let seed = 1, delayMs = 0, served = false; !served; seed++, delayMs += 0.4) {
      await simulate({ seed }, async (sim) => {
        const [node] = new SimCluster(sim, { nodes: 1 }).nodes as [SimNode]
        await sim.runFor(delayMs)
        served = node.isServing
        if (crash === 'kill') node.kill()
        else node.losePower('any')
        node.start()
        await sim.until(() => node.isServing, { withinMs: 5000, what: `a start after a crash at ${delayMs} ms` })
      })
      assert.ok(delayMs < 1000, `no start within ${delayMs} ms`)
    }
  })
}
