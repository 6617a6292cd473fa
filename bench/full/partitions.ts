import type { Server } from '../../test/support/server.ts'
import { until } from '../../test/support/process.ts'
import { retried } from '../../test/support/retry.ts'
import { createTopic, metadata } from '../../test/support/wire-calls.ts'
import { wait } from '../one-node.ts'
import { cpuSeconds, residentBytes } from '../process-stats.ts'
import type { Bench } from './parts.ts'

const PARTITIONS_PER_TOPIC = 100
const SETTLE_MS = 20_000
const IDLE_MS = 20_000

/** Many partitions on one node: made, idle, and all led again after a clean stop and after kill -9. */
export async function benchPartitions(bench: Bench): Promise<void> {
  for (const count of bench.partitionCounts) {
    for (const kind of bench.kinds) {
      await bench.nodes.with(kind, `partitions-${count}`, (server) => measureMany(server, count, bench))
    }
  }
}

async function measureMany(server: Server, count: number, { figures }: Bench): Promise<void> {
  const { kind } = server
  const topics = Array.from({ length: Math.ceil(count / PARTITIONS_PER_TOPIC) }, (_, index) => `many-${index}`)
  const begin = performance.now()
  for (const topic of topics) {
    await retried(server.address, (wire) => createTopic(wire, topic, Math.min(count, PARTITIONS_PER_TOPIC)), 120_000)
  }
  await allLed(server, topics)
  figures.note(`${count} partitions: created s`, kind, (performance.now() - begin) / 1000)
  await wait(SETTLE_MS)
  const before = cpuSeconds(server.process.pid)
  await wait(IDLE_MS)
  const idle = (cpuSeconds(server.process.pid) - before) / (IDLE_MS / 1000)
  figures.note(`${count} partitions: idle cpu %`, kind, idle * 100)
  figures.note(`${count} partitions: idle MB`, kind, residentBytes(server.process.pid) / 1e6)
  for (const [how, end] of [
    ['a clean stop', () => server.stop(120_000)],
    ['kill -9', () => server.kill()],
  ] as const) {
    await end()
    const start = performance.now()
    await server.launch()
    await allLed(server, topics)
    figures.note(`${count} partitions: led again after ${how} s`, kind, (performance.now() - start) / 1000)
  }
}

/** Every partition of every topic has a leader, as the node tells its clients. */
async function allLed(server: Server, topics: readonly string[]): Promise<void> {
  for (const topic of topics) {
    const led = async () => {
      const [entry] = (await retried(server.address, (wire) => metadata(wire, [topic]), 300_000)).topics
      const partitions = entry?.partitions ?? []
      return partitions.length > 0 && partitions.every(({ leader }) => leader >= 0) ? true : null
    }
    await until(`all of ${topic} is led`, led, { timeoutMs: 300_000, everyMs: 10 })
  }
}
