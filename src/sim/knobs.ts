/** What a knob was in a run, and how far it could be turned back. */
export type Turned =
  | { readonly kind: 'number'; readonly value: number; readonly least: number }
  /** Indices, in the list as it was drawn. */
  | { readonly kind: 'list'; readonly kept: readonly number[] }

/**
 * Sizes and lists of a scenario that a command line may narrow: `producers=1`, `faults=0,4,7`. What a scenario does for one
 * item of a list must not depend on the others being there, so that a run that failed can be made smaller (`shrink.ts`).
 */
export class Knobs {
  readonly #given: ReadonlyMap<string, string>
  readonly turned = new Map<string, Turned>()

  constructor(given: ReadonlyMap<string, string> = new Map()) {
    this.#given = given
  }

  number(name: string, drawn: number, least = 0): number {
    const given = this.#given.get(name)
    const value = given === undefined ? drawn : Number(given)
    this.turned.set(name, { kind: 'number', value, least })
    return value
  }

  /** The items to keep: all of them unless something else was asked for. */
  list<T>(name: string, items: readonly T[]): T[] {
    const kept = indicesOf(this.#given.get(name)) ?? items.map((_, index) => index)
    this.turned.set(name, { kind: 'list', kept })
    return items.filter((_, index) => kept.includes(index))
  }
}

function indicesOf(text: string | undefined): number[] | null {
  if (text === undefined) return null
  return text
    .split(',')
    .filter((part) => part !== '')
    .map(Number)
}

export function printKnob(turned: Turned): string {
  return turned.kind === 'number' ? String(turned.value) : turned.kept.join(',')
}
