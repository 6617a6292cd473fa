import { writeBetweenMarks } from '../support/marks.ts'
import type { Verdict } from './compare.ts'
import type { Explanation } from './explanation.ts'
import { type Row, tablesOf } from './report.ts'
import { kafkaVersion } from '../support/kafka-oracle.ts'

const file = 'docs/compatibility.md'

/** Writes what a run of everything has seen into the page. */
export function writePage(rows: readonly Row[], explanations: readonly Explanation[]): void {
  writeBetweenMarks(file, 'clients', versions(rows))
  writeBetweenMarks(file, 'table', tables(rows))
  writeBetweenMarks(file, 'differences', explanations.map(told).join('\n'))
}

function versions(rows: readonly Row[]): string {
  const found = new Map(rows.map(({ client, version }) => [client, version]))
  const lines = [...found].map(([client, version]) => `| ${client} | ${version} |`)
  return ['| client | version |', '| --- | --- |', ...lines, `| compared with | Apache Kafka ${kafkaVersion} |`].join(
    '\n',
  )
}

function tables(rows: readonly Row[]): string {
  const reasons = new Map<string, number>()
  const mark = (verdict: Verdict) => {
    if (verdict.kind !== 'unsupported') return verdict.kind
    if (!reasons.has(verdict.why)) reasons.set(verdict.why, reasons.size + 1)
    return `– [${reasons.get(verdict.why)}]`
  }
  const text = tablesOf(rows, mark).map((lines) => lines.join('\n'))
  const notes = [...reasons].map(([why, number]) => `[${number}] ${why}`)
  return [...text, notes.join('  \n')].join('\n\n')
}

function told({ cases, clients, kafka, millrace, why }: Explanation): string {
  const who = clients === null ? '' : ` (${clients.join(', ')})`
  return `- ${cases.map((name) => `\`${name}\``).join(', ')}${who}: Kafka ${kafka}; Millrace ${millrace}. ${why}`
}
