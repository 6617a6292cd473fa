import type { Cluster } from '../../test/cluster/cluster.ts'
import { produceWithJava } from '../clients.ts'
import type { Figures } from '../report.ts'

/** A node that holds much is killed and started again: how long until it is in sync. */
export async function measureRejoin(cluster: Cluster, records: number, figures: Figures): Promise<void> {
  const topic = 'large'
  await cluster.createTopic(topic, 3, { 'min.insync.replicas': '2' })
  await produceWithJava(cluster.addresses, topic, records)
  await cluster.inSync(topic, 300_000)
  for (const { place } of cluster.nodes) {
    await cluster.node(place.nodeId).kill()
    const start = performance.now()
    await cluster.restart(place.nodeId)
    await cluster.inSync(topic, 300_000)
    figures.note('killed to in sync s', cluster.kind, (performance.now() - start) / 1000)
  }
}
