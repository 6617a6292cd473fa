/** A UTC time in the letters of C's strftime: `%Y %m %d %H %M %S %L (ms) %f (µs) %F %T %s %j %a %b %Z %z %%`. */
export function strftime(pattern: string, timestampMs: number): string {
  const date = new Date(timestampMs)
  if (Number.isNaN(date.getTime())) return String(timestampMs)
  const iso = date.toISOString()
  return pattern.replace(/%(.)/g, (whole, letter: string) => {
    switch (letter) {
      case 'Y':
        return String(date.getUTCFullYear())
      case 'm':
        return two(date.getUTCMonth() + 1)
      case 'd':
        return two(date.getUTCDate())
      case 'H':
        return two(date.getUTCHours())
      case 'M':
        return two(date.getUTCMinutes())
      case 'S':
        return two(date.getUTCSeconds())
      case 'L':
        return String(date.getUTCMilliseconds()).padStart(3, '0')
      case 'f':
        return String(date.getUTCMilliseconds() * 1000).padStart(6, '0')
      case 'F':
        return iso.slice(0, iso.indexOf('T'))
      case 'T':
        return iso.slice(iso.indexOf('T') + 1, -5)
      case 's':
        return String(Math.floor(timestampMs / 1000))
      case 'j':
        return String(dayOfYear(date)).padStart(3, '0')
      case 'a':
        return DAYS[date.getUTCDay()] as string
      case 'b':
        return MONTHS[date.getUTCMonth()] as string
      case 'Z':
        return 'UTC'
      case 'z':
        return '+0000'
      case '%':
        return '%'
      default:
        return whole
    }
  })
}

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

function two(value: number): string {
  return String(value).padStart(2, '0')
}

function dayOfYear(date: Date): number {
  return Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / 86_400_000) + 1
}
