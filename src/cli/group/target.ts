import { parseDuration, parseMoment } from '../records/time-text.ts'

/** Where a group is to go on. */
export type RewindTarget =
  | { readonly type: 'earliest' }
  | { readonly type: 'latest' }
  | { readonly type: 'time'; readonly timestampMs: number }
  | { readonly type: 'offset'; readonly offset: number }

/** `earliest`, `latest`, `2h` or `-2h` (that long ago), a moment, or an offset; null when it is none of these. */
export function parseTarget(text: string, nowMs: number): RewindTarget | null {
  if (text === 'earliest' || text === 'start') return { type: 'earliest' }
  if (text === 'latest' || text === 'end') return { type: 'latest' }
  const agoMs = parseDuration(text.replace(/^[-@]+/, ''))
  if (agoMs !== null) return { type: 'time', timestampMs: nowMs - agoMs }
  // Offsets have fewer digits than milliseconds since 1970: seconds are not taken, for they could be either.
  if (/^\d{1,12}$/.test(text)) return { type: 'offset', offset: Number(text) }
  const timestampMs = parseMoment(text)
  return timestampMs === null ? null : { type: 'time', timestampMs }
}
