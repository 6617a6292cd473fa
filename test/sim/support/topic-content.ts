import { Fetch } from '../../../src/protocol/apis/fetch.ts'
import type { ClusterClient } from '../../../src/sim/clients/cluster-client.ts'
import { readWhole } from '../../../src/sim/clients/fetching.ts'
import { IdempotentProducer } from '../../../src/sim/clients/idempotent-producer.ts'
import { receivedRecords } from '../../../src/sim/clients/received.ts'
import { History } from '../../../src/sim/history/history.ts'
import type { ClusterRun } from './cluster-run.ts'

const RECORDS = 20
const WITHIN_MS = 60_000
/** Fetch names topics by id from here on. */
const BY_ID_VERSION = 13

/** Puts twenty records into a topic of one partition, each once: `<prefix>-1` to `<prefix>-20`. */
export async function fill(
  { sim, cluster }: Pick<ClusterRun, 'sim' | 'cluster'>,
  topic: string,
  prefix: string,
): Promise<void> {
  const { client } = cluster.client(`filler-${prefix}`)
  const producer = new IdempotentProducer({ name: prefix, topic, partitions: 1, client, history: new History() })
  await sim.within(producer.start(), { withinMs: WITHIN_MS, what: `${prefix} has a producer` })
  const acknowledged = () =>
    sim.until(() => producer.pending === 0, { withinMs: WITHIN_MS, what: `${prefix} is acknowledged` })
  // The first alone: to a leader that knows nothing of a producer any sequence is as good as the first, and one that has
  // not heard of the topic until just now refuses only what came too soon.
  producer.send(0, 1)
  await acknowledged()
  for (let i = 1; i < RECORDS; i++) producer.send(0, 1)
  await acknowledged()
}

/** The records of a topic of one partition, in order. */
export async function idsIn({ sim, cluster }: ClusterRun, topic: string): Promise<string[]> {
  const { client } = cluster.client(`reader-of-${topic}`)
  const history = new History()
  await sim.within(readWhole(client, history, { topic, partition: 0 }), {
    withinMs: WITHIN_MS,
    what: `${topic} is read`,
  })
  return history.finalReads.flatMap(({ records }) => records.map(({ id }) => id))
}

/** What one node gives, as a leader or not, of the first partition of the topic that has this id. */
export async function askById(
  { client, nodeId, topic }: { client: ClusterClient; nodeId: number; topic: string },
  topicId: string,
): Promise<{ ids: string[]; errorCode: number }> {
  const partitions = [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 1 << 20, currentLeaderEpoch: -1 }]
  const body = { maxWaitMs: 0, minBytes: 0, topics: [{ topic, topicId, partitions }], forgottenTopicsData: [] }
  const answer = await client.persist(async () =>
    (await client.wireToNode(nodeId)).request(Fetch, body, { fromVersion: BY_ID_VERSION }),
  )
  const result = answer.responses[0]?.partitions[0]
  const { records } = receivedRecords(Buffer.concat(result?.records ?? []), 0)
  return { ids: records.map(({ id }) => id), errorCode: result?.errorCode ?? answer.errorCode }
}
