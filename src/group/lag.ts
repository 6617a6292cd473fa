import type { LAG_TRENDS } from '../protocol/apis/describe-groups.ts'
import type { Standing } from './standing.ts'

/** What the leader of the partition finds at the offset of a group. */
export interface PositionFacts {
  readonly startOffset: number
  /** High watermark. */
  readonly endOffset: number
  /** Timestamp of the first record that the group has not read; null: there is none. */
  readonly recordMs: number | null
  /** How long retention leaves it; Infinity: for ever. */
  readonly leftMs: number
  /** -1: nobody asked. Where the log ended when the commit was made that the present one is compared with. */
  readonly endThen: number
}

/** `level`: there is nothing to read. `unknown`: the commit to compare with is too young. */
export type Trend = (typeof LAG_TRENDS)[number]

export interface LagFigures {
  readonly startOffset: number
  readonly endOffset: number
  /** Records. */
  readonly lag: number
  /** How old the oldest of them is. */
  readonly lagMs: number
  readonly trend: Trend
  /** Null where it does not shrink, or that is not known. */
  readonly caughtUpInMs: number | null
  /** Until retention deletes the oldest of them; Infinity: never, or there is none. */
  readonly leftMs: number
}

/** Less time than this says nothing about a pace. */
const SPAN_MS_MIN = 5000
/** A change of a smaller share of the lag is none. */
const STEADY_SHARE = 0.01

/** See docs/lag.md for what each figure means. `nowMs` is the wall clock. */
export function lagFigures(standing: Standing, facts: PositionFacts, nowMs: number): LagFigures {
  const { startOffset, endOffset, recordMs } = facts
  const lag = Math.max(0, endOffset - Math.max(standing.offset, startOffset))
  const lagMs = lag === 0 || recordMs === null ? 0 : Math.max(0, nowMs - recordMs)
  const leftMs = lag === 0 ? Number.POSITIVE_INFINITY : facts.leftMs
  return { startOffset, endOffset, lag, lagMs, leftMs, ...paceOf(standing, facts, lag, nowMs) }
}

function paceOf(
  { sinceOffset, sinceMs }: Standing,
  { endThen }: PositionFacts,
  lag: number,
  nowMs: number,
): Pick<LagFigures, 'trend' | 'caughtUpInMs'> {
  if (lag === 0) return { trend: 'level', caughtUpInMs: null }
  const spanMs = nowMs - sinceMs
  if (endThen < 0 || spanMs < SPAN_MS_MIN) return { trend: 'unknown', caughtUpInMs: null }
  // Nobody commits beyond the end, whatever the timestamps of the records say.
  const change = lag - Math.max(0, endThen - sinceOffset)
  if (Math.abs(change) <= STEADY_SHARE * lag) return { trend: 'steady', caughtUpInMs: null }
  if (change > 0) return { trend: 'growing', caughtUpInMs: null }
  return { trend: 'shrinking', caughtUpInMs: Math.round((lag * spanMs) / -change) }
}
