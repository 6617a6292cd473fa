import { batchBytes, checkBatchBounds, isControl, lastOffset } from '../../protocol/batch/header.ts'

export interface BatchPlace {
  readonly at: number
  readonly lastOffset: number
  readonly isControl: boolean
}

/** The batches in `bytes`, one after the other. Throws `MalformedError` on bytes that are no whole batches. */
export function* batchesOf(bytes: Buffer): Generator<BatchPlace, void> {
  for (let at = 0; at < bytes.length; ) {
    checkBatchBounds(bytes, at, bytes.length)
    yield { at, lastOffset: lastOffset(bytes, at), isControl: isControl(bytes, at) }
    at += batchBytes(bytes, at)
  }
}
