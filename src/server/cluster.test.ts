import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimCluster } from '../sim/cluster/sim-cluster.ts'
import type { SimNode } from '../sim/cluster/sim-node.ts'
import { type Sim, simulate } from '../sim/sim.ts'

/** Three settled nodes with a topic that each of them leads a partition of. */
async function threeNodes(sim: Sim) {
  const cluster = new SimCluster(sim, { nodes: 3, zones: 3 })
  await cluster.settled()
  const { client } = cluster.client('client')
  await cluster.createTopic(client, { name: 'orders', partitions: 3, replicationFactor: 3 })
  await cluster.settled()
  return { cluster, client }
}

function controllerOf(cluster: SimCluster): SimNode {
  const controller = cluster.activeController
  assert.ok(controller !== null)
  return controller
}

function followerOf(cluster: SimCluster): SimNode {
  const controller = controllerOf(cluster)
  return cluster.nodes.find((node) => node !== controller) as SimNode
}

const isFenced = (cluster: SimCluster, { nodeId }: SimNode) => cluster.image?.broker(nodeId)?.fenced === true

test('the death of a process is noticed within a tenth of a second, and its leaderships have moved', async () => {
  for (let seed = 1; seed <= 5; seed++) {
    await simulate({ seed }, async (sim) => {
      const { cluster } = await threeNodes(sim)
      const victim = followerOf(cluster)
      victim.kill()
      await sim.until(() => isFenced(cluster, victim), { withinMs: 100, everyMs: 5, what: 'it is fenced' })
      for (let partition = 0; partition < 3; partition++) {
        assert.notEqual(cluster.leaderOf('orders', partition)?.nodeId ?? victim.nodeId, victim.nodeId)
      }
    })
  }
})

test('the active controller dies with its broker: the next one finds out at once, though it never heard that broker', async () => {
  for (let seed = 1; seed <= 5; seed++) {
    await simulate({ seed }, async (sim) => {
      const { cluster } = await threeNodes(sim)
      const victim = controllerOf(cluster)
      victim.kill()
      await sim.until(() => isFenced(cluster, victim), { withinMs: 1000, everyMs: 5, what: 'it is fenced' })
    })
  }
})

test('a connection that drops, and a broker whose port answers, are no death', async () => {
  await simulate({ seed: 1 }, async (sim) => {
    const { cluster } = await threeNodes(sim)
    const [controller, other] = [controllerOf(cluster), followerOf(cluster)]
    const epochs = cluster.image?.brokers.get(other.nodeId)?.brokerEpoch
    sim.net.resetConnections(other.machine.host, controller.machine.host)
    await sim.runFor(1000)
    assert.ok(!isFenced(cluster, other))
    assert.equal(cluster.image?.brokers.get(other.nodeId)?.brokerEpoch, epochs)
  })
})

test('a silent host is left to its session, and taken back when it is heard again', async () => {
  await simulate({ seed: 1 }, async (sim) => {
    const { cluster } = await threeNodes(sim)
    const victim = followerOf(cluster)
    victim.machine.pause(5000)
    await sim.runFor(2000)
    assert.ok(!isFenced(cluster, victim), 'silence is no proof')
    await sim.until(() => isFenced(cluster, victim), { withinMs: 2000, what: 'its session ends' })
    await cluster.settled(20_000)
  })
})

test('a stop hands over first: nobody is left without a leader, and the node is let go', async () => {
  await simulate({ seed: 1 }, async (sim) => {
    const { cluster } = await threeNodes(sim)
    for (const node of [followerOf(cluster), controllerOf(cluster)]) {
      await sim.within(node.stop(), { withinMs: 3000, what: `node ${node.nodeId} stops` })
      for (let partition = 0; partition < 3; partition++) {
        assert.notEqual(cluster.leaderOf('orders', partition)?.nodeId ?? node.nodeId, node.nodeId)
      }
      node.start()
      await cluster.settled()
    }
  })
})

test('a controller that has lost its quorum says so, and is ready again by itself', async () => {
  await simulate({ seed: 1 }, async (sim) => {
    const { cluster } = await threeNodes(sim)
    const alone = controllerOf(cluster)
    const problems = () => alone.node?.health().ready.flatMap(({ problem }) => problem ?? []) ?? []
    assert.deepEqual(problems(), [])
    const others = cluster.nodes.filter((node) => node !== alone)
    for (const other of others) other.kill()
    await sim.runFor(10_000)
    assert.match(problems().join('; '), /no leader of the controllers has been heard for \d+ s: a majority/)
    for (const other of others) other.start()
    await cluster.settled()
    assert.deepEqual(problems(), [])
  })
})

test('after all nodes have died the cluster serves as soon as they are up', async () => {
  for (let seed = 1; seed <= 3; seed++) {
    await simulate({ seed }, async (sim) => {
      const { cluster } = await threeNodes(sim)
      for (const node of cluster.nodes) node.kill()
      for (const node of cluster.nodes) node.start()
      const areServing = () => cluster.nodes.every(({ isServing }) => isServing)
      // Less than it takes to notice that a leader is silent.
      await sim.until(areServing, { withinMs: 900, what: 'all serve' })
      await cluster.settled()
    })
  }
})
