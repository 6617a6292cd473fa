import type { History } from './history.ts'
import { oneLeader, timeLookups } from './lookups.ts'
import { committedOffsetsStay, nothingRemovedEarly, oneOwner } from './offsets.ts'
import {
  appendsAreLinear,
  contiguousBetweenPolls,
  contiguousWithinPolls,
  endNeverFalls,
  producerOrder,
} from './order.ts'
import { noDuplicate, noLoss, noPhantom, oneValue, refusedStaysOut } from './records.ts'
import { type Checker, mayHaveLost, type Violation } from './violation.ts'

const CHECKERS: readonly Checker[] = [
  noLoss,
  oneValue,
  noDuplicate,
  noPhantom,
  contiguousWithinPolls,
  contiguousBetweenPolls,
  producerOrder,
  appendsAreLinear,
  endNeverFalls,
  committedOffsetsStay,
  oneOwner,
  nothingRemovedEarly,
  refusedStaysOut,
  timeLookups,
  oneLeader,
]

/** What holds although acknowledged records were lost: nothing older is gone, nothing is there that nobody sent. */
const AFTER_LOSS: readonly Checker[] = [noLoss, noPhantom, oneOwner, refusedStaysOut]

/** What holds even on a disk that lies: less may be there, but nothing else. */
const NO_LIES: readonly Checker[] = [oneValue, noDuplicate, noPhantom, contiguousWithinPolls, oneOwner, refusedStaysOut]

/** How many violations of one rule are told. */
const TOLD_MAX = 5

export function checkHistory(history: History): Violation[] {
  const checkers = mayHaveLost(history) ? AFTER_LOSS : CHECKERS
  return checkers.flatMap((check) => check(history))
}

/** A history that breaks a promise. */
export class HistoryError extends Error {
  override name = 'HistoryError'
  readonly violations: readonly Violation[]

  constructor(violations: readonly Violation[]) {
    const rules = [...new Set(violations.map(({ rule }) => rule))]
    const lines = rules.flatMap((rule) => {
      const own = violations.filter((violation) => violation.rule === rule)
      const told = own.slice(0, TOLD_MAX).map(({ message }) => `  ${rule} ${message}`)
      return own.length > TOLD_MAX ? [...told, `  ${rule} ${own.length - TOLD_MAX} more`] : told
    })
    super(`broken promises: ${rules.join(', ')}\n${lines.join('\n')}`)
    this.violations = violations
  }
}

/** Throws `HistoryError` when anything is wrong. */
export function assertHistory(history: History, more: readonly Violation[] = []): void {
  const violations = [...checkHistory(history), ...more]
  if (violations.length > 0) throw new HistoryError(violations)
}

/** Beyond what was promised to survive, a node may refuse; it may not tell anything wrong. Throws `HistoryError`. */
export function assertNoLies(history: History): void {
  const violations = NO_LIES.flatMap((check) => check(history))
  if (violations.length > 0) throw new HistoryError(violations)
}
