import { takeBlock } from '../base/blocks.ts'
import { ProtocolError } from './errors.ts'

const SIZE_BYTES = 4
/** Larger than any answer a server should give; a greater number is not a size but something else entirely. */
const FRAME_BYTES_MAX = 512 * 1024 * 1024

/** From here on a frame has a block of its own, rather than a part of the pool that Node keeps for small buffers. */
const BLOCK_BYTES_MIN = 4096

/**
 * Puts frames together out of the chunks of a connection. Copies once: the chunks do not stay. A large frame lies in a
 * block, which its receiver may let go of when it has done with it (`base/blocks.ts`); if not, the garbage collector does.
 */
export class FrameAssembler {
  readonly #size = Buffer.alloc(SIZE_BYTES)
  #sizeFilled = 0
  #frame: Buffer | null = null
  #filled = 0

  /** Calls `onFrame` for every frame that the chunk completes. Throws `ProtocolError` on an impossible size. */
  add(chunk: Buffer, onFrame: (frame: Buffer) => void): void {
    let at = 0
    while (at < chunk.length) {
      if (this.#frame === null) {
        const copied = chunk.copy(this.#size, this.#sizeFilled, at, at + SIZE_BYTES - this.#sizeFilled)
        this.#sizeFilled += copied
        at += copied
        if (this.#sizeFilled < SIZE_BYTES) return
        const size = this.#checkedSize()
        this.#frame = size < BLOCK_BYTES_MIN ? Buffer.allocUnsafe(size) : takeBlock(size)
        this.#filled = 0
        this.#sizeFilled = 0
      }
      const copied = chunk.copy(this.#frame, this.#filled, at)
      this.#filled += copied
      at += copied
      if (this.#filled === this.#frame.length) {
        const frame = this.#frame
        this.#frame = null
        onFrame(frame)
      }
    }
  }

  #checkedSize(): number {
    const size = this.#size.readInt32BE(0)
    if (size < SIZE_BYTES || size > FRAME_BYTES_MAX)
      throw new ProtocolError(`no answer in Kafka's protocol (a frame of ${size} bytes)`)
    return size
  }
}
