import { assert } from '../../base/assert.ts'
import { type HashSeed, hashKey } from './key-hash.ts'

/** Keys are kept in pages of this size; no key lies across two. */
const PAGE_BYTES = 256 * 1024
/** A key above this is not taken in: the cleaner keeps all records that have it. */
export const KEY_BYTES_MAX = 32 * 1024
const LENGTH_BYTES = 2
/** Per place in the table: hash, where the key lies, its offset. */
const SLOT_BYTES = 4 + 4 + 8
const SLOTS_MIN = 1024
/** A page and the smallest table: with less nothing can be held. */
export const MAP_BYTES_MIN = PAGE_BYTES + SLOTS_MIN * SLOT_BYTES

/**
 * The newest offset of each key of a log's dirty part. Keys are held and compared as a whole, byte by byte: two keys that
 * share a hash are two keys, so no collision can make the cleaner drop a record of another key. Memory grows with the keys
 * and never beyond `bytesMax`, also while the table doubles.
 */
export class OffsetMap {
  readonly #bytesMax: number
  readonly #seed: HashSeed
  readonly #pages: Buffer[] = []
  #pageUsed = PAGE_BYTES
  #hashes = new Uint32Array(SLOTS_MIN)
  /** 1 more than the place of the key; 0: the slot is free. */
  #places = new Uint32Array(SLOTS_MIN)
  #offsets = new Float64Array(SLOTS_MIN)
  #count = 0

  constructor({ bytesMax, seed }: { bytesMax: number; seed: HashSeed }) {
    this.#bytesMax = Math.min(Math.max(bytesMax, MAP_BYTES_MIN), 2 ** 31)
    this.#seed = seed
  }

  get count(): number {
    return this.#count
  }

  get bytes(): number {
    return this.#pages.length * PAGE_BYTES + this.#places.length * SLOT_BYTES
  }

  /** The key's newest record known lies at `offset`. False, and nothing is changed, when there is no room for it. */
  set(bytes: Buffer, start: number, length: number, offset: number): boolean {
    assert(length <= KEY_BYTES_MAX, `a key of ${length} bytes in the offset map`)
    const hash = hashKey(bytes, start, length, this.#seed)
    let slot = this.#slotOf(hash, bytes, start, length)
    if (this.#places[slot] === 0) {
      if ((this.#count + 1) * 4 > this.#places.length * 3) {
        if (!this.#grow()) return false
        slot = this.#slotOf(hash, bytes, start, length)
      }
      const place = this.#keep(bytes, start, length)
      if (place < 0) return false
      this.#hashes[slot] = hash
      this.#places[slot] = place + 1
      this.#count++
    }
    this.#offsets[slot] = offset
    return true
  }

  /** -1 for a key that is not there. */
  get(bytes: Buffer, start: number, length: number): number {
    const slot = this.#slotOf(hashKey(bytes, start, length, this.#seed), bytes, start, length)
    return this.#places[slot] === 0 ? -1 : (this.#offsets[slot] as number)
  }

  /** The slot that holds the key, or the free one where it belongs. */
  #slotOf(hash: number, bytes: Buffer, start: number, length: number): number {
    const mask = this.#places.length - 1
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const place = this.#places[slot] as number
      if (place === 0) return slot
      if (this.#hashes[slot] === hash && this.#isKey(place - 1, bytes, start, length)) return slot
    }
  }

  #isKey(place: number, bytes: Buffer, start: number, length: number): boolean {
    const page = this.#pages[Math.floor(place / PAGE_BYTES)] as Buffer
    const at = place % PAGE_BYTES
    if (page.readUInt16LE(at) !== length) return false
    const from = at + LENGTH_BYTES
    return page.compare(bytes, start, start + length, from, from + length) === 0
  }

  /** Copies the key; -1 when there is no room. */
  #keep(bytes: Buffer, start: number, length: number): number {
    if (this.#pageUsed + LENGTH_BYTES + length > PAGE_BYTES) {
      if (this.bytes + PAGE_BYTES > this.#bytesMax) return -1
      this.#pages.push(Buffer.allocUnsafeSlow(PAGE_BYTES))
      this.#pageUsed = 0
    }
    const page = this.#pages[this.#pages.length - 1] as Buffer
    const at = this.#pageUsed
    page.writeUInt16LE(length, at)
    bytes.copy(page, at + LENGTH_BYTES, start, start + length)
    this.#pageUsed += LENGTH_BYTES + length
    return (this.#pages.length - 1) * PAGE_BYTES + at
  }

  #grow(): boolean {
    const slots = this.#places.length * 2
    if (this.bytes + slots * SLOT_BYTES > this.#bytesMax) return false
    const [hashes, places, offsets] = [this.#hashes, this.#places, this.#offsets]
    this.#hashes = new Uint32Array(slots)
    this.#places = new Uint32Array(slots)
    this.#offsets = new Float64Array(slots)
    for (let i = 0; i < places.length; i++) {
      if (places[i] === 0) continue
      let slot = (hashes[i] as number) & (slots - 1)
      while (this.#places[slot] !== 0) slot = (slot + 1) & (slots - 1)
      this.#hashes[slot] = hashes[i] as number
      this.#places[slot] = places[i] as number
      this.#offsets[slot] = offsets[i] as number
    }
    return true
  }
}
