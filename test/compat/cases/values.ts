import assert from 'node:assert/strict'
import type { Failure, RecordIn, RecordOut } from '../protocol.ts'

/** For records of long ago: whichever moment a server looks for what it has kept too long, they stay. */
export const keptForEver = { 'retention.ms': '-1' } as const

/** Text as the bytes of an adapter's command. */
export function text(value: string): string {
  return Buffer.from(value).toString('base64')
}

export function record(key: string | null, value: string | null, more: Partial<RecordIn> = {}): RecordIn {
  return { key: key === null ? null : text(key), value: value === null ? null : text(value), headers: [], ...more }
}

/** `count` small records, told apart by key and value. */
export function numbered(count: number, more: (index: number) => Partial<RecordIn> = () => ({}), from = 0): RecordIn[] {
  return Array.from({ length: count }, (_, i) => record(`key-${from + i}`, `value-${from + i}`, more(from + i)))
}

/** What a record carries, without where and when it was written. */
export function contents({ key, value, headers }: RecordIn | RecordOut): Pick<RecordIn, 'key' | 'value' | 'headers'> {
  return { key, value, headers: headers.map(([name, bytes]) => [name, bytes] as const) }
}

/** The records, at offsets from `first` on, are those that were sent, in their order. */
export function assertRead(read: readonly RecordOut[], sent: readonly RecordIn[], first = 0): void {
  assert.deepEqual(read.map(contents), sent.map(contents))
  assert.deepEqual(
    read.map(({ offset }) => offset),
    sent.map((_, i) => first + i),
  )
}

/** Long values are told by their length. */
export function brief(records: readonly RecordOut[]): unknown[] {
  return records.map(({ partition, offset, key, value, headers }) => ({
    partition,
    offset,
    key,
    value: value !== null && value.length > 100 ? `${value.length} characters` : value,
    headers,
  }))
}

/** What of an error is compared. */
export function errorOf(failure: Failure | null): { name: string; code: number | null } | null {
  return failure === null ? null : { name: failure.name, code: failure.code }
}

export function byText<T>(what: (item: T) => string): (a: T, b: T) => number {
  return (a, b) => (what(a) < what(b) ? -1 : what(a) > what(b) ? 1 : 0)
}
