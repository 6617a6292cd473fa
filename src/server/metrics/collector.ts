import type { Family, Labels, Sample } from './family.ts'
import { family, type MetricName } from './table.ts'

/** Collects samples of many metrics while something is walked once. */
export class Collector {
  readonly #samples = new Map<MetricName, Sample[]>()

  add(name: MetricName, value: number, labels?: Labels): void {
    const sample = labels === undefined ? { value } : { labels, value }
    const samples = this.#samples.get(name)
    if (samples === undefined) this.#samples.set(name, [sample])
    else samples.push(sample)
  }

  /** The same labels for several. */
  addAll(labels: Labels, values: { readonly [name in MetricName]?: number }): void {
    for (const name in values) this.add(name as MetricName, values[name as MetricName] as number, labels)
  }

  *families(): Generator<Family> {
    for (const [name, samples] of this.#samples) yield family(name, samples)
  }
}
