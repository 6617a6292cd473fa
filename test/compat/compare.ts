import { type Difference, type Explanation, explains } from './explanation.ts'
import type { Outcome } from './run.ts'

/** One cell of the table. */
export type Verdict =
  | { readonly kind: 'ok' }
  | { readonly kind: 'unsupported'; readonly why: string }
  | { readonly kind: 'fails'; readonly message: string }
  | { readonly kind: 'differs' | 'explained'; readonly differences: readonly Difference[] }

/** One server alone: nothing to compare with. */
export function judgeAlone(outcome: Outcome): Verdict {
  if (outcome.kind === 'observed') return { kind: 'ok' }
  return outcome.kind === 'unsupported' ? outcome : { kind: 'fails', message: outcome.message }
}

/** `used` gets the explanations that were needed. */
export function judge(
  where: { readonly client: string; readonly case: string },
  kafka: Outcome,
  millrace: Outcome,
  explanations: readonly Explanation[],
  used: Set<Explanation>,
): Verdict {
  if (kafka.kind === 'unsupported') return kafka
  if (kafka.kind === 'failed' && millrace.kind === 'failed') {
    return { kind: 'fails', message: `on both: ${millrace.message} | Kafka: ${kafka.message}` }
  }
  const differences = differencesOf(valueOf(kafka), valueOf(millrace))
  if (differences.length === 0) return { kind: 'ok' }
  const open = differences.filter((difference) => {
    const found = explanations.filter((explanation) => explains(explanation, where, difference))
    for (const explanation of found) used.add(explanation)
    return found.length === 0
  })
  return open.length === 0 ? { kind: 'explained', differences } : { kind: 'differs', differences: open }
}

/** A failure of one is a difference at the field `fails`. */
function valueOf(outcome: Outcome): unknown {
  return outcome.kind === 'observed' ? outcome.value : { fails: outcome.kind === 'failed' ? outcome.message : true }
}

/** The innermost places at which two plain values are not the same. */
export function differencesOf(kafka: unknown, millrace: unknown, at = ''): Difference[] {
  if (!isObject(kafka) || !isObject(millrace) || Array.isArray(kafka) !== Array.isArray(millrace)) {
    if (isObject(millrace) && 'fails' in millrace && at === '')
      return [{ at: 'fails', kafka: 'ok', millrace: millrace.fails }]
    if (isObject(kafka) && 'fails' in kafka && at === '') return [{ at: 'fails', kafka: kafka.fails, millrace: 'ok' }]
    return kafka === millrace ? [] : [{ at, kafka, millrace }]
  }
  if ('fails' in kafka !== 'fails' in millrace) {
    return [{ at: 'fails', kafka: kafka.fails ?? 'ok', millrace: millrace.fails ?? 'ok' }]
  }
  const names = [...new Set([...Object.keys(kafka), ...Object.keys(millrace)])]
  return names.flatMap((name) => differencesOf(kafka[name], millrace[name], at === '' ? name : `${at}/${name}`))
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
