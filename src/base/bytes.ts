import { bug } from './assert.ts'

/**
 * Input that breaks its own format: a length past the end, an impossible value. Thrown by everything that decodes
 * and caught at the edge (a connection, a file reader), which answers with the protocol's own error or closes.
 */
export class MalformedError extends Error {
  override name = 'MalformedError'
}

const TWO_32 = 2 ** 32
const INT64_MAX = 2 ** 63

/**
 * A cursor over bytes that someone else owns. Nothing is copied: `bytes` returns a view. Every read checks what is
 * left first, so no length taken from the input can allocate or read past the end.
 */
export class ByteReader {
  readonly buffer: Buffer
  position: number
  readonly end: number

  constructor(buffer: Buffer, position = 0, end: number = buffer.length) {
    if (!(position >= 0 && position <= end && end <= buffer.length))
      bug(`reader [${position}, ${end}) of ${buffer.length}`)
    this.buffer = buffer
    this.position = position
    this.end = end
  }

  get remaining(): number {
    return this.end - this.position
  }

  /** Moves past `length` bytes and returns where they began. */
  skip(length: number): number {
    const start = this.position
    if (length < 0 || length > this.end - start) {
      throw new MalformedError(`${length} bytes wanted at ${start}, ${this.end - start} left`)
    }
    this.position = start + length
    return start
  }

  int8(): number {
    return this.buffer.readInt8(this.skip(1))
  }

  int16(): number {
    return this.buffer.readInt16BE(this.skip(2))
  }

  uint16(): number {
    return this.buffer.readUInt16BE(this.skip(2))
  }

  int32(): number {
    return this.buffer.readInt32BE(this.skip(4))
  }

  uint32(): number {
    return this.buffer.readUInt32BE(this.skip(4))
  }

  /**
   * An int64 as a number: exact within ±2^53, the nearest double beyond (so the ends of the range, which Kafka uses as
   * "unlimited", come back as themselves from `ByteWriter.int64`).
   */
  int64(): number {
    const at = this.skip(8)
    return this.buffer.readInt32BE(at) * TWO_32 + this.buffer.readUInt32BE(at + 4)
  }

  float64(): number {
    return this.buffer.readDoubleBE(this.skip(8))
  }

  /** Unsigned LEB128 of at most 32 bits (Kafka's UNSIGNED_VARINT). */
  uvarint(): number {
    let value = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.buffer[this.skip(1)] as number
      if (shift === 28 && byte > 0x0f) break
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
    throw new MalformedError(`varint longer than 32 bits before ${this.position}`)
  }

  /** Zig-zag int32. */
  varint(): number {
    const raw = this.uvarint()
    return (raw >>> 1) ^ -(raw & 1)
  }

  /** Zig-zag int64 as a number, with the rounding of `int64`. */
  varlong(): number {
    let low = 0 // bits 0 to 27
    let middle = 0 // bits 28 to 55
    let high = 0 // bits 56 to 63
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.buffer[this.skip(1)] as number
      const bits = byte & 0x7f
      if (shift < 28) low |= bits << shift
      else if (shift < 56) middle |= bits << (shift - 28)
      else high |= bits << (shift - 56)
      if (shift === 63 && byte > 1) break
      if (byte < 0x80) {
        const half = (high * 2 ** 55 + middle * 2 ** 27 + (low >>> 1)) as number
        return (low & 1) === 0 ? half : -half - 1
      }
    }
    throw new MalformedError(`varlong longer than 64 bits before ${this.position}`)
  }

  /** A view of the next `length` bytes, not a copy. */
  bytes(length: number): Buffer {
    const start = this.skip(length)
    return this.buffer.subarray(start, start + length)
  }

  /** `length` bytes as text; not strict: broken UTF-8 becomes U+FFFD. */
  utf8(length: number): string {
    const start = this.skip(length)
    return this.buffer.toString('utf8', start, start + length)
  }
}

/**
 * Grows by chunks. Large byte strings can be added by reference: `finish` then returns several buffers for one
 * gathered write, in which the record bytes are never copied.
 */
export class ByteWriter {
  #done: Buffer[] = []
  #doneLength = 0
  #buffer: Buffer
  #start = 0
  #position = 0

  constructor(sizeHint = 256) {
    this.#buffer = Buffer.allocUnsafe(sizeHint)
  }

  /** Bytes written so far, those by reference included. */
  get length(): number {
    return this.#doneLength + this.#position - this.#start
  }

  #reserve(length: number): number {
    const at = this.#position
    if (at + length > this.#buffer.length) this.#grow(length)
    const start = this.#position
    this.#position = start + length
    return start
  }

  #grow(length: number): void {
    const used = this.#position - this.#start
    const next = Buffer.allocUnsafe(Math.max((used + length) * 2, 256))
    this.#buffer.copy(next, 0, this.#start, this.#position)
    this.#buffer = next
    this.#start = 0
    this.#position = used
  }

  int8(value: number): void {
    if (!(value >= -0x80 && value <= 0x7f)) bug(`int8 ${value}`)
    const at = this.#reserve(1)
    this.#buffer[at] = value & 0xff
  }

  int16(value: number): void {
    const at = this.#reserve(2)
    this.#buffer.writeInt16BE(value, at)
  }

  uint16(value: number): void {
    const at = this.#reserve(2)
    this.#buffer.writeUInt16BE(value, at)
  }

  int32(value: number): void {
    const at = this.#reserve(4)
    this.#buffer.writeInt32BE(value, at)
  }

  uint32(value: number): void {
    const at = this.#reserve(4)
    this.#buffer.writeUInt32BE(value, at)
  }

  /** Takes integers; beyond ±2^63 they become the nearest end of the range (see `ByteReader.int64`). */
  int64(value: number): void {
    const at = this.#reserve(8)
    writeInt64(this.#buffer, value, at)
  }

  float64(value: number): void {
    const at = this.#reserve(8)
    this.#buffer.writeDoubleBE(value, at)
  }

  uvarint(value: number): void {
    if (!(value >= 0 && value < TWO_32)) bug(`uvarint ${value}`)
    let at = this.#reserve(uvarintSize(value))
    let rest = value >>> 0
    while (rest >= 0x80) {
      this.#buffer[at++] = (rest & 0x7f) | 0x80
      rest >>>= 7
    }
    this.#buffer[at] = rest
  }

  /** Zig-zag int32. */
  varint(value: number): void {
    this.uvarint(((value << 1) ^ (value >> 31)) >>> 0)
  }

  /** Zig-zag int64. */
  varlong(value: number): void {
    let rest = value < 0 ? BigInt(value) * -2n - 1n : BigInt(value) * 2n
    while (rest >= 0x80n) {
      this.int8Unchecked(Number(rest & 0x7fn) | 0x80)
      rest >>= 7n
    }
    this.int8Unchecked(Number(rest))
  }

  private int8Unchecked(byte: number): void {
    const at = this.#reserve(1)
    this.#buffer[at] = byte
  }

  /** Copies. */
  bytes(value: Uint8Array): void {
    const at = this.#reserve(value.length)
    this.#buffer.set(value, at)
  }

  /** Keeps `value` itself: its owner must not change it until what `finish` returned has been sent or written. */
  bytesByReference(value: Buffer): void {
    if (value.length < 512) {
      this.bytes(value)
      return
    }
    this.#cut()
    this.#done.push(value)
    this.#doneLength += value.length
  }

  /** Writes the bytes of `value` and returns their number. */
  utf8(value: string): number {
    const length = utf8Length(value)
    const at = this.#reserve(length)
    // As many bytes as characters: plain ASCII.
    if (length > SHORT_TEXT || length !== value.length) this.#buffer.write(value, at, length)
    else for (let i = 0; i < length; i++) this.#buffer[at + i] = value.charCodeAt(i)
    return length
  }

  /** Overwrites an int32 written before. Only within the bytes written since the last `bytesByReference`. */
  patchInt32(at: number, value: number): void {
    const index = at - this.#doneLength + this.#start
    if (!(index >= this.#start && index + 4 <= this.#position)) bug(`patch at ${at} of ${this.length}`)
    this.#buffer.writeInt32BE(value, index)
  }

  #cut(): void {
    if (this.#position === this.#start) return
    this.#done.push(this.#buffer.subarray(this.#start, this.#position))
    this.#doneLength += this.#position - this.#start
    this.#start = this.#position
  }

  /** The pieces in order. The writer must not be used afterwards. */
  finish(): Buffer[] {
    this.#cut()
    return this.#done
  }

  /** All in one buffer; copies when there is more than one piece. */
  toBuffer(): Buffer {
    const pieces = this.finish()
    return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)
  }
}

/** Names are short and plain: going over one here costs less than a call into Node. */
const SHORT_TEXT = 64

/** Bytes of a text as UTF-8. */
export function utf8Length(text: string): number {
  const { length } = text
  if (length > SHORT_TEXT) return Buffer.byteLength(text)
  for (let i = 0; i < length; i++) if (text.charCodeAt(i) > 0x7f) return Buffer.byteLength(text)
  return length
}

/** Bytes that `ByteWriter.uvarint` takes for `value`, 1 to 5. */
export function uvarintSize(value: number): number {
  if (value < 0x80) return 1
  if (value < 0x4000) return 2
  if (value < 0x200000) return 3
  return value < 0x10000000 ? 4 : 5
}

/** Writes `value` big-endian at `at`; beyond ±2^63 the nearest end of the range. */
export function writeInt64(buffer: Buffer, value: number, at: number): void {
  if (value >= INT64_MAX) {
    buffer.writeInt32BE(0x7fffffff, at)
    buffer.writeUInt32BE(0xffffffff, at + 4)
    return
  }
  if (value <= -INT64_MAX) {
    buffer.writeInt32BE(-0x80000000, at)
    buffer.writeUInt32BE(0, at + 4)
    return
  }
  const high = Math.floor(value / TWO_32)
  buffer.writeInt32BE(high, at)
  buffer.writeUInt32BE(value - high * TWO_32, at + 4)
}

/** Reads an int64 at `at` with the rounding of `ByteReader.int64`. */
export function readInt64(buffer: Buffer, at: number): number {
  return buffer.readInt32BE(at) * TWO_32 + buffer.readUInt32BE(at + 4)
}

/**
 * A copy for whoever keeps it for long, in memory of its own: one from Node's pool would be a part of 64 KB that stay alive
 * with it, whatever else lay there.
 */
export function keptCopy(bytes: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  copy.set(bytes)
  return copy
}
