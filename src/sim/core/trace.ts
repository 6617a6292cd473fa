import { digestOfName } from './digest.ts'

const double = new Float64Array(1)
const halves = new Int32Array(double.buffer)

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
    this.mix(digestOfName(name))
  }

  /** All 64 bits of a double, so that times which differ in the last place count as different. */
  mixFloat(value: number): void {
    double[0] = value
    this.mix(halves[0] as number)
    this.mix(halves[1] as number)
  }

  get hash(): string {
    const hex = (half: number) => (half >>> 0).toString(16).padStart(8, '0')
    return hex(this.#high) + hex(this.#low)
  }
}
