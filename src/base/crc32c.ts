import { crc32c as native } from '@node-rs/crc32'

/** CRC-32C (Castagnoli) of `bytes`, unsigned. `seed` is the CRC of the bytes before them, for a piecewise sum. */
export function crc32c(bytes: Uint8Array, seed = 0): number {
  return native(bytes as Buffer, seed)
}
