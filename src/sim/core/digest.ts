import { crc32c } from '../../base/crc32c.ts'

/** Up to here the call of the native checksum costs more than a pass over the bytes here. */
const SMALL_BYTES = 512

/** What stands for some bytes in the trace, and tells whether they were changed meanwhile. Not a checksum of any format. */
export function digestOf(bytes: Uint8Array, seed = 0): number {
  const { length } = bytes
  if (length > SMALL_BYTES) return crc32c(bytes, seed)
  let digest = seed ^ length
  let at = 0
  for (; at + 4 <= length; at += 4) digest = mixed(digest, wordAt(bytes, at))
  for (; at < length; at++) digest = mixed(digest, bytes[at] as number)
  return digest
}

function wordAt(bytes: Uint8Array, at: number): number {
  const [a, b, c, d] = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]] as [number, number, number, number]
  return a | (b << 8) | (c << 16) | (d << 24)
}

/** One to one in `digest` and in `value`, so that no single change goes unnoticed. */
function mixed(digest: number, value: number): number {
  const product = Math.imul(digest ^ value, 0x5bd1e995)
  return product ^ (product >>> 15)
}

const ofNames = new Map<string, number>()
/** Names kept; those of a run are far fewer. */
const NAMES_MAX = 10_000

/** The same for a name, such as a path: there are few, and they come again and again. */
export function digestOfName(name: string): number {
  let digest = ofNames.get(name)
  if (digest === undefined) {
    digest = crc32c(Buffer.from(name))
    if (ofNames.size >= NAMES_MAX) ofNames.clear()
    ofNames.set(name, digest)
  }
  return digest
}
