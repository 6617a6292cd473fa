import { createHistogram } from 'node:perf_hooks'
import { formatCount } from '../quantity.ts'

export type BenchKind = 'produce' | 'consume' | 'e2e'

/** What a run was asked for. Bytes and milliseconds. */
export interface BenchSettings {
  readonly topic: string
  readonly valueBytes: number
  readonly partitions: number
  readonly compression: 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd'
  readonly acks: 'all' | 1 | 0
  readonly lingerMs: number
  readonly batchBytes: number
  /** Records a second; null: as many as it takes. */
  readonly rate: number | null
  readonly recordsMax: number
  readonly durationMs: number
}

export interface BenchResult {
  readonly bench: BenchKind
  readonly settings: BenchSettings
  readonly records: number
  /** Of values. */
  readonly bytes: number
  readonly seconds: number
  readonly recordsPerSecond: number
  readonly bytesPerSecond: number
  /** Null where none is measured. */
  readonly latencyMs: { readonly p50: number; readonly p99: number; readonly p999: number; readonly max: number } | null
}

/** Latencies to within a percent, in constant memory. */
export class Latencies {
  /** Nanoseconds, up to ten minutes. */
  readonly #histogram = createHistogram({ lowest: 1, highest: 600e9, figures: 3 })

  add(ms: number): void {
    this.#histogram.record(Math.max(1, Math.round(ms * 1e6)))
  }

  summary(): BenchResult['latencyMs'] {
    const at = (percentile: number) => this.#histogram.percentile(percentile) / 1e6
    return this.#histogram.count === 0
      ? null
      : { p50: at(50), p99: at(99), p999: at(99.9), max: this.#histogram.max / 1e6 }
  }
}

export function resultOf(
  bench: BenchKind,
  settings: BenchSettings,
  { records, ms, latencies }: { records: number; ms: number; latencies: Latencies | null },
): BenchResult {
  const seconds = Math.max(ms, 1) / 1000
  const bytes = records * settings.valueBytes
  return {
    bench,
    settings,
    records,
    bytes,
    seconds,
    recordsPerSecond: records / seconds,
    bytesPerSecond: bytes / seconds,
    latencyMs: latencies?.summary() ?? null,
  }
}

export function linesOf({
  bench,
  settings,
  records,
  seconds,
  recordsPerSecond,
  bytesPerSecond,
  latencyMs,
}: BenchResult): string[] {
  const { valueBytes, partitions, compression, acks, lingerMs, rate } = settings
  const asked = rate === null ? 'as fast as it goes' : `${formatCount(rate)} records/s asked for`
  return [
    `${bench}: ${formatCount(records)} records of ${formatCount(valueBytes)} B in ${seconds.toFixed(1)} s, ${partitions} partitions, ${compression}, acks=${acks}, linger ${lingerMs} ms, ${asked}`,
    `  ${formatCount(Math.round(recordsPerSecond))} records/s, ${(bytesPerSecond / 1e6).toFixed(1)} MB/s`,
    ...(latencyMs === null
      ? []
      : [
          `  latency p50 ${shown(latencyMs.p50)}, p99 ${shown(latencyMs.p99)}, p99.9 ${shown(latencyMs.p999)}, max ${shown(latencyMs.max)}`,
        ]),
  ]
}

function shown(ms: number): string {
  return `${ms >= 100 ? Math.round(ms) : Number(ms.toPrecision(3))} ms`
}
