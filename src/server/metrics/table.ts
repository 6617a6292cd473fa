import { EXPORTER_METRICS } from './exporter-table.ts'
import type { Family, Sample } from './family.ts'
import { KAFKA_METRICS } from './kafka-table.ts'
import type { Metric } from './metric.ts'
import { OWN_METRICS } from './own-table.ts'
import { PROCESS_METRICS } from './process-table.ts'

/** Everything that `/metrics` may say. The dashboard, the alert rules and a page of the documentation are made from it. */
export const METRICS = { ...OWN_METRICS, ...KAFKA_METRICS, ...EXPORTER_METRICS, ...PROCESS_METRICS }
export type MetricName = keyof typeof METRICS

export function metricOf(name: MetricName): Metric {
  return METRICS[name]
}

export function family(name: MetricName, samples: readonly Sample[]): Family {
  const { type, help } = metricOf(name)
  return { name, type: type === 'counter' ? 'counter' : 'gauge', help, samples }
}

/** One without labels. */
export function single(name: MetricName, value: number): Family {
  return family(name, [{ value }])
}
