import type { Server } from '../../test/support/server.ts'
import { produceWithJava, recordsPerGb } from '../clients.ts'
import { produceWithLibrdkafka } from '../librdkafka.ts'
import { brokerCpu, warm, withTopic } from '../one-node.ts'
import { peakResidentBytes } from '../process-stats.ts'
import type { Durability, Figures } from '../report.ts'
import type { Bench } from './parts.ts'

interface Case {
  readonly name: string
  readonly client: 'Java' | 'librdkafka'
  readonly bytes: number
  readonly partitions: number
  readonly codec: string
}

function caseOf(client: Case['client'], bytes: number, partitions: number, codec = 'none'): Case {
  const size = bytes === 1024 ? '1 KB' : `${bytes} B`
  const name = [client, size, `${partitions} partitions`, ...(codec === 'none' ? [] : [codec])].join(', ')
  return { name, client, bytes, partitions, codec }
}

export const produceCases: readonly Case[] = [
  ...[1, 6, 100].map((partitions) => caseOf('Java', 1024, partitions)),
  caseOf('Java', 100, 1),
  caseOf('Java', 1024, 6, 'lz4'),
  caseOf('Java', 1024, 6, 'zstd'),
  caseOf('librdkafka', 1024, 1),
  caseOf('librdkafka', 1024, 6),
  caseOf('librdkafka', 100, 1),
]

/** Records into both sides in both durability modes; the sides take turns within a case. */
export async function benchProduce(bench: Bench): Promise<void> {
  for (let round = 0; round < bench.rounds; round++) {
    const name = `produce-${round}`
    const servers = await Promise.all(bench.kinds.map((kind) => bench.nodes.prepare(kind, name)))
    for (const server of servers) {
      await server.start()
      await warm(server, Math.round(bench.warmGb * recordsPerGb), Math.round(bench.gb * recordsPerGb))
    }
    for (const each of produceCases) {
      for (const durability of ['relaxed', 'fsync'] as const) {
        for (const server of servers) await produceOnce(server, each, durability, bench)
      }
    }
    for (const server of servers) {
      bench.figures.note('memory at most under load MB', server.kind, peakResidentBytes(server.process.pid) / 1e6)
      await server.stop()
      bench.nodes.forget(server.kind, name)
    }
  }
}

async function produceOnce(server: Server, each: Case, durability: Durability, bench: Bench): Promise<void> {
  const { client, bytes, codec, partitions } = each
  const records = Math.round((bench.gb * 1e9) / bytes)
  const produce = client === 'Java' ? produceWithJava : produceWithLibrdkafka
  const use = async (topic: string) => {
    const transfer = () => produce(server.address, topic, records, { bytes, codec })
    const [{ megabytesPerSecond }, seconds] = await brokerCpu(server, transfer)
    noteCost(bench.figures, server, `${each.name}, ${durability}`, { seconds, records, bytes, megabytesPerSecond })
  }
  await withTopic(server, durability, use, partitions)
}

function noteCost(
  figures: Figures,
  { kind }: Server,
  what: string,
  cost: { seconds: number; records: number; bytes: number; megabytesPerSecond: number },
): void {
  const { seconds, records, bytes, megabytesPerSecond } = cost
  figures.note(`${what}: cpu s/GB`, kind, (seconds / (records * bytes)) * 1e9)
  figures.note(`${what}: cpu s/million`, kind, (seconds / records) * 1e6)
  figures.note(`${what}: MB/s`, kind, megabytesPerSecond)
}
