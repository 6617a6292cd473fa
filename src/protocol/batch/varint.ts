import { bug } from '../../base/assert.ts'

/**
 * Zig-zag varints written into a buffer that is large enough by construction: the builder sums the sizes first. Numbers
 * only: the value must lie within ±2^52, so that its zig-zag form is still exact.
 */
export function varintSize(value: number): number {
  let rest = zigZag(value)
  let bytes = 1
  while (rest >= 0x80) {
    rest = Math.floor(rest / 0x80)
    bytes += 1
  }
  return bytes
}

/** Returns the position after the last byte. */
export function writeVarint(buffer: Buffer, value: number, at: number): number {
  let rest = zigZag(value)
  let position = at
  while (rest >= 0x80) {
    buffer[position++] = (rest % 0x80) | 0x80
    rest = Math.floor(rest / 0x80)
  }
  buffer[position++] = rest
  return position
}

function zigZag(value: number): number {
  if (!(value >= -(2 ** 52) && value < 2 ** 52)) bug(`varint ${value}`)
  return value < 0 ? -2 * value - 1 : 2 * value
}
