import { ByteReader, MalformedError } from '../base/bytes.ts'

/**
 * Array elements that one request may hold in all; of numbers, ten count as one. A frame is bounded in bytes, but a structure
 * of a few bytes on the wire takes some hundred in memory, and decoding holds the event loop: this bounds both, the
 * latter to a few ten milliseconds. A Fetch for 50,000 topics of one partition each fits.
 */
export const REQUEST_ELEMENTS_MAX = 100_000

/** A reader that also counts what the message makes us allocate. */
export class MessageReader extends ByteReader {
  #elementsLeft: number

  constructor(buffer: Buffer, position = 0, end: number = buffer.length, elementsMax: number = REQUEST_ELEMENTS_MAX) {
    super(buffer, position, end)
    this.#elementsLeft = elementsMax
  }

  /**
   * Called with an array's length before anything is allocated for it. Each element takes at least `bytes` on the wire
   * and counts as `weight` elements.
   */
  claim(count: number, { bytes, weight }: { readonly bytes: number; readonly weight: number }): void {
    if (count < 0) throw new MalformedError(`${count} elements`)
    if (count * bytes > this.remaining) {
      throw new MalformedError(`${count} elements of at least ${bytes} bytes, ${this.remaining} bytes left`)
    }
    if (count * weight > this.#elementsLeft) {
      throw new MalformedError(`${count} elements, the limit leaves ${Math.floor(this.#elementsLeft / weight)}`)
    }
    this.#elementsLeft -= count * weight
  }
}
