import { constants, gunzipSync, gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { MalformedError } from '../../base/bytes.ts'
import type { Codec } from './header.ts'
import { compressLz4, decompressLz4 } from './lz4.ts'
import { compressSnappy, decompressSnappy } from './snappy.ts'

/** Output is produced in pieces of this size: large enough that a usual batch takes a few. */
const CHUNK_BYTES = 64 * 1024

/**
 * The decompressed bytes of a records section, at most `maxBytes` of them. Throws `MalformedError` for broken input and
 * for more output than that, in both cases before the memory is spent. Runs on the caller's thread: `maxBytes` also
 * bounds how long it takes.
 */
export function decompress(codec: Codec, data: Buffer, maxBytes: number): Buffer {
  switch (codec) {
    case 'none':
      return data
    case 'gzip':
      return throughZlib(codec, maxBytes, () => gunzipSync(data, { maxOutputLength: maxBytes, chunkSize: CHUNK_BYTES }))
    case 'snappy':
      return decompressSnappy(data, maxBytes)
    case 'lz4':
      return decompressLz4(data, maxBytes)
    case 'zstd':
      return throughZlib(codec, maxBytes, () =>
        zstdDecompressSync(data, { maxOutputLength: maxBytes, chunkSize: CHUNK_BYTES }),
      )
  }
}

/** `level` within the codec's own range, its default when left out. snappy has none, and of lz4 only the default is at hand. */
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
      return zstdCompressSync(
        data,
        level === undefined ? {} : { params: { [constants.ZSTD_c_compressionLevel]: level } },
      )
  }
}

function throughZlib(codec: Codec, maxBytes: number, run: () => Buffer): Buffer {
  try {
    return run()
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code
    if (code === 'ERR_BUFFER_TOO_LARGE') {
      throw new MalformedError(`${codec}: decompresses to more than ${maxBytes} bytes`, { cause })
    }
    throw new MalformedError(`${codec}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}
