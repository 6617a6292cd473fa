import { MalformedError } from '../base/bytes.ts'
import { openRecords } from '../protocol/batch/records.ts'

/** The record of a control batch that ends a transaction in this partition. */
export interface TransactionMarker {
  readonly isAbort: boolean
  readonly coordinatorEpoch: number
}

const ABORT = 0
const COMMIT = 1
const KEY_BYTES_MIN = 4
const VALUE_BYTES_MIN = 6

/**
 * Null for control batches of other kinds and for one that compaction has emptied. Key: version int16, type int16.
 * Value: version int16, coordinator epoch int32.
 */
export function readMarker(buffer: Buffer, at: number): TransactionMarker | null {
  const cursor = openRecords(buffer, at)
  if (!cursor.next()) return null
  const [key, value] = [cursor.key(), cursor.value()]
  if (key === null || key.length < KEY_BYTES_MIN) throw new MalformedError('control record with a short key')
  const type = key.readInt16BE(2)
  if (type !== ABORT && type !== COMMIT) return null
  if (value === null || value.length < VALUE_BYTES_MIN) throw new MalformedError('marker with a short value')
  return { isAbort: type === ABORT, coordinatorEpoch: value.readInt32BE(2) }
}
