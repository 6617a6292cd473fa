import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../base/random.ts'
import { SimNode } from '../sim/cluster/sim-node.ts'
import { type Sim, simulate } from '../sim/sim.ts'
import { makeDurableDirectory } from '../storage/files.ts'
import { writeMetaProperties } from '../storage/meta-properties.ts'

const CLUSTER_ID = 'AQAAAAAAAAAAAAAAAAAAAA'

/** Three nodes with `controller.quorum.voters`, on folders that were formatted as Kafka's tool does it. */
async function fixedQuorum(sim: Sim): Promise<SimNode[]> {
  const settings: Record<string, string> = {}
  const onGivenUp = (_node: SimNode, error: unknown) => sim.scheduler.fail(error)
  const nodes = [1, 2, 3].map((nodeId) => new SimNode(sim, { nodeId, settings, onGivenUp }))
  const voters = nodes.map(({ nodeId, machine }) => `${nodeId}@${machine.host.ip}:9093`).join(',')
  for (const node of nodes) {
    node.settings = { 'controller.quorum.voters': voters }
    const process = node.machine.boot()
    const directoryId = new Random(node.nodeId).bytes(16).toString('base64url')
    await makeDurableDirectory(process.env.disk, '/data')
    await writeMetaProperties(process.env.disk, '/data', { clusterId: CLUSTER_ID, nodeId: node.nodeId, directoryId })
    node.machine.kill(process)
    node.start()
  }
  return nodes
}

const activeOf = (nodes: readonly SimNode[]) => nodes.find(({ node }) => node?.quorum?.isActive === true)

async function serving(sim: Sim, nodes: readonly SimNode[]): Promise<void> {
  const areServing = () => nodes.every(({ isServing }) => isServing) && activeOf(nodes) !== undefined
  await sim.until(areServing, { withinMs: 20_000, what: 'all serve' })
}

test('a quorum that is fixed in the configuration begins, survives its leader, and comes back', async () => {
  for (const seed of [1, 2, 3]) {
    await simulate({ seed }, async (sim) => {
      const nodes = await fixedQuorum(sim)
      await serving(sim, nodes)
      const first = activeOf(nodes) as SimNode
      assert.equal(first.node?.quorum?.facts.voters.size, 3)
      assert.equal(first.node?.quorum?.kraftVersion, 0)
      assert.equal(first.node?.image.brokers.size, 3)
      first.kill()
      const others = nodes.filter((node) => node !== first)
      await sim.until(() => activeOf(others) !== undefined, { withinMs: 5000, what: 'another one is active' })
      first.start()
      await serving(sim, nodes)
      for (const node of nodes) node.losePower('any')
      for (const node of nodes) node.start()
      await serving(sim, nodes)
      assert.equal(nodes[0]?.node?.image.brokers.size, 3)
    })
  }
})
