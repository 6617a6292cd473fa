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
  for (let i = 0; i < RECORDS; i++) producer.send(0, 1)
  await sim.until(() => producer.pending === 0, { withinMs: WITHIN_MS, what: `${prefix} is acknowledged` })
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
