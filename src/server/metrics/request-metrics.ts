import type { Dispatcher } from '../dispatch/dispatcher.ts'
import { Collector } from './collector.ts'
import type { Family } from './family.ts'
import { LATENCY_BOUNDS_MS, type LatencyHistogram } from './histogram.ts'

const QUANTILES = [0.5, 0.75, 0.95, 0.98, 0.99, 0.999] as const

/** The times of requests as the JMX exporter gives those of Apache Kafka. */
export function* requestMetrics(dispatchers: readonly Dispatcher[]): Generator<Family> {
  const collector = new Collector()
  for (const dispatcher of dispatchers) {
    for (const { name: request, metrics } of dispatcher.metrics()) {
      if (metrics.requests === 0) continue
      collector.add('kafka_network_requestmetrics_requests_total', metrics.requests, { request })
      collector.add('kafka_network_requestmetrics_totaltimems_count', metrics.latency.count, { request })
      for (const quantile of QUANTILES) {
        const ms = quantileOf(metrics.latency, quantile)
        collector.add('kafka_network_requestmetrics_totaltimems', ms, { request, quantile })
      }
    }
  }
  yield* collector.families()
}

/** One processor of the network for each listener. */
export function* listenerMetrics(connections: Iterable<{ readonly listenerName: string }>): Generator<Family> {
  const collector = new Collector()
  const counts = new Map<string, number>()
  for (const { listenerName } of connections) counts.set(listenerName, (counts.get(listenerName) ?? 0) + 1)
  for (const [listener, count] of counts) {
    collector.add('kafka_server_socket_server_metrics_connection_count', count, { listener, networkProcessor: 0 })
  }
  yield* collector.families()
}

/** Within a bucket as if its times were spread evenly. */
export function quantileOf({ counts, count }: LatencyHistogram, quantile: number): number {
  let rest = quantile * count
  for (const [index, inBucket] of counts.entries()) {
    const lower = LATENCY_BOUNDS_MS[index - 1] ?? 0
    const upper = LATENCY_BOUNDS_MS[index] ?? lower
    if (rest <= inBucket && inBucket > 0) return lower + ((upper - lower) * rest) / inBucket
    rest -= inBucket
  }
  return 0
}
