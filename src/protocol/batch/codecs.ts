import { gunzipSync, gzipSync } from 'node:zlib'
import { throughZlib } from './codec-errors.ts'
import { outputChunkBytes } from './decompressed.ts'
import type { Codec } from './header.ts'
import { compressLz4, decompressLz4 } from './lz4.ts'
import { compressSnappy, decompressSnappy } from './snappy.ts'
import { compressZstd, decompressZstd } from './zstd.ts'

/**
 * The decompressed bytes of a records section, at most `maxBytes` of them. Throws `MalformedError` for broken input and
 * `DecompressedTooLargeError` for more output than that, in both cases before the memory is spent. Runs on the caller's
 * thread: `maxBytes` also bounds how long it takes. Who has done with the bytes before others see them may `discard` them.
 */
export function decompress(codec: Codec, data: Buffer, maxBytes: number): Buffer {
  switch (codec) {
    case 'none':
      return data
    case 'gzip':
      return throughZlib(codec, maxBytes, () =>
        gunzipSync(data, { maxOutputLength: Math.max(maxBytes, 1), chunkSize: outputChunkBytes(data) }),
      )
    case 'snappy':
      return decompressSnappy(data, maxBytes)
    case 'lz4':
      return decompressLz4(data, maxBytes)
    case 'zstd':
      return decompressZstd(data, maxBytes)
  }
}

/** `level` within the codec's own range, its default when left out. snappy and our lz4 have no levels and ignore it. */
export function compress(codec: Codec, data: Buffer, level?: number): Buffer {
  switch (codec) {
    case 'none':
      return data
    case 'gzip':
      return gzipSync(data, level === undefined ? {} : { level })
    case 'snappy':
      return compressSnappy(data)
    case 'lz4':
      return compressLz4(data)
    case 'zstd':
      return compressZstd(data, level)
  }
}
