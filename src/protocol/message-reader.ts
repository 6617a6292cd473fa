import { ByteReader, MalformedError } from '../base/bytes.ts'

/**
 * Array elements that one message may hold in all. A frame is bounded in bytes, but a structure of a few bytes on the wire
 * takes some hundred in memory, and decoding holds the event loop: this bounds both. A Fetch for 300,000 partitions fits.
 */
export const MESSAGE_ELEMENTS_MAX = 1_000_000

/** A reader that also counts what the message makes us allocate. */
export class MessageReader extends ByteReader {
  #elementsLeft: number

  constructor(buffer: Buffer, position = 0, end: number = buffer.length, elementsMax: number = MESSAGE_ELEMENTS_MAX) {
    super(buffer, position, end)
    this.#elementsLeft = elementsMax
  }

  /** Called with an array's length before anything is allocated for it; each element takes at least `elementBytes`. */
  claim(count: number, elementBytes: number): void {
    if (count < 0) throw new MalformedError(`${count} elements`)
    if (count * elementBytes > this.remaining) {
      throw new MalformedError(`${count} elements of at least ${elementBytes} bytes, ${this.remaining} bytes left`)
    }
    if (count > this.#elementsLeft)
      throw new MalformedError(`${count} elements, the limit leaves ${this.#elementsLeft}`)
    this.#elementsLeft -= count
  }
}
