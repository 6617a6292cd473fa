/** Upper bounds in milliseconds; the last bucket has none. */
export const LATENCY_BOUNDS_MS = [
  0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000,
] as const

/** Counts durations by bucket: a few comparisons and two additions each, no allocation. */
export class LatencyHistogram {
  /** One more than there are bounds; not cumulative. */
  readonly counts = new Array<number>(LATENCY_BOUNDS_MS.length + 1).fill(0)
  count = 0
  sumMs = 0

  observe(ms: number): void {
    let index = 0
    while (index < LATENCY_BOUNDS_MS.length && ms > (LATENCY_BOUNDS_MS[index] as number)) index++
    this.counts[index] = (this.counts[index] as number) + 1
    this.count++
    this.sumMs += ms
  }
}
