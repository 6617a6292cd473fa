import type { Bytes, RecordOut } from '../../protocol.ts'
import { base64Of } from '../node/serve.ts'

type Fields = Pick<RecordOut, 'partition' | 'offset' | 'timestamp' | 'key' | 'value'>

/** Keys and values of any bytes, each record after a line that tells their lengths (-1 for null). */
export const readByLength = {
  format: '%p %o %T %K %S\n%k%s\n',

  /** The records that are whole, and what is left. */
  some(bytes: Buffer): { records: Fields[]; rest: Buffer } {
    const records: Fields[] = []
    let at = 0
    for (;;) {
      const newline = bytes.indexOf(10, at)
      if (newline < 0) break
      const [partition = 0, offset = 0, timestamp = 0, keyLength = 0, valueLength = 0] = bytes
        .toString('latin1', at, newline)
        .split(' ')
        .map(Number)
      const key = newline + 1
      const value = key + Math.max(keyLength, 0)
      const end = value + Math.max(valueLength, 0)
      if (end >= bytes.length) break
      const part = (from: number, length: number): Bytes =>
        length < 0 ? null : base64Of(bytes.subarray(from, from + length))
      records.push({ partition, offset, timestamp, key: part(key, keyLength), value: part(value, valueLength) })
      at = end + 1
    }
    return { records, rest: bytes.subarray(at) }
  },

  all(bytes: Buffer): Fields[] {
    const { records, rest } = this.some(bytes)
    if (rest.length > 0) throw new Error(`${rest.length} bytes after the last record`)
    return records
  },
}

interface Envelope {
  readonly partition: number
  readonly offset: number
  readonly tstype: 'create' | 'logappend' | 'unknown'
  readonly ts: number
  readonly headers?: readonly (string | null)[]
}

/** What it tells of records in JSON, keys and values left out: there they are text. */
export function readJson(output: Buffer): Omit<RecordOut, 'key' | 'value'>[] {
  const lines = output.toString().split('\n')
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const { partition, offset, ts, tstype, headers = [] } = JSON.parse(line) as Envelope
      const pairs = Array.from({ length: headers.length / 2 }, (_, i): [string, Bytes] => {
        const value = headers[2 * i + 1] ?? null
        return [headers[2 * i] ?? '', value === null ? null : base64Of(Buffer.from(value))]
      })
      return {
        partition,
        offset,
        timestamp: ts,
        timestampType: tstype === 'logappend' ? 'append' : 'create',
        headers: pairs,
      }
    })
}
