import { MalformedError } from '../../base/bytes.ts'

/**
 * Walks a decompressed records section record by record and checks its structure as Kafka does: every length within
 * its parent, every record ending where its size says, nothing after the last. Makes no object per record: what `next`
 * found lies in the fields, as positions in `section`, until the next call.
 */
export class RecordCursor {
  readonly section: Buffer
  readonly count: number
  readonly #end: number
  #position: number
  /** Of the current record; -1 before the first. */
  index = -1
  /** First byte of the record, its length field included. */
  recordStart = 0
  recordEnd = 0
  timestampDelta = 0
  offsetDelta = 0
  /** -1 when the key is null. */
  keyLength = 0
  keyStart = 0
  /** -1 when the value is null. */
  valueLength = 0
  valueStart = 0
  headerCount = 0
  /** First byte after the header count. */
  headersStart = 0

  /** Over the bytes [start, end) of `section`, in which `count` records must lie. */
  constructor(section: Buffer, { start, end, count }: { start: number; end: number; count: number }) {
    this.section = section
    this.count = count
    this.#position = start
    this.#end = end
  }

  /** False after the last record. Throws `MalformedError`; the fields then mean nothing. */
  next(): boolean {
    if (this.index + 1 >= this.count) {
      if (this.#position !== this.#end) {
        throw new MalformedError(`${this.#end - this.#position} bytes after the last of ${this.count} records`)
      }
      return false
    }
    this.index += 1
    this.recordStart = this.#position
    const size = this.#varint(this.#end)
    const body = this.#position
    if (size < 0 || size > this.#end - body) {
      throw new MalformedError(`record ${this.index}: ${size} bytes claimed, ${this.#end - body} left`)
    }
    const end = body + size
    this.recordEnd = end
    this.#position = body + 1 // attributes: none are defined
    this.timestampDelta = this.#varlong(end)
    this.offsetDelta = this.#varint(end)
    this.keyLength = this.#varint(end)
    this.keyStart = this.#position
    this.#skip(this.keyLength, end)
    this.valueLength = this.#varint(end)
    this.valueStart = this.#position
    this.#skip(this.valueLength, end)
    this.headerCount = this.#varint(end)
    this.headersStart = this.#position
    if (this.headerCount !== 0) this.#skipHeaders(end)
    if (this.#position !== end) {
      throw new MalformedError(`record ${this.index}: ${end - this.#position} bytes after its last field`)
    }
    return true
  }

  key(): Buffer | null {
    return this.keyLength < 0 ? null : this.section.subarray(this.keyStart, this.keyStart + this.keyLength)
  }

  value(): Buffer | null {
    return this.valueLength < 0 ? null : this.section.subarray(this.valueStart, this.valueStart + this.valueLength)
  }

  #skipHeaders(end: number): void {
    if (this.headerCount < 0 || this.headerCount > end - this.#position) {
      throw new MalformedError(`record ${this.index}: ${this.headerCount} headers claimed`)
    }
    for (let header = 0; header < this.headerCount; header++) {
      const keyLength = this.#varint(end)
      if (keyLength < 0) throw new MalformedError(`record ${this.index}: header ${header} has no key`)
      this.#skip(keyLength, end)
      this.#skip(this.#varint(end), end)
    }
  }

  #skip(length: number, end: number): void {
    if (length > end - this.#position) {
      throw new MalformedError(`record ${this.index}: a field of ${length} bytes, ${end - this.#position} left`)
    }
    if (length > 0) this.#position += length
  }

  #varint(end: number): number {
    const { section } = this
    let at = this.#position
    // `section` ends at or after `end`; what is read from behind it is refused before it is used.
    const first = section[at] as number
    if (first < 0x80 && at < end) {
      this.#position = at + 1
      return (first >>> 1) ^ -(first & 1)
    }
    let raw = 0
    for (let shift = 0; shift < 35; shift += 7) {
      if (at >= end) break
      const byte = section[at++] as number
      if (shift === 28 && byte > 0x0f) break
      raw |= (byte & 0x7f) << shift
      if (byte < 0x80) {
        this.#position = at
        return (raw >>> 1) ^ -(raw & 1)
      }
    }
    throw new MalformedError(`record ${this.index}: a varint that is cut or longer than 32 bits`)
  }

  /** With the rounding of `ByteReader.varlong`. */
  #varlong(end: number): number {
    const { section } = this
    let at = this.#position
    let low = 0
    let middle = 0
    let high = 0
    for (let shift = 0; shift < 70; shift += 7) {
      if (at >= end) break
      const byte = section[at++] as number
      const bits = byte & 0x7f
      if (shift < 28) low |= bits << shift
      else if (shift < 56) middle |= bits << (shift - 28)
      else high |= bits << (shift - 56)
      if (shift === 63 && byte > 1) break
      if (byte < 0x80) {
        this.#position = at
        if (shift < 28) return (low >>> 1) ^ -(low & 1)
        const half = high * 2 ** 55 + middle * 2 ** 27 + (low >>> 1)
        return (low & 1) === 0 ? half : -half - 1
      }
    }
    throw new MalformedError(`record ${this.index}: a varlong that is cut or longer than 64 bits`)
  }
}
