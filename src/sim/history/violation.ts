import type { History, Send } from './history.ts'

/** A broken promise. `rule` is its id in docs/invariants.md. */
export interface Violation {
  readonly rule: string
  readonly message: string
}

export type Checker = (history: History) => Violation[]

/** Sends that were acknowledged with the promise to stay, by partition. */
export function ackedByPartition(history: History): Map<string, Send[]> {
  return groupBy(history.sends.filter(isPromised), (send) => send.partition)
}

/** Acknowledged, by all copies: it must be there for ever. */
export function isPromised({ outcome, acks }: Send): boolean {
  return outcome === 'acked' && acks === 'all'
}

export function groupBy<T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  }
  return groups
}

/**
 * A mode that acknowledges before the disk has it may lose these to a power cut. An ack that was on its way at the cut
 * arrives after it, so what was sent before the cut and not acknowledged long before it counts, whenever its ack came.
 */
export function mayBeLost(history: History, { invoked, completed }: Send): boolean {
  return history.powerCuts.some(
    ({ moment, mayLoseFrom }) => mayLoseFrom < moment && invoked < moment && (completed ?? moment) >= mayLoseFrom,
  )
}

/** A power cut may have taken records that clients had seen: other records are at their offsets now. */
export function mayHaveLost(history: History): boolean {
  return history.powerCuts.some(({ moment, mayLoseFrom }) => mayLoseFrom < moment)
}
