import type { History, Send } from './history.ts'

/** A broken promise. `rule` is its id in docs/invariants.md. */
export interface Violation {
  readonly rule: string
  readonly message: string
}

export type Checker = (history: History) => Violation[]

/** Acked sends that must be there, by partition. */
export function ackedByPartition(history: History): Map<string, Send[]> {
  return groupBy(
    history.sends.filter((send) => send.outcome === 'acked'),
    (send) => send.partition,
  )
}

export function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  }
  return groups
}

/** A mode that acknowledges before the disk has it may lose these to a power cut. */
export function mayBeLost(history: History, send: Send): boolean {
  const { completed } = send
  return history.powerCuts.some(
    ({ moment, mayLoseFrom }) => completed !== null && completed >= mayLoseFrom && completed < moment,
  )
}
