import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import kafkajs from 'kafkajs'
import { compressFrameSync, decompressFrameSync } from 'lz4-napi'
import { compressSync, uncompressSync } from 'snappy'

interface Encoder {
  readonly buffer: Buffer
}

/** kafkajs itself knows gzip; the other codecs are plugged in as its users do. */
export function addCodecs(): void {
  const { CompressionCodecs, CompressionTypes } = kafkajs
  CompressionCodecs[CompressionTypes.Snappy] = codec((bytes) => compressSync(bytes), uncompressXerial)
  CompressionCodecs[CompressionTypes.LZ4] = codec(compressFrameSync, decompressFrameSync)
  CompressionCodecs[CompressionTypes.ZSTD] = codec(zstdCompressSync, zstdDecompressSync)
}

function codec(compress: (bytes: Buffer) => Buffer, decompress: (bytes: Buffer) => Buffer) {
  return () => ({
    compress: ({ buffer }: Encoder) => Promise.resolve(compress(buffer)),
    decompress: (bytes: Buffer) => Promise.resolve(decompress(bytes)),
  })
}

/** Java clients wrap snappy blocks in frames of their own; others send a raw block. */
function uncompressXerial(bytes: Buffer): Buffer {
  if (bytes.subarray(1, 7).toString('latin1') !== 'SNAPPY') return Buffer.from(uncompressSync(bytes))
  const blocks: Buffer[] = []
  for (let at = 16; at < bytes.length; ) {
    const length = bytes.readInt32BE(at)
    blocks.push(Buffer.from(uncompressSync(bytes.subarray(at + 4, at + 4 + length))))
    at += 4 + length
  }
  return Buffer.concat(blocks)
}
