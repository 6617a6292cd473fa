import { LATENCY_BOUNDS_MS, type LatencyHistogram } from './histogram.ts'

export type Labels = Readonly<Record<string, string | number>>

export interface Sample {
  readonly labels?: Labels
  readonly value: number
}

/** One metric with all its label values, as a scrape sees it. */
export type Family =
  | {
      readonly name: string
      readonly help: string
      readonly type: 'counter' | 'gauge'
      readonly samples: readonly Sample[]
    }
  | {
      readonly name: string
      readonly help: string
      readonly type: 'histogram'
      readonly histograms: readonly { readonly labels?: Labels; readonly histogram: LatencyHistogram }[]
    }

/** The Prometheus text format, version 0.0.4. Durations leave in seconds. */
export function renderMetrics(families: Iterable<Family>): string {
  const lines: string[] = []
  // A partition has the same labels in many families.
  const texts = new Map<Labels, string>()
  const textOf = (labels: Labels): string => {
    const text = texts.get(labels) ?? labelText(labels)
    texts.set(labels, text)
    return text
  }
  for (const family of families) {
    lines.push(`# HELP ${family.name} ${family.help.replace(/\\/g, '\\\\').replace(/\n/g, '\\n')}`)
    lines.push(`# TYPE ${family.name} ${family.type}`)
    if (family.type === 'histogram') {
      for (const { labels = {}, histogram } of family.histograms) pushHistogram(lines, family.name, labels, histogram)
    } else {
      for (const { labels, value } of family.samples)
        lines.push(`${family.name}${labels === undefined ? '' : textOf(labels)} ${number(value)}`)
    }
  }
  return `${lines.join('\n')}\n`
}

function pushHistogram(lines: string[], name: string, labels: Labels, histogram: LatencyHistogram): void {
  let cumulative = 0
  histogram.counts.forEach((count, index) => {
    cumulative += count
    const bound = LATENCY_BOUNDS_MS[index]
    const le = bound === undefined ? '+Inf' : String(bound / 1000)
    lines.push(`${name}_bucket${labelText({ ...labels, le })} ${cumulative}`)
  })
  lines.push(`${name}_sum${labelText(labels)} ${number(histogram.sumMs / 1000)}`)
  lines.push(`${name}_count${labelText(labels)} ${histogram.count}`)
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) =>
      `${name}="${String(value).replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`))}"`,
  )
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function number(value: number): string {
  if (Number.isFinite(value)) return String(value)
  if (Number.isNaN(value)) return 'NaN'
  return value > 0 ? '+Inf' : '-Inf'
}
