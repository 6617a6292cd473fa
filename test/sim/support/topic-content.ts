import { readWhole } from '../../../src/sim/clients/fetching.ts'
import { IdempotentProducer } from '../../../src/sim/clients/idempotent-producer.ts'
import { History } from '../../../src/sim/history/history.ts'
import type { ClusterRun } from './cluster-run.ts'

const RECORDS = 20
const WITHIN_MS = 60_000

/** Puts twenty records into a topic of one partition, each once: `<prefix>-1` to `<prefix>-20`. */
export async function fill({ sim, cluster }: ClusterRun, topic: string, prefix: string): Promise<void> {
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
