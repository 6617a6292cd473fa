/** Prefixes as the makers of disks and networks use them: powers of ten. */
const PREFIXES = ['', 'k', 'M', 'G', 'T', 'P', 'E'] as const

/** No workload has more of anything. */
export const QUANTITY_MAX = 1e18

/** `2M`, `1KB`, `24TB`, `150MB/s`: a number with a decimal prefix, whatever unit follows; null when it is none, not above zero, or above the maximum. */
export function parseQuantity(text: string): number | null {
  const match = /^\s*(\d+(?:\.\d+)?|\.\d+)\s*([kmgtpe]?)(?:b(?:ytes?)?)?(?:\/s)?\s*$/i.exec(text)
  if (match === null) return null
  const power = PREFIXES.findIndex((prefix) => prefix.toLowerCase() === (match[2] ?? '').toLowerCase())
  const value = Number(match[1]) * 1000 ** power
  return value > 0 && value <= QUANTITY_MAX ? value : null
}

/** `1.8 PB`, `150 MB/s`, `2 M/s`: two digits that count, or all before the point. */
export function formatQuantity(value: number, unit: string): string {
  let power = 0
  let scaled = value
  while (scaled >= 999.5 && power < PREFIXES.length - 1) {
    scaled /= 1000
    power++
  }
  const digits = scaled >= 100 ? String(Math.round(scaled)) : String(Number(scaled.toPrecision(2)))
  return `${digits} ${PREFIXES[power]}${unit}`.trimEnd()
}
