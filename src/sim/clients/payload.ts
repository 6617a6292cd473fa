import { Random } from '../../base/random.ts'
import type { RecordHeader, RecordToBuild } from '../../protocol/batch/build.ts'
import type { BatchRecord } from '../../protocol/batch/records.ts'
import { digestOf as digestOfBytes, digestOfName } from '../core/digest.ts'

export interface Payload extends RecordToBuild {
  readonly key: Buffer
  readonly value: Buffer
  readonly headers: readonly RecordHeader[]
  readonly timestampMs: number
}

const EMPTY = Buffer.alloc(0)
const PADDING_BYTES_MAX = 4000
/** Noise that values are cut from: drawing every byte anew would cost more than the broker does. */
const NOISE = new Random(1).bytes(64 * 1024)

/** A record that names itself: its id begins the value, up to a `|`. */
export function payloadOf(id: string, key: string, random: Random, timestampMs: number): Payload {
  const padding = random.below(random.chance(0.1) ? PADDING_BYTES_MAX : 120)
  const headers = random.chance(0.2) ? [{ key: 'h', value: noise(random, random.below(20)) }] : []
  const value = Buffer.allocUnsafe(id.length + 1 + padding)
  value.write(`${id}|`, 'latin1')
  value.set(noise(random, padding), id.length + 1)
  return { key: Buffer.from(key), value, headers, timestampMs }
}

function noise(random: Random, bytes: number): Buffer {
  const from = random.below(NOISE.length - PADDING_BYTES_MAX)
  return NOISE.subarray(from, from + bytes)
}

/** Of everything a reader must get back as it was sent. */
export function digestOf(record: Pick<BatchRecord, 'key' | 'value' | 'headers' | 'timestampMs'>): number {
  let digest = digestOfBytes(record.value ?? EMPTY, digestOfBytes(record.key ?? EMPTY, record.timestampMs % 2 ** 32))
  for (const { key, value } of record.headers) digest = digestOfBytes(value ?? EMPTY, digest ^ digestOfName(key))
  return digest
}
