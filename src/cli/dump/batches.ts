import { type FileHandle, open } from 'node:fs/promises'
import { MalformedError } from '../../base/bytes.ts'
import { BATCH_HEADER_BYTES, batchBytes, LOG_OVERHEAD_BYTES } from '../../protocol/batch/header.ts'

const CHUNK_BYTES = 1024 * 1024
/** Larger than any batch a broker takes; a length beyond it is damage, not a batch. */
const BATCH_BYTES_MAX = 256 * 1024 * 1024

export interface BatchInFile {
  readonly position: number
  readonly batch: Buffer
}

/** The batches of a segment file in order, without holding the file in memory. A batch that is cut off ends it with an error. */
export async function* batchesInFile(path: string): AsyncGenerator<BatchInFile> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    let position = 0
    while (position < size) {
      const header = await readAt(file, position, Math.min(CHUNK_BYTES, size - position))
      if (header.length < BATCH_HEADER_BYTES) throw cut(position, size)
      let at = 0
      // All whole batches of this chunk.
      while (header.length - at >= BATCH_HEADER_BYTES) {
        const bytes = checkedLength(header, at, position + at)
        if (bytes > header.length - at) break
        yield { position: position + at, batch: header.subarray(at, at + bytes) }
        at += bytes
      }
      if (at > 0) {
        position += at
        continue
      }
      const bytes = checkedLength(header, 0, position)
      if (position + bytes > size) throw cut(position, size)
      yield { position, batch: await readAt(file, position, bytes) }
      position += bytes
    }
  } finally {
    await file.close()
  }
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length)
  const { bytesRead } = await file.read(buffer, 0, length, position)
  return buffer.subarray(0, bytesRead)
}

function checkedLength(buffer: Buffer, at: number, position: number): number {
  const bytes = batchBytes(buffer, at)
  if (bytes < BATCH_HEADER_BYTES || bytes > BATCH_BYTES_MAX) {
    throw new MalformedError(`batch length ${bytes - LOG_OVERHEAD_BYTES} at position ${position}`)
  }
  return bytes
}

function cut(position: number, size: number): MalformedError {
  return new MalformedError(`the batch at position ${position} is cut off: the file ends at ${size}`)
}
