import { readInt64 } from '../../src/base/bytes.ts'

/** Of a batch that its leader or its codec changed, what must be the same all the same. */
interface ReadBatch {
  readonly baseOffset: number
  readonly lastOffset: number
  readonly attributes: number
  readonly producer: string
  readonly timestamps: string
  readonly body: string
}

const TIMESTAMP_OF_APPENDING = 0x08

/**
 * The whole batches of an answer to Fetch. A server that cuts its answer in the middle of one is not told apart: clients
 * skip the piece.
 */
export function readBatches(pieces: readonly Buffer[]): ReadBatch[] {
  const bytes = Buffer.concat(pieces)
  const batches: ReadBatch[] = []
  for (let at = 0; at + 61 <= bytes.length; ) {
    const end = at + 12 + bytes.readInt32BE(at + 8)
    if (end > bytes.length) break
    batches.push(readBatch(bytes.subarray(at, end)))
    at = end
  }
  return batches
}

function readBatch(batch: Buffer): ReadBatch {
  const attributes = batch.readInt16BE(21)
  const baseOffset = readInt64(batch, 0)
  const stamped = (attributes & TIMESTAMP_OF_APPENDING) !== 0
  return {
    baseOffset,
    lastOffset: baseOffset + batch.readInt32BE(23),
    attributes,
    producer: `${batch.readInt16BE(51)} ${batch.readInt32BE(53)}`,
    timestamps: stamped ? 'of appending' : `${readInt64(batch, 27)} ${readInt64(batch, 35)}`,
    body: `epoch ${batch.readInt32BE(12)}, ${batch.readInt32BE(57)} records: ${batch.subarray(61).toString('hex')}`,
  }
}
