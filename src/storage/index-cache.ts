/** Contents of index files in memory, the ones used last, up to a bound of bytes. */
export class IndexCache {
  readonly #bytesMax: number
  readonly #contents = new Map<string, Buffer>()
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  get(path: string): Buffer | null {
    const content = this.#contents.get(path)
    if (content === undefined) return null
    this.#contents.delete(path)
    this.#contents.set(path, content)
    return content
  }

  put(path: string, content: Buffer): void {
    this.drop(path)
    this.#contents.set(path, content)
    this.#bytes += content.length
    for (const [oldest, { length }] of this.#contents) {
      if (this.#bytes <= this.#bytesMax || oldest === path) return
      this.#contents.delete(oldest)
      this.#bytes -= length
    }
  }

  drop(path: string): void {
    const content = this.#contents.get(path)
    if (content === undefined) return
    this.#contents.delete(path)
    this.#bytes -= content.length
  }
}
