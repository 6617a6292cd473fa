import { holdBlock, letGoBlock, takeBlock } from '../../base/blocks.ts'

/** What the assembler asks and tells the connection it serves. */
export interface FrameSink {
  /**
   * A frame of `frameBytes` is about to be assembled; -1 is the key of one that is too short to have one. `take` goes on;
   * `wait` stops until `resume`; a text refuses the connection for that reason. Called again for the same frame after a
   * `wait`.
   */
  begin(frameBytes: number, apiKey: number): 'take' | 'wait' | { refuse: string }
  /** One whole request without its size. The sink holds its block, if it lies in one: Produce requests do. */
  frame(frame: Buffer): void
  /** The stream can not be understood: nothing more is read from it. */
  broken(reason: string): void
}

/** A frame up to this size is copied into a shared slab: an own buffer would cost more than the frame itself. */
const SLAB_FRAME_BYTES_MAX = 4 * 1024
const SLAB_BYTES = 64 * 1024
/**
 * The first piece allocated for a frame. A larger frame grows by doubling as its bytes arrive, so that a client gets
 * at most twice the memory that it paid for with bytes.
 */
const FIRST_PIECE_BYTES_MAX = 1024 * 1024
const SIZE_BYTES = 4
const KEY_BYTES = 2
const PRODUCE_KEY = 0
const NOTHING = Buffer.alloc(0)

/**
 * Small frames lie side by side in a slab that is freed when its last frame is. Produced records live on in a log's
 * tail, everything else dies with its request: the two must not share a slab, or one small record would keep alive the
 * memory of hundreds of long-answered requests.
 */
class Slab {
  readonly #allocate: (bytes: number) => Buffer
  #buffer: Buffer = Buffer.alloc(0)
  #used = 0

  constructor(allocate: (bytes: number) => Buffer) {
    this.#allocate = allocate
  }

  copy(source: Buffer, start: number, end: number): Buffer {
    const length = end - start
    if (this.#buffer.length - this.#used < length) {
      letGoBlock(this.#buffer)
      this.#buffer = this.#allocate(SLAB_BYTES)
      this.#used = 0
    }
    const at = this.#used
    this.#used += length
    source.copy(this.#buffer, at, start, end)
    holdBlock(this.#buffer)
    return this.#buffer.subarray(at, at + length)
  }
}

/**
 * Only Produce requests lie in blocks, which are used again as soon as the request is answered and the log's tail has let
 * go of the records. Handlers of other requests may keep a view of what they were sent, a member's metadata say, for ever.
 */
const producedSlab = new Slab(takeBlock)
const otherSlab = new Slab((bytes) => Buffer.allocUnsafeSlow(bytes))

/**
 * Cuts the bytes of one connection into frames. A byte is copied once, out of the read buffer (which the
 * next read overwrites) into a buffer of the frame's own size. When the sink says `wait`, what is left of the chunk is
 * kept: no more than one read buffer, since the connection is paused meanwhile.
 */
export class FrameAssembler {
  readonly #sink: FrameSink
  /** The frame in the making, null between frames; it may be shorter than `#frameBytes` while it grows. */
  #frame: Buffer | null = null
  #frameBytes = 0
  #apiKey = -1
  #filled = 0
  #isProduce = false
  /** The first bytes of a frame whose size and key have not come whole. */
  #beginning: Buffer = NOTHING
  #held: Buffer | null = null
  #stopped = false

  constructor(sink: FrameSink) {
    this.#sink = sink
  }

  /** True between the first byte of a frame and its last. */
  get inFrame(): boolean {
    return this.#frame !== null || this.#beginning.length > 0
  }

  /** Of the frame in the making. */
  get filledBytes(): number {
    return this.#frame === null ? 0 : this.#filled
  }

  /** True when bytes wait here for `resume`. */
  get waiting(): boolean {
    return this.#held !== null
  }

  /** Nothing more is cut, and what is held is dropped. */
  stop(): void {
    this.#stopped = true
    this.#frame = null
    this.#held = null
  }

  /** `chunk` is valid during the call only. */
  push(chunk: Buffer): void {
    if (this.#stopped) return
    // Data after a pause: a kernel read may already have been under way.
    if (this.#held !== null) this.#held = Buffer.concat([this.#held, chunk])
    else this.#cut(this.#beginning.length === 0 ? chunk : this.#takeBeginning(chunk))
  }

  /** Few chunks end within the first bytes of a frame: copying one once more costs less than looking at each byte. */
  #takeBeginning(chunk: Buffer): Buffer {
    const whole = Buffer.concat([this.#beginning, chunk])
    this.#beginning = NOTHING
    return whole
  }

  /** Goes on with what was held when the sink said `wait`. */
  resume(): void {
    const held = this.#held
    if (held === null || this.#stopped) return
    this.#held = null
    this.#cut(held)
  }

  #cut(chunk: Buffer): void {
    let at = 0
    if (this.#frame !== null) {
      at = this.#fill(chunk, 0)
      if (at < 0) return
    }
    while (!this.#stopped && at < chunk.length) {
      if (!this.#readHead(chunk, at)) {
        this.#beginning = Buffer.from(chunk.subarray(at))
        return
      }
      const bodyAt = at + SIZE_BYTES
      if (this.#frameBytes < 0) {
        this.#break(`frame size ${this.#frameBytes} is negative`)
        return
      }
      const answer = this.#sink.begin(this.#frameBytes, this.#apiKey)
      if (this.#stopped) return
      if (answer === 'wait') {
        this.#hold(chunk, bodyAt)
        return
      }
      if (answer !== 'take') {
        this.#break(answer.refuse)
        return
      }
      this.#isProduce = this.#apiKey === PRODUCE_KEY
      const end = bodyAt + this.#frameBytes
      if (end <= chunk.length) {
        this.#sink.frame(this.#copyWhole(chunk, bodyAt, end))
        at = end
        continue
      }
      this.#frame = this.#allocate(Math.min(this.#frameBytes, FIRST_PIECE_BYTES_MAX))
      this.#filled = 0
      at = this.#fill(chunk, bodyAt)
      if (at < 0) return
    }
  }

  /** Reads size and key of the frame that begins at `start`; false when the chunk ends within them. */
  #readHead(chunk: Buffer, start: number): boolean {
    const bodyAt = start + SIZE_BYTES
    if (chunk.length < bodyAt) return false
    this.#frameBytes = chunk.readInt32BE(start)
    this.#apiKey = -1
    if (this.#frameBytes < KEY_BYTES) return true
    if (chunk.length < bodyAt + KEY_BYTES) return false
    this.#apiKey = chunk.readInt16BE(bodyAt)
    return true
  }

  #copyWhole(chunk: Buffer, start: number, end: number): Buffer {
    if (end - start > SLAB_FRAME_BYTES_MAX) {
      const frame = this.#allocate(end - start)
      chunk.copy(frame, 0, start, end)
      return frame
    }
    return (this.#isProduce ? producedSlab : otherSlab).copy(chunk, start, end)
  }

  #allocate(bytes: number): Buffer {
    return this.#isProduce ? takeBlock(bytes) : Buffer.allocUnsafeSlow(bytes)
  }

  /** Moves bytes into the frame in the making; returns where the next frame begins, or -1 when more is needed. */
  #fill(chunk: Buffer, start: number): number {
    let at = start
    for (;;) {
      const frame = this.#frame as Buffer
      const take = Math.min(frame.length - this.#filled, chunk.length - at)
      chunk.copy(frame, this.#filled, at, at + take)
      this.#filled += take
      at += take
      if (this.#filled === this.#frameBytes) {
        this.#frame = null
        this.#sink.frame(frame)
        return this.#stopped ? -1 : at
      }
      if (this.#filled < frame.length) return -1
      const grown = this.#allocate(Math.min(frame.length * 2, this.#frameBytes))
      frame.copy(grown)
      letGoBlock(frame)
      this.#frame = grown
    }
  }

  /** Keeps the undecided frame's size and the bytes after it. */
  #hold(chunk: Buffer, bodyAt: number): void {
    const held = Buffer.allocUnsafeSlow(SIZE_BYTES + chunk.length - bodyAt)
    held.writeInt32BE(this.#frameBytes, 0)
    chunk.copy(held, SIZE_BYTES, bodyAt)
    this.#held = held
  }

  #break(reason: string): void {
    this.stop()
    this.#sink.broken(reason)
  }
}
