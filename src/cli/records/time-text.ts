const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  hr: 3_600_000,
  d: 86_400_000,
}

/** `1h30m`, `250ms`, `7d` in milliseconds; null when `text` is no duration. */
export function parseDuration(text: string): number | null {
  if (!/^(\d+(\.\d+)?(ms|s|min|m|hr|h|d))+$/.test(text)) return null
  let total = 0
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|min|m|hr|h|d)/g)) {
    total += Number(amount) * (UNIT_MS[unit as string] as number)
  }
  return Math.round(total)
}

/**
 * A moment as milliseconds since 1970: 13 digits are milliseconds, 9 or 10 digits seconds, else a day (`2026-01-31`) or
 * a time (`2026-01-31T12:00:00Z`, with or without a fraction), both UTC. Null when it is none of these.
 */
export function parseMoment(text: string): number | null {
  if (/^\d{13}$/.test(text)) return Number(text)
  if (/^\d{9,10}$/.test(text)) return Number(text) * 1_000
  if (!/^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?)?$/.test(text)) return null
  const zoned = /T/.test(text) && !/(Z|[+-]\d{2}:\d{2})$/.test(text) ? `${text}Z` : text
  const moment = Date.parse(zoned)
  return Number.isNaN(moment) ? null : moment
}

/** `3d 4h`, `12m 5s`, `830ms`: the two largest units of a duration. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}ms`
  const parts: string[] = []
  let rest = Math.round(ms / 1_000)
  for (const [unit, seconds] of [
    ['d', 86_400],
    ['h', 3_600],
    ['m', 60],
    ['s', 1],
  ] as const) {
    const amount = Math.floor(rest / seconds)
    rest -= amount * seconds
    if (amount > 0 && parts.length < 2) parts.push(`${amount}${unit}`)
  }
  return parts.join(' ')
}
