import type { Cluster } from '../../test/cluster/cluster.ts'
import { until } from '../../test/support/process.ts'
import { isTemporary } from '../../test/support/retry.ts'
import type { Server } from '../../test/support/server.ts'
import { createTopic, metadata } from '../../test/support/wire-calls.ts'
import { cpuSeconds, residentBytes } from '../process-stats.ts'
import type { Figures } from '../report.ts'

const PARTITIONS_PER_TOPIC = 1000
const SETTLE_MS = 20_000
const IDLE_MS = 20_000

/** Many partitions with three copies: how long until they are there, what they cost idle, how long until all are led again. */
export async function measurePartitions(cluster: Cluster, count: number, figures: Figures): Promise<void> {
  const topics = Array.from({ length: count / PARTITIONS_PER_TOPIC }, (_, index) => `many-${index}`)
  const start = performance.now()
  for (const topic of topics) {
    await cluster.ask((wire) => createTopic(wire, topic, PARTITIONS_PER_TOPIC, {}, 3), { callMs: 120_000 })
  }
  await allLed(cluster, cluster.nodes, topics, new Set([1, 2, 3]))
  figures.note('partitions created s', cluster.kind, (performance.now() - start) / 1000)

  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
  const before = cluster.nodes.map(({ process }) => cpuSeconds(process.pid))
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
  for (const [index, { process }] of cluster.nodes.entries()) {
    const share = (cpuSeconds(process.pid) - (before[index] as number)) / (IDLE_MS / 1000)
    figures.note('partitions idle cpu %', cluster.kind, share * 100)
    figures.note('partitions idle MB', cluster.kind, residentBytes(process.pid) / 1e6)
  }
  await measureKill(cluster, topics, figures)
}

async function measureKill(cluster: Cluster, topics: readonly string[], figures: Figures): Promise<void> {
  const victim = cluster.nodes.find(({ place }) => place.nodeId === 2) as Server
  const others = cluster.nodes.filter((node) => node !== victim)
  const start = performance.now()
  await victim.kill()
  await allLed(cluster, others, topics, new Set([1, 3]))
  figures.note('partitions led again s', cluster.kind, (performance.now() - start) / 1000)
}

/** Every partition is led by one of `leaders`, as each of `nodes` tells its clients. */
async function allLed(
  cluster: Cluster,
  nodes: readonly Server[],
  topics: readonly string[],
  leaders: ReadonlySet<number>,
): Promise<void> {
  const led = async (node: Server, topic: string) => {
    const [entry] = (await cluster.askNode(node, (wire) => metadata(wire, [topic]), 30_000)).topics
    const partitions = entry?.partitions ?? []
    return partitions.length === PARTITIONS_PER_TOPIC && partitions.every(({ leader }) => leaders.has(leader))
  }
  for (const topic of topics) {
    for (const node of nodes) {
      const probe = async () => {
        try {
          return (await led(node, topic)) ? true : null
        } catch (error) {
          if (!isTemporary(error)) throw error
          return null
        }
      }
      await until(`all of ${topic} is led`, probe, { timeoutMs: 300_000, everyMs: 20 })
    }
  }
}
