import type { Cluster } from '../../test/cluster/cluster.ts'
import { deleteTopic } from '../../test/support/wire-calls.ts'
import { produceLatencyWithJava, produceWithJava, recordsPerGb } from '../clients.ts'
import { cpuSeconds } from '../process-stats.ts'
import { type Durability, type Figures, topicConfig } from '../report.ts'

/** One led by each node. */
const PARTITIONS = 3

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Of the three processes together. */
export function clusterCpuSeconds(cluster: Cluster): number {
  return cluster.nodes.reduce((sum, node) => sum + cpuSeconds(node.process.pid), 0)
}

async function withTopic(cluster: Cluster, durability: Durability, use: (topic: string) => Promise<void>) {
  const topic = `${durability}-${Math.floor(performance.now())}`
  const config = { ...topicConfig(cluster.kind, durability), 'min.insync.replicas': '2' }
  await cluster.createTopic(topic, PARTITIONS, config)
  await use(topic)
  await cluster.ask((wire) => deleteTopic(wire, topic))
}

export async function warm(cluster: Cluster, records: number): Promise<void> {
  if (records === 0) return
  console.log(`warming ${cluster.kind} with ${(records / recordsPerGb).toFixed(1)} GB`)
  await withTopic(cluster, 'relaxed', async (topic) => {
    await produceWithJava(cluster.addresses, topic, records)
  })
}

export async function measureProduce(cluster: Cluster, records: number, figures: Figures): Promise<void> {
  for (const durability of ['relaxed', 'fsync'] as const) {
    await withTopic(cluster, durability, async (topic) => {
      const before = clusterCpuSeconds(cluster)
      const { megabytesPerSecond } = await produceWithJava(cluster.addresses, topic, records)
      await wait(500) // what followers finish a moment later counts too
      const seconds = clusterCpuSeconds(cluster) - before
      figures.note(`produce ${durability} cpu s/GB`, cluster.kind, (seconds / records) * recordsPerGb)
      figures.note(`produce ${durability} MB/s`, cluster.kind, megabytesPerSecond)
    })
  }
}

export async function measureLatency(cluster: Cluster, seconds: number, figures: Figures): Promise<void> {
  for (const durability of ['relaxed', 'fsync'] as const) {
    await withTopic(cluster, durability, async (topic) => {
      const load = { perSecond: 2000, seconds, warmUpSeconds: 15 }
      const { p50, p99 } = await produceLatencyWithJava(cluster.addresses, topic, load)
      figures.note(`latency ${durability} p50 ms`, cluster.kind, p50)
      figures.note(`latency ${durability} p99 ms`, cluster.kind, p99)
    })
  }
}
