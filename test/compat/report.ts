import type { Case } from './case.ts'
import type { Verdict } from './compare.ts'
import type { Explanation } from './explanation.ts'
import type { Outcome } from './run.ts'

/** One case with one client. */
export interface Row {
  readonly client: string
  readonly version: string
  readonly case: Case
  /** Those with the same share a table. */
  readonly suite: string
  readonly verdict: Verdict
  readonly ms: number
}

const partMax = 300

function short(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value)
  return text.length > partMax ? `${text.slice(0, partMax)}…` : text
}

/** In one line, or several where there is something to say. */
export function verdictText(verdict: Verdict): string {
  switch (verdict.kind) {
    case 'ok':
      return 'ok'
    case 'unsupported':
      return `unsupported (${verdict.why})`
    case 'fails':
      return `FAILS: ${verdict.message}`
    case 'explained':
      return `explained (${verdict.differences.length})`
    case 'differs':
      return `DIFFERS${verdict.differences
        .map(({ at, kafka, millrace }) => `\n      at ${at}: Kafka ${short(kafka)}, Millrace ${short(millrace)}`)
        .join('')}`
  }
}

export function sayRow(
  { client, case: { name }, verdict, ms }: Row,
  outcomes: readonly Outcome[],
  verbose: boolean,
): void {
  console.log(`${(ms / 1000).toFixed(1).padStart(6)} s  ${client}  ${name}: ${verdictText(verdict)}`)
  if (verbose) for (const outcome of outcomes) console.log(`      ${JSON.stringify(outcome)}`)
}

/** The table of all cases, and whether the run was good. */
export function printSummary(rows: readonly Row[], unused: readonly Explanation[]): boolean {
  for (const lines of tablesOf(rows, ({ kind }) => kind)) console.log(`\n${lines.join('\n')}\n`)
  const bad = rows.filter(({ verdict }) => verdict.kind === 'differs' || verdict.kind === 'fails')
  for (const {
    client,
    case: { name },
    verdict,
  } of bad)
    console.log(`${client}  ${name}: ${verdictText(verdict)}`)
  for (const { cases, at } of unused)
    console.log(`explained in differences.ts, but not seen: ${cases.join(', ')} at ${at}`)
  const counts = Object.entries(Object.groupBy(rows, ({ verdict }) => verdict.kind))
  console.log(counts.map(([kind, found]) => `${found.length} ${kind}`).join(', '))
  return bad.length === 0 && unused.length === 0
}

/** Markdown tables, cases down and clients across: one of the common cases, one for each client with cases of its own. */
export function tablesOf(rows: readonly Row[], cell: (verdict: Verdict) => string): string[][] {
  return Object.values(Object.groupBy(rows, ({ suite }) => suite)).map((found = []) => tableOf(found, cell))
}

function tableOf(rows: readonly Row[], cell: (verdict: Verdict) => string): string[] {
  const clients = [...new Set(rows.map(({ client }) => client))]
  const names = [...new Set(rows.map(({ case: { name } }) => name))]
  const lines = names.map((name) => {
    const cells = clients.map((client) => rows.find((row) => row.client === client && row.case.name === name))
    return [name, ...cells.map((row) => (row === undefined ? '' : cell(row.verdict)))]
  })
  return [['case', ...clients], ['---', ...clients.map(() => '---')], ...lines].map(
    (cells) => `| ${cells.join(' | ')} |`,
  )
}
