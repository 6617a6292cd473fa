import { type Knobs, printKnob, type Turned } from './knobs.ts'

/** Runs with these knobs; the knobs as they were turned when the run fails in the same way, else null. */
export type Attempt = (given: ReadonlyMap<string, string>) => Promise<Knobs | null>

/**
 * Makes a failing run smaller: takes items out of its lists, in halves, then quarters, down to single ones (delta debugging,
 * Zeller 1999), and turns its numbers back. Ends after `runsMax` attempts, with the smallest that still failed.
 */
export async function shrink(first: Knobs, attempt: Attempt, runsMax: number): Promise<Map<string, string>> {
  const search = new Search(first, attempt, runsMax)
  let before = -1
  // What was taken out may let something else go that had to stay.
  while (search.successes > before && !search.isOver) {
    before = search.successes
    for (const name of search.names) await search.narrow(name)
  }
  return search.given()
}

class Search {
  #best: Knobs
  /** Only what was narrowed is given; everything else is as the seed draws it. */
  readonly #narrowed = new Map<string, string>()
  readonly #attempt: Attempt
  #runsLeft: number
  successes = 0

  constructor(first: Knobs, attempt: Attempt, runsMax: number) {
    this.#best = first
    this.#attempt = attempt
    this.#runsLeft = runsMax
  }

  get names(): string[] {
    return [...this.#best.turned.keys()]
  }

  get isOver(): boolean {
    return this.#runsLeft <= 0
  }

  given(): Map<string, string> {
    return new Map(this.#narrowed)
  }

  async narrow(name: string): Promise<void> {
    const turned = this.#best.turned.get(name)
    if (turned?.kind === 'list') await this.#narrowList(name, turned.kept)
    else if (turned?.kind === 'number') await this.#narrowNumber(name, turned)
  }

  async #narrowList(name: string, all: readonly number[]): Promise<void> {
    let kept = all
    for (let size = Math.ceil(kept.length / 2); size >= 1 && kept.length > 0; size = Math.floor(size / 2)) {
      for (let from = kept.length - size; from > -size; from -= size) {
        const rest = kept.filter((_, index) => index < from || index >= from + size)
        if (rest.length < kept.length && (await this.#try(name, { kind: 'list', kept: rest }))) kept = rest
      }
    }
  }

  async #narrowNumber(name: string, { value, least }: Extract<Turned, { kind: 'number' }>): Promise<void> {
    let [low, high] = [least, value]
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if (await this.#try(name, { kind: 'number', value: middle, least })) high = middle
      else low = middle + 1
    }
  }

  async #try(name: string, turned: Turned): Promise<boolean> {
    if (this.isOver) return false
    this.#runsLeft--
    const given = this.given().set(name, printKnob(turned))
    const knobs = await this.#attempt(given)
    if (knobs === null) return false
    this.#best = knobs
    this.#narrowed.set(name, printKnob(turned))
    this.successes++
    return true
  }
}
