/** Two words nobody outside knows: without them clients could choose keys that all fall into one row of the table. */
export interface HashSeed {
  readonly low: number
  readonly high: number
}

/**
 * HalfSipHash-2-4 (Aumasson, Bernstein) of `length` bytes from `start`: 32 bits, keyed. It only spreads keys over a
 * table; that two keys are equal is found out by comparing them.
 */
export function hashKey(bytes: Uint8Array, start: number, length: number, { low, high }: HashSeed): number {
  let v0 = low
  let v1 = high
  let v2 = 0x6c796765 ^ low
  let v3 = 0x74656462 ^ high
  const wholeEnd = start + (length & ~3)
  const end = start + length
  let last = length << 24
  for (let at = end - 1; at >= wholeEnd; at--) last |= (bytes[at] as number) << ((at - wholeEnd) * 8)
  for (let at = start; at <= wholeEnd; at += 4) {
    const word =
      at === wholeEnd
        ? last
        : (bytes[at] as number) |
          ((bytes[at + 1] as number) << 8) |
          ((bytes[at + 2] as number) << 16) |
          ((bytes[at + 3] as number) << 24)
    v3 ^= word
    for (let round = at === wholeEnd ? 6 : 2; round > 0; round--) {
      if (round === 4 && at === wholeEnd) {
        v0 ^= word
        v2 ^= 0xff
      }
      v0 = (v0 + v1) | 0
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
      v0 = (v0 << 16) | (v0 >>> 16)
      v2 = (v2 + v3) | 0
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
      v0 = (v0 + v3) | 0
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
      v2 = (v2 + v1) | 0
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
      v2 = (v2 << 16) | (v2 >>> 16)
    }
    if (at !== wholeEnd) v0 ^= word
  }
  return (v1 ^ v3) >>> 0
}
