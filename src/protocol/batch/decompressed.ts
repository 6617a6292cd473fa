/** What a batch decompresses to is looked at once and thrown away: up to gigabytes a second that V8 need not know of. */

const CHUNK_BYTES_MIN = 256 * 1024
const CHUNK_BYTES_MAX = 1024 * 1024
/** Most records shrink less than this. */
const USUAL_RATIO = 4
/** Smaller ones may be parts of a buffer that others use too (`Buffer.poolSize`), and cost little. */
const DISCARDED_BYTES_MIN = 32 * 1024

/** How much room a streaming decoder gets at a time: most often all that it needs, so that nothing is put together after. */
export function outputChunkBytes(compressed: Buffer): number {
  return Math.min(Math.max(compressed.length * USUAL_RATIO, CHUNK_BYTES_MIN), CHUNK_BYTES_MAX)
}

/**
 * Frees the memory behind a decompressed section at once; every view of it is empty from then on. Left to the garbage
 * collector, the bytes count until V8 has marked its whole heap for them (docs/decisions/0003-large-buffers-are-used-again.md).
 */
export function discard(section: Buffer): void {
  const memory = section.buffer
  if (memory instanceof ArrayBuffer && memory.byteLength >= DISCARDED_BYTES_MIN) memory.transfer(0)
}
