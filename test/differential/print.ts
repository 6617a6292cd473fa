import { inspect } from 'node:util'
import type { Unexplained } from './run.ts'
import type { Step } from './step.ts'

/** What was sent and in which fields the answers to the last of it differ. */
export function printFinding(
  steps: readonly Step[],
  { shownAt, step, sent, differences, theirs, ours }: Unexplained,
): string {
  const lines = [`${step.api.name} v${step.version} differs:`]
  for (const { at, theirs: one, ours: other } of differences.slice(0, 8)) {
    lines.push(`    ${at}: Kafka ${short(one)}; Millrace ${short(other)}`)
  }
  lines.push('  after')
  for (const before of steps.slice(0, shownAt + 1))
    lines.push(`    ${before.api.name} v${before.version} ${short(before.body, 350)}`)
  lines.push(`  sent ${short(sent, 1000)}`)
  if (differences.length === 1 && theirs.kind === ours.kind) return lines.join('\n')
  lines.push(
    `  Kafka: ${short(theirs.answer ?? theirs.kind, 500)}`,
    `  Millrace: ${short(ours.answer ?? ours.kind, 500)}`,
  )
  return lines.join('\n')
}

function short(value: unknown, length = 300): string {
  const text = inspect(value, {
    depth: 8,
    compact: 100,
    breakLength: Number.POSITIVE_INFINITY,
    maxArrayLength: 20,
    maxStringLength: 200,
  })
  return text.length > length ? `${text.slice(0, length)}…` : text
}
