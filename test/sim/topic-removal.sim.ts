/**
 * A topic is deleted, and its node dies before its files are gone. What the log says of the deletion is the only proof that
 * they were not left by metadata that is behind: however many snapshots are written on the way, they are removed, not kept.
 */
import assert from 'node:assert/strict'
import { NO_TOPIC_ID } from '../../src/model/ids.ts'
import { DeleteTopics } from '../../src/protocol/apis/delete-topics.ts'
import { DATA_FOLDER } from '../../src/sim/cluster/node-config.ts'
import { SimCluster } from '../../src/sim/cluster/sim-cluster.ts'
import type { SimNode } from '../../src/sim/cluster/sim-node.ts'
import { scenario } from '../../src/sim/scenario.ts'
import type { Sim } from '../../src/sim/sim.ts'
import { fill } from './support/topic-content.ts'

const NAME = 'gone'
const WITHIN_MS = 60_000

scenario(
  'a deletion that a crash cut short is finished by a later life, and nothing is kept as nobody knows whose',
  { seeds: 100 },
  async (sim) => {
    const random = sim.streams.faults
    const cluster = new SimCluster(sim, {
      nodes: 1,
      // A snapshot for every set of records: two lie behind the deletion before the next life has looked at its folder.
      settings: { 'metadata.log.max.record.bytes.between.snapshots': random.pick(['1', '300']) },
    })
    const [node] = cluster.nodes as [SimNode]
    const { client } = cluster.client('admin')
    await cluster.settled()
    for (let rounds = random.between(2, 5); rounds > 0; rounds--) {
      const made = cluster.createTopic(client, { name: NAME, partitions: 1, replicationFactor: 1 })
      await sim.within(made, { withinMs: WITHIN_MS, what: 'the topic is created' })
      // Once records are acknowledged, the directory and whose it is are durable.
      await fill({ sim, cluster }, NAME, `round-${rounds}`)
      const asked = client.tolerate(async () => {
        const body = { topics: [{ name: NAME, topicId: NO_TOPIC_ID }], timeoutMs: 5000 }
        return (await client.any()).request(DeleteTopics, body, { fromVersion: 6 })
      })
      const isDecided = () => node.node?.quorum?.image.topic(NAME) === undefined
      await sim.until(isDecided, { withinMs: WITHIN_MS, what: 'the deletion is decided', everyMs: 0.1 })
      if (random.chance(0.3)) await sim.runFor(random.float() * 20)
      await die(sim, node)
      await sim.within(asked, { withinMs: WITHIN_MS, what: 'the request is answered or given up' })
      for (let deaths = random.below(3); deaths > 0; deaths--) {
        node.start()
        await sim.runFor(random.float() * 400)
        await die(sim, node)
      }
      node.start()
      await cluster.settled()
      const left = node.machine.tree
        .list(DATA_FOLDER)
        .filter((name) => name.startsWith(NAME) && !name.endsWith('-delete'))
      assert.deepEqual(left, [])
    }
  },
)

async function die(sim: Sim, node: SimNode): Promise<void> {
  const random = sim.streams.faults
  const how = random.pick(['stop', 'kill', 'any', 'all', 'none'] as const)
  if (how === 'stop') await sim.within(node.stop(), { withinMs: WITHIN_MS, what: 'a clean stop' })
  else if (how === 'kill') node.kill()
  else node.losePower(how)
}
