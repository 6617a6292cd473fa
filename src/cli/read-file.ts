import { closeSync, openSync, readSync } from 'node:fs'
import { formatBytes } from './quantity.ts'

/** No file of settings, offsets or results comes near it. */
export const TEXT_BYTES_MAX = 16 * 1024 * 1024
/** An index may be as large as `segment.index.bytes` says. */
export const BINARY_BYTES_MAX = 256 * 1024 * 1024
const CHUNK_BYTES = 64 * 1024

export class FileTooLargeError extends Error {
  override name = 'FileTooLargeError'
}

/**
 * All of a file that a command line names, which may be a pipe or a device that never ends: what a file says of its size is not
 * believed. Throws `FileTooLargeError` where it has more than `bytesMax`, and as `fs` does.
 */
export function readBytes(path: string, bytesMax = BINARY_BYTES_MAX): Buffer {
  const file = openSync(path, 'r')
  try {
    const chunks: Buffer[] = []
    for (let bytes = 0; ; ) {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
      const read = readSync(file, chunk)
      if (read === 0) return Buffer.concat(chunks)
      bytes += read
      if (bytes > bytesMax)
        throw new FileTooLargeError(`it has more than ${formatBytes(bytesMax)}, and no more is read`)
      chunks.push(chunk.subarray(0, read))
    }
  } finally {
    closeSync(file)
  }
}

export function readText(path: string, bytesMax = TEXT_BYTES_MAX): string {
  return readBytes(path, bytesMax).toString('utf8')
}
