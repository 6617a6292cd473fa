/**
 * A topic is deleted and made anew under its name while one of its nodes is away. That one comes back with records of the
 * topic that was, and none of them may be taken for records of the one that is (H21).
 */
import { NO_TOPIC_ID } from '../../src/model/ids.ts'
import { DeleteTopics } from '../../src/protocol/apis/delete-topics.ts'
import { ErrorCode } from '../../src/protocol/errors.ts'
import { ClusterClient } from '../../src/sim/clients/cluster-client.ts'
import { PlainProducer } from '../../src/sim/clients/plain-producer.ts'
import { History } from '../../src/sim/history/history.ts'
import type { SimCluster } from '../../src/sim/cluster/sim-cluster.ts'
import type { Sim } from '../../src/sim/sim.ts'
import type { ClusterRun } from './support/cluster-run.ts'
import { clusterScenario } from './support/cluster-scenario.ts'

const NAME = 'again'

clusterScenario(
  'a node that was away while a topic was made anew holds nothing of the one before',
  { run: { gapMs: 400 } },
  async (run, sim) => {
    const random = sim.streams.faults
    await run.createTopic(NAME)
    await write(run, random.between(1, 12))
    const away = random.pick(run.cluster.nodes)
    if (random.chance(0.5)) away.kill()
    else away.losePower('any')
    const client = clientApart(run.cluster, sim)
    await sim.within(remove(client), { withinMs: 60_000, what: `${NAME} is deleted` })
    const made = run.cluster.createTopic(client, { name: NAME, partitions: 1, replicationFactor: random.pick([2, 3]) })
    // Without the third node there may be no place for three copies: it is waited for.
    if (random.chance(0.5)) await run.forAWhile()
    else await write(run, random.between(1, 12))
    away.start()
    await sim.within(made, { withinMs: 60_000, what: `${NAME} is made anew` })
    await write(run, random.between(1, 12))
  },
)

/** Each on its own, acknowledged or not. */
async function write({ cluster, sim }: ClusterRun, records: number): Promise<void> {
  const client = clientApart(cluster, sim)
  const name = `write-${sim.nowMs}`
  const producer = new PlainProducer({ name, topic: NAME, client, history: new History(), acks: 'all' })
  for (let i = 0; i < records; i++) await producer.send(0, 1)
}

/** It tells the history nothing: who led the topic that was has nothing to do with who leads the one that is. */
function clientApart({ bootstrap }: SimCluster, sim: Sim): ClusterClient {
  const name = `apart-${sim.machines.length}`
  const { env } = sim.addMachine(name).boot()
  return new ClusterClient({ env, random: sim.streams.workload.fork(), bootstrap, clientId: name })
}

async function remove(client: ClusterClient): Promise<void> {
  const body = { topics: [{ name: NAME, topicId: NO_TOPIC_ID }], timeoutMs: 10_000 }
  await client.persist(async () => {
    const answer = await (await client.any()).request(DeleteTopics, body, { fromVersion: 6 })
    const errorCode = answer.responses[0]?.errorCode ?? 0
    return errorCode === 0 || errorCode === ErrorCode.UNKNOWN_TOPIC_OR_PARTITION ? true : null
  })
}
