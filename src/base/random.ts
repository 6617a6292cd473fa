import { assert, bug } from './assert.ts'

/**
 * A seeded generator (xoshiro128**, Blackman and Vigna 2018). Equal seeds give equal sequences on every machine.
 * `fork` gives an independent stream, so that one concern drawing more does not shift another's numbers.
 */
export class Random {
  #a: number
  #b: number
  #c: number
  #d: number
  /** How many 32-bit numbers were drawn; part of the simulator's trace hash. */
  draws = 0

  constructor(seed: number) {
    let state = seed >>> 0
    // splitmix32: spreads close seeds apart and never leaves all four words zero.
    const next = () => {
      state = (state + 0x9e3779b9) >>> 0
      let mixed = state ^ (state >>> 16)
      mixed = Math.imul(mixed, 0x21f0aaad)
      mixed ^= mixed >>> 15
      mixed = Math.imul(mixed, 0x735a2d97)
      return (mixed ^ (mixed >>> 15)) >>> 0
    }
    this.#a = next()
    this.#b = next()
    this.#c = next()
    this.#d = next()
  }

  uint32(): number {
    this.draws++
    const scrambled = Math.imul(this.#b, 5)
    const result = Math.imul((scrambled << 7) | (scrambled >>> 25), 9) >>> 0
    const shifted = this.#b << 9
    this.#c ^= this.#a
    this.#d ^= this.#b
    this.#b ^= this.#c
    this.#a ^= this.#d
    this.#c ^= shifted
    this.#d = (this.#d << 11) | (this.#d >>> 21)
    return result
  }

  /** In [0, 1). */
  float(): number {
    return this.uint32() / 2 ** 32
  }

  /** An integer in [0, limit), limit up to 2^32. */
  below(limit: number): number {
    if (!(limit > 0 && limit <= 2 ** 32)) bug(`below(${limit})`)
    return Math.floor(this.float() * limit)
  }

  /** An integer in [low, high]. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1)
  }

  chance(probability: number): boolean {
    return this.float() < probability
  }

  pick<T>(items: readonly T[]): T {
    assert(items.length > 0, 'pick from nothing')
    return items[this.below(items.length)] as T
  }

  bytes(length: number): Buffer {
    const result = Buffer.alloc(length)
    let at = 0
    for (; at + 4 <= length; at += 4) result.writeUInt32LE(this.uint32(), at)
    for (let rest = at < length ? this.uint32() : 0; at < length; at++, rest >>>= 8) result[at] = rest & 0xff
    return result
  }

  /** An independent stream. */
  fork(): Random {
    return new Random(this.uint32())
  }
}
