import { MalformedError } from '../../base/bytes.ts'
import { DecompressedTooLargeError, undecodable } from './codec-errors.ts'
import { lz4 } from './native.ts'

const FRAME_MAGIC = 0x184d2204
/** A sequence of n bytes cannot become more than about 255 n bytes. */
const EXPANSION_MAX = 255
const UNCOMPRESSED_BLOCK = 0x80000000

/**
 * LZ4 frames (lz4_Frame_format.md). The native decoder reads the first of several concatenated frames only and knows no
 * limit, so the frames are cut apart here and the size of each is bounded before it is decoded: from the block
 * headers alone when that suffices, else by walking the sequences without producing anything.
 */
export function decompressLz4(data: Buffer, maxBytes: number): Buffer {
  const pieces: Buffer[] = []
  let left = maxBytes
  let at = 0
  do {
    const frame = measureFrame(data, at)
    if (frame.bytesBound > left && exactFrameBytes(data, frame) > left) {
      throw new DecompressedTooLargeError('lz4', maxBytes)
    }
    const piece = decodeFrame(data.subarray(at, frame.end))
    pieces.push(piece)
    left -= piece.length
    at = frame.end
  } while (at < data.length)
  return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)
}

/** One frame of independent blocks, which is all that Java clients read. */
export function compressLz4(data: Buffer): Buffer {
  return lz4().compressFrameSync(data)
}

function decodeFrame(frame: Buffer): Buffer {
  try {
    return lz4().decompressFrameSync(frame)
  } catch (cause) {
    throw undecodable('lz4', cause)
  }
}

interface Frame {
  readonly blocksAt: number
  readonly end: number
  readonly blockChecksumBytes: number
  /** No block decodes to more; 64 KiB to 4 MiB. */
  readonly blockBytesMax: number
  /** The frame decodes to at most this many bytes. */
  readonly bytesBound: number
}

function measureFrame(data: Buffer, at: number): Frame {
  if (data.length - at < 7) throw new MalformedError(`lz4: ${data.length - at} bytes are no frame`)
  if (data.readUInt32LE(at) !== FRAME_MAGIC) throw new MalformedError(`lz4: no frame magic at ${at}`)
  const flags = data[at + 4] as number
  if (flags >> 6 !== 1) throw new MalformedError(`lz4: frame version ${flags >> 6}, only 1 is known`)
  const sizeCode = ((data[at + 5] as number) >> 4) & 7
  if (sizeCode < 4) throw new MalformedError(`lz4: block size code ${sizeCode}`)
  const blockBytesMax = 2 ** (2 * sizeCode + 8)
  const contentSizeBytes = flags & 0x08 ? 8 : 0
  const dictionaryIdBytes = flags & 0x01 ? 4 : 0
  const blockChecksumBytes = flags & 0x10 ? 4 : 0
  const contentChecksumBytes = flags & 0x04 ? 4 : 0
  const blocksAt = at + 7 + contentSizeBytes + dictionaryIdBytes
  let position = blocksAt
  let bytesBound = 0
  for (;;) {
    if (position + 4 > data.length) throw new MalformedError('lz4: frame without its end mark')
    const word = data.readUInt32LE(position)
    position += 4
    if (word === 0) break
    const stored = word >= UNCOMPRESSED_BLOCK
    const bytes = stored ? word - UNCOMPRESSED_BLOCK : word
    if (bytes > data.length - position) throw new MalformedError(`lz4: block of ${bytes} bytes does not fit`)
    position += bytes + blockChecksumBytes
    bytesBound += Math.min(stored ? bytes : bytes * EXPANSION_MAX, blockBytesMax)
  }
  const end = position + contentChecksumBytes
  if (end > data.length) throw new MalformedError('lz4: frame cut in its checksum')
  return { blocksAt, end, blockChecksumBytes, blockBytesMax, bytesBound }
}

/** What the blocks say they decode to, by their sequences' lengths. */
function exactFrameBytes(data: Buffer, frame: Frame): number {
  let total = 0
  let at = frame.blocksAt
  for (;;) {
    const word = data.readUInt32LE(at)
    at += 4
    if (word === 0) return total
    const stored = word >= UNCOMPRESSED_BLOCK
    const bytes = stored ? word - UNCOMPRESSED_BLOCK : word
    total += stored ? bytes : exactBlockBytes(data, at, at + bytes)
    at += bytes + frame.blockChecksumBytes
  }
}

function exactBlockBytes(data: Buffer, start: number, end: number): number {
  let total = 0
  let at = start
  while (at < end) {
    const token = data[at++] as number
    let literals = token >> 4
    if (literals === 15) {
      let more: number
      do {
        if (at >= end) throw new MalformedError('lz4: block cut in a length')
        more = data[at++] as number
        literals += more
      } while (more === 255)
    }
    total += literals
    at += literals
    if (at >= end) break // the last sequence has literals only
    at += 2
    let match = (token & 0x0f) + 4
    if (match === 19) {
      let more: number
      do {
        if (at >= end) throw new MalformedError('lz4: block cut in a length')
        more = data[at++] as number
        match += more
      } while (more === 255)
    }
    total += match
  }
  return total
}
