import { crc32c } from '../../base/crc32c.ts'

const kindHashes = new Map<string, number>()

/** A number for a constant name, the same in every process. */
function hashOf(name: string): number {
  let hash = kindHashes.get(name)
  if (hash === undefined) {
    hash = crc32c(Buffer.from(name))
    kindHashes.set(name, hash)
  }
  return hash
}

const scratch = new DataView(new ArrayBuffer(8))

/**
 * A rolling hash of all that happened. Two runs of one seed give the same value after every step, or something reached
 * past the simulator: that is how determinism is checked.
 */
export class Trace {
  #low = 0x9e3779b9
  #high = 0x85ebca6b

  mix(value: number): void {
    const low = Math.imul(this.#low ^ value, 0xcc9e2d51)
    this.#low = (low << 15) | (low >>> 17)
    const high = Math.imul(this.#high ^ this.#low, 0x1b873593)
    this.#high = (high << 13) | (high >>> 19)
  }

  mixName(name: string): void {
    this.mix(hashOf(name))
  }

  /** All 64 bits of a double, so that times which differ in the last place count as different. */
  mixFloat(value: number): void {
    scratch.setFloat64(0, value)
    this.mix(scratch.getInt32(0))
    this.mix(scratch.getInt32(4))
  }

  get hash(): string {
    const hex = (half: number) => (half >>> 0).toString(16).padStart(8, '0')
    return hex(this.#high) + hex(this.#low)
  }
}
