/** Numbers by index in typed memory, as a long run has tens of millions of them; `NONE` where none was set. */
export class Column {
  #values = new Float64Array(1024).fill(NONE)
  /** One past the highest index that was set. */
  length = 0

  get(index: number): number {
    return index < this.length ? (this.#values[index] as number) : NONE
  }

  set(index: number, value: number): void {
    if (index >= this.#values.length) this.#grow(index)
    this.#values[index] = value
    this.length = Math.max(this.length, index + 1)
  }

  #grow(index: number): void {
    const grown = new Float64Array(Math.max(index + 1, this.#values.length * 2)).fill(NONE)
    grown.set(this.#values)
    this.#values = grown
  }
}

export const NONE = -1
