import { CommandFailure } from './tool.ts'

/** `2026-01-31T12:00:00.000`, UTC unless a zone follows, as Kafka's tools read it: milliseconds since 1970. */
export function momentMs(text: string): number {
  if (!text.includes('T'))
    throw parseFailure("Error parsing timestamp. It does not contain a 'T' according to ISO8601 format")
  const [day = '', time = ''] = text.split('T')
  const zoned = /[+-]|Z$/.test(time) ? text : `${day}T${time}Z`
  const match = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3})(Z|[+-]\d{2}(?::?\d{2})?)$/.exec(zoned)
  const zone = (match?.[2] ?? 'Z').replace(
    /^([+-]\d{2}):?(\d{2})?$/,
    (_, hours: string, minutes = '00') => `${hours}:${minutes}`,
  )
  const moment = match === null ? Number.NaN : Date.parse(`${match[1]}${zone}`)
  if (Number.isNaN(moment)) throw parseFailure(`Unparseable date: "${zoned}"`)
  return moment
}

function parseFailure(text: string): CommandFailure {
  return new CommandFailure(`java.text.ParseException: ${text}`)
}

/** `PnDTnHnMnS`, in milliseconds. */
export function durationMs(text: string): number {
  const match = /^([+-])?P(?:([+-]?\d+)D)?(T(?:([+-]?\d+)H)?(?:([+-]?\d+)M)?(?:([+-]?\d+(?:[.,]\d{0,9})?)S)?)?$/i.exec(
    text,
  )
  const [, sign, days, time, hours, minutes, seconds] = match ?? []
  const isEmpty = [days, hours, minutes, seconds].every((part) => part === undefined) || time === 'T'
  if (match === null || isEmpty) throw new CommandFailure('Text cannot be parsed to a Duration')
  const amount = (part: string | undefined) => Number((part ?? '0').replace(',', '.'))
  const total = ((amount(days) * 24 + amount(hours)) * 60 + amount(minutes)) * 60 + amount(seconds)
  return Math.round(total * 1000) * (sign === '-' ? -1 : 1)
}
