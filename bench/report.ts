import { cpus, release, totalmem } from 'node:os'
import type { ServerKind } from '../test/support/server.ts'

export { writeBetweenMarks } from '../test/support/marks.ts'

/** One figure of both servers, measured in the same rounds. */
export interface Comparison {
  readonly what: string
  readonly unit: string
  /** Digits after the point. */
  readonly digits: number
  readonly millrace: readonly number[]
  readonly kafka: readonly number[]
  /** What this figure should reach, against Kafka's of the same round or as such. */
  readonly goal: { readonly ratio: 'at most' | 'at least'; readonly value: number } | { readonly most: number }
}

/** Figures of a run by name and side, in the order they came. */
export class Figures {
  readonly #lists = new Map<string, Record<ServerKind, number[]>>()

  note(what: string, kind: ServerKind, value: number): void {
    let entry = this.#lists.get(what)
    if (entry === undefined) this.#lists.set(what, (entry = { millrace: [], kafka: [] }))
    entry[kind].push(value)
    console.log(`  ${kind.padEnd(8)} ${what}: ${value.toFixed(2)}`)
  }

  of(what: string, kind: ServerKind): readonly number[] {
    return this.#lists.get(what)?.[kind] ?? []
  }

  /** In the order in which they first came. */
  get names(): string[] {
    return [...this.#lists.keys()]
  }

  /** Of one side alone. */
  summary(kind: ServerKind): string {
    const lines = [...this.#lists].map(([what, { [kind]: list }]) => `${what}: ${cell(list, 2)}`)
    return lines.join('\n')
  }
}

export type Durability = 'relaxed' | 'fsync'

/** What makes a topic acknowledge from the page cache, or after an fsync. */
export function topicConfig(kind: ServerKind, durability: Durability): Record<string, string> {
  if (kind === 'millrace') return { 'durability.mode': durability }
  // The nearest that Kafka has: an fsync before each answer.
  return durability === 'fsync' ? { 'flush.messages': '1' } : {}
}

export function median(list: readonly number[]): number {
  const sorted = [...list].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2
}

function ratios({ millrace, kafka }: Comparison): number[] {
  return millrace.map((value, round) => value / (kafka[round] as number))
}

export function reached(comparison: Comparison): boolean {
  const { goal } = comparison
  if ('most' in goal) return median(comparison.millrace) <= goal.most
  const ratio = median(ratios(comparison))
  return goal.ratio === 'at most' ? ratio <= goal.value : ratio >= goal.value
}

function cell(list: readonly number[], digits: number): string {
  const text = (value: number) => value.toFixed(digits)
  if (list.length === 1) return text(list[0] as number)
  return `${text(median(list))} (${text(Math.min(...list))}–${text(Math.max(...list))})`
}

function goalText({ goal, unit }: Comparison): string {
  return 'most' in goal ? `at most ${goal.most} ${unit}` : `${goal.ratio} ${goal.value} of Kafka's`
}

export function table(comparisons: readonly Comparison[]): string {
  const rows = comparisons.map((comparison) => {
    const { what, unit, digits, millrace, kafka } = comparison
    return [
      `${what}, ${unit}`,
      cell(millrace, digits),
      cell(kafka, digits),
      cell(ratios(comparison), 2),
      goalText(comparison),
      reached(comparison) ? 'yes' : 'no',
    ]
  })
  const head = ['what', 'Millrace', 'Apache Kafka', 'ratio', 'goal', 'reached']
  return markdownTable(head, rows)
}

export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** What the figures depend on. */
export function machine(): string {
  const model = cpus()[0]?.model ?? 'unknown processor'
  const memory = Math.round(totalmem() / 2 ** 30)
  return `${cpus().length} × ${model}, ${memory} GiB, Linux ${release()}, Node ${process.versions.node}`
}
