import { parseDuration, parseMoment } from './time-text.ts'

/** One end of what is to be read, in one partition. */
export type OffsetBound =
  | { readonly type: 'start' }
  | { readonly type: 'end' }
  | { readonly type: 'exact'; readonly offset: number }
  /** So many records after the start of the log. */
  | { readonly type: 'after-start'; readonly count: number }
  /** So many records before its end. */
  | { readonly type: 'before-end'; readonly count: number }
  /** The first record not older than this. */
  | { readonly type: 'time'; readonly timestampMs: number }

export interface OffsetRange {
  readonly from: OffsetBound
  /** Exclusive; null reads on for ever. */
  readonly until: OffsetBound | null
}

const START: OffsetBound = { type: 'start' }
const END: OffsetBound = { type: 'end' }

/**
 * The offsets grammar of Redpanda's rpk, and `-10:end`, the last ten records:
 *
 *     start   end   :end   100   100:   :100   100:200   +10   -10   -10:end
 *     @T   @T:   @:T   @T1:T2     T: 13 digits (ms), 9 or 10 digits (s), 2026-01-31, 2026-01-31T12:00:00Z, -2h (ago);
 *                                 for T2 also: 1h (that much after T1), -1h (ago), end
 *
 * Null when `text` is not in it.
 */
export function parseOffsetRange(text: string, nowMs: number): OffsetRange | null {
  if (text === 'start' || text === 'earliest' || text === 'beginning') return { from: START, until: null }
  if (text === 'end' || text === 'latest') return { from: END, until: null }
  if (text === ':end') return { from: START, until: END }
  if (text.startsWith('@')) return parseTimeRange(text.slice(1), nowMs)
  const relative = /^([+-])(\d+)(:end)?$/.exec(text)
  if (relative !== null) {
    const count = Number(relative[2])
    const from: OffsetBound = relative[1] === '+' ? { type: 'after-start', count } : { type: 'before-end', count }
    return { from, until: relative[3] === undefined ? null : END }
  }
  const exact = /^(\d*)(:?)(\d*|end)$/.exec(text)
  if (exact === null || text === '' || text === ':') return null
  const [, first = '', colon = '', second = ''] = exact
  if (colon === '' && (first === '' || second !== '')) return null
  const until = second === '' ? null : second === 'end' ? END : exactly(second)
  return { from: first === '' ? START : exactly(first), until }
}

function exactly(digits: string): OffsetBound {
  return { type: 'exact', offset: Number(digits) }
}

function parseTimeRange(text: string, nowMs: number): OffsetRange | null {
  // A time of day holds colons too, so every one of them is tried as the separator.
  for (let at = text.indexOf(':'); at >= 0; at = text.indexOf(':', at + 1)) {
    const range = timeRange(text.slice(0, at), text.slice(at + 1), nowMs)
    if (range !== null) return range
  }
  return timeRange(text, '', nowMs)
}

function timeRange(first: string, second: string, nowMs: number): OffsetRange | null {
  const startMs = first === '' ? null : momentOrAgo(first, nowMs)
  if (first !== '' && startMs === null) return null
  if (first === '' && second === '') return null
  const from: OffsetBound = startMs === null ? START : { type: 'time', timestampMs: startMs }
  if (second === '') return { from, until: null }
  if (second === 'end') return { from, until: END }
  const lengthMs = startMs === null ? null : parseDuration(second)
  const endMs = lengthMs !== null ? (startMs as number) + lengthMs : momentOrAgo(second, nowMs)
  return endMs === null ? null : { from, until: { type: 'time', timestampMs: endMs } }
}

function momentOrAgo(text: string, nowMs: number): number | null {
  if (!text.startsWith('-')) return parseMoment(text)
  const agoMs = parseDuration(text.slice(1))
  return agoMs === null ? null : nowMs - agoMs
}
