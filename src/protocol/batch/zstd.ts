import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { throughZlib } from './codec-errors.ts'
import { outputChunkBytes } from './decompressed.ts'

/** Node's function stops after the first frame and says how much it took; the ones after it are read here. */
export function decompressZstd(data: Buffer, maxBytes: number): Buffer {
  const pieces: Buffer[] = []
  let left = maxBytes
  let at = 0
  do {
    const rest = data.subarray(at)
    const options = { maxOutputLength: Math.max(left, 1), chunkSize: outputChunkBytes(rest), info: true }
    const { buffer, engine } = throughZlib(
      'zstd',
      maxBytes,
      () => zstdDecompressSync(rest, options) as unknown as WithInfo,
    )
    pieces.push(buffer)
    left -= buffer.length
    at += engine.bytesWritten
  } while (at < data.length)
  return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)
}

export function compressZstd(data: Buffer, level?: number): Buffer {
  return zstdCompressSync(data, level === undefined ? {} : { params: { [constants.ZSTD_c_compressionLevel]: level } })
}

/** What the option `info` gives; the declarations of Node do not know it. `bytesWritten` counts what went in. */
interface WithInfo {
  readonly buffer: Buffer
  readonly engine: { readonly bytesWritten: number }
}
