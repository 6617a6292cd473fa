import { ByteReader, ByteWriter } from '../base/bytes.ts'

/** A transaction that was aborted, as `.txnindex` holds it. */
export interface AbortedTransaction {
  readonly producerId: number
  readonly firstOffset: number
  /** Of the marker. */
  readonly lastOffset: number
  /** The last stable offset once this marker was written: later entries concern only what lies beyond it. */
  readonly lastStableOffset: number
}

const VERSION = 0
export const TXN_INDEX_ENTRY_BYTES = 34

export function encodeAborted(transactions: readonly AbortedTransaction[]): Buffer {
  const writer = new ByteWriter(transactions.length * TXN_INDEX_ENTRY_BYTES)
  for (const { producerId, firstOffset, lastOffset, lastStableOffset } of transactions) {
    writer.int16(VERSION)
    writer.int64(producerId)
    writer.int64(firstOffset)
    writer.int64(lastOffset)
    writer.int64(lastStableOffset)
  }
  return writer.toBuffer()
}

/** Null when it is not a whole index of the segment [baseOffset, endOffset): the caller scans the segment instead. */
export function decodeAborted(
  content: Buffer,
  { baseOffset, endOffset }: { baseOffset: number; endOffset: number },
): AbortedTransaction[] | null {
  if (content.length % TXN_INDEX_ENTRY_BYTES !== 0) return null
  const reader = new ByteReader(content)
  const result: AbortedTransaction[] = []
  let lastMarker = baseOffset - 1
  while (reader.remaining > 0) {
    if (reader.int16() !== VERSION) return null
    const transaction = {
      producerId: reader.int64(),
      firstOffset: reader.int64(),
      lastOffset: reader.int64(),
      lastStableOffset: reader.int64(),
    }
    const { firstOffset, lastOffset } = transaction
    if (lastOffset <= lastMarker || lastOffset >= endOffset || firstOffset > lastOffset || firstOffset < 0) return null
    lastMarker = lastOffset
    result.push(transaction)
  }
  return result
}
