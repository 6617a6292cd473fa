import { recordsPerGb } from '../clients.ts'
import { latencyWithLibrdkafka } from '../librdkafka.ts'
import { warm, withTopic } from '../one-node.ts'
import type { Durability } from '../report.ts'
import type { Bench } from './parts.ts'

/** Records a second. Kafka with `flush.messages=1` holds the first on one disk, and not the second. */
export const RATES = [500, 10_000] as const
const WARM_SECONDS = 10

/** One warm client without linger, that also reads what it sends. Each side is measured while the other does not run. */
export async function benchLatency(bench: Bench): Promise<void> {
  for (let round = 0; round < bench.rounds; round++) {
    for (const kind of bench.kinds) {
      await bench.nodes.with(kind, `latency-${round}`, async (server) => {
        await warm(server, Math.round(bench.warmGb * recordsPerGb), 0)
        for (const durability of ['relaxed', 'fsync'] as const) {
          for (const perSecond of RATES) {
            const use = async (topic: string) => {
              const load = { perSecond, seconds: bench.latencySeconds, warmUpSeconds: WARM_SECONDS }
              const result = await latencyWithLibrdkafka(server.address, topic, load)
              for (const [which, quantiles] of Object.entries({ ack: result.ack, 'end to end': result.endToEnd })) {
                for (const name of ['p50', 'p99', 'p999'] as const) {
                  bench.figures.note(latencyName(which, durability, perSecond, name), kind, quantiles[name])
                }
              }
              bench.figures.note(`late at ${perSecond}/s, ${durability} %`, kind, result.late * 100)
            }
            await withTopic(server, durability, use)
          }
        }
      })
    }
  }
}

export function latencyName(which: string, durability: Durability, perSecond: number, quantile: string): string {
  return `${which} at ${perSecond}/s, ${durability}: ${quantile} ms`
}
