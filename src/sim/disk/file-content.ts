import { bug } from '../../base/assert.ts'

const PAGE_BYTES = 64 * 1024
const SMALLEST_PAGE_BYTES = 256
/** 256 times this often enough is `PAGE_BYTES`. */
const PAGE_GROWTH = 4
const SMALL_BYTES = 4096

/**
 * The bytes of a file in pages that are made when first written; holes read as zeros. A page may be shorter than
 * `PAGE_BYTES` while the file is small, so that thousands of small files cost little.
 * Invariant: whatever a page holds beyond `length` is zero, so that growing a file shows zeros.
 */
export class FileContent {
  #length = 0
  readonly #pages: (Buffer | undefined)[] = []

  get length(): number {
    return this.#length
  }

  /** Fills `target` from `position`; returns how much there was. */
  read(target: Buffer, position: number): number {
    const bytes = Math.max(0, Math.min(target.length, this.#length - position))
    let done = 0
    while (done < bytes) {
      const within = (position + done) % PAGE_BYTES
      const span = Math.min(bytes - done, PAGE_BYTES - within)
      const page = this.#pages[Math.floor((position + done) / PAGE_BYTES)]
      // A page may end before what is asked for: the rest of it is a hole.
      const held = page === undefined || page.length <= within ? 0 : page.copy(target, done, within, within + span)
      if (held < span) target.fill(0, done + held, done + span)
      done += span
    }
    return bytes
  }

  write(source: Buffer, position: number): void {
    if (!(position >= 0)) bug(`write at ${position}`)
    if (source.length === 0) return
    this.#length = Math.max(this.#length, position + source.length)
    let done = 0
    while (done < source.length) {
      const within = (position + done) % PAGE_BYTES
      const span = Math.min(source.length - done, PAGE_BYTES - within)
      const page = this.#page(Math.floor((position + done) / PAGE_BYTES), within + span)
      source.copy(page, within, done, done + span)
      done += span
    }
  }

  truncate(length: number): void {
    if (length < this.#length) {
      const kept = Math.ceil(length / PAGE_BYTES)
      this.#pages.length = Math.min(this.#pages.length, kept)
      const within = length % PAGE_BYTES
      if (within > 0) this.#pages[kept - 1]?.fill(0, within)
    }
    this.#length = length
  }

  /** Becomes a copy of `other`. */
  replaceBy(other: FileContent): void {
    this.#length = other.#length
    this.#pages.length = 0
    other.#pages.forEach((page, index) => {
      if (page !== undefined) this.#pages[index] = Buffer.from(page)
    })
  }

  /** The page at `index`, at least `bytes` long. */
  #page(index: number, bytes: number): Buffer {
    const page = this.#pages[index]
    if (page !== undefined && page.length >= bytes) return page
    let length = Math.max(SMALLEST_PAGE_BYTES, page?.length ?? 0)
    while (length < bytes) length *= PAGE_GROWTH
    const larger = zeros(length)
    page?.copy(larger)
    this.#pages[index] = larger
    return larger
  }
}

/** Small ones out of the shared pool: an array buffer of its own costs more than all that is done with it. */
function zeros(bytes: number): Buffer {
  return bytes < SMALL_BYTES ? Buffer.allocUnsafe(bytes).fill(0) : Buffer.alloc(bytes)
}
