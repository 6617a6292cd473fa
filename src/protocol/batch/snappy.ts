import { ByteReader } from '../../base/bytes.ts'
import { DecompressedTooLargeError, undecodable } from './codec-errors.ts'
import { snappy } from './native.ts'

/** 0x82 "SNAPPY" 0, then version and compatible version, both 1: how snappy-java begins a stream. */
const XERIAL_HEADER = Buffer.from('82534e41505059000000000100000001', 'hex')
const XERIAL_MAGIC_BYTES = 8
/** snappy-java's block size, which is what Kafka's Java clients write. */
const XERIAL_BLOCK_BYTES = 32 * 1024

/**
 * Snappy comes in two shapes: raw blocks (one per records section; some clients) and the "xerial" framing of snappy-java
 * (a header, then blocks each after its int32 length). Both are read.
 */
export function decompressSnappy(data: Buffer, maxBytes: number): Buffer {
  if (!startsXerial(data, 0)) return decompressBlock(data, maxBytes, maxBytes)
  const pieces: Buffer[] = []
  let left = maxBytes
  const reader = new ByteReader(data)
  while (reader.remaining > 0) {
    // A stream may be several, one after the other: the next one then begins where a length is due.
    if (startsXerial(data, reader.position)) {
      reader.skip(XERIAL_HEADER.length)
      continue
    }
    const length = reader.int32()
    const piece = decompressBlock(reader.bytes(length), left, maxBytes)
    left -= piece.length
    pieces.push(piece)
  }
  return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)
}

/** In the xerial framing, as the Java clients write and every client reads. */
export function compressSnappy(data: Buffer): Buffer {
  const pieces: Buffer[] = [XERIAL_HEADER]
  for (let at = 0; at < data.length; at += XERIAL_BLOCK_BYTES) {
    const block = snappy().compressSync(data.subarray(at, at + XERIAL_BLOCK_BYTES))
    const length = Buffer.allocUnsafe(4)
    length.writeInt32BE(block.length)
    pieces.push(length, block)
  }
  return Buffer.concat(pieces)
}

function startsXerial(data: Buffer, at: number): boolean {
  if (data.length - at < XERIAL_HEADER.length) return false
  return data.compare(XERIAL_HEADER, 0, XERIAL_MAGIC_BYTES, at, at + XERIAL_MAGIC_BYTES) === 0
}

/** A block begins with its decompressed length, so the limit is checked before anything is allocated. */
function decompressBlock(block: Buffer, left: number, maxBytes: number): Buffer {
  try {
    const bytes = new ByteReader(block).uvarint()
    if (bytes > left) throw new DecompressedTooLargeError('snappy', maxBytes)
    return snappy().uncompressSync(block) as Buffer
  } catch (cause) {
    throw cause instanceof DecompressedTooLargeError ? cause : undecodable('snappy', cause)
  }
}
