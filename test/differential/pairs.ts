/** Stands for any id that is not known so far. */
export const UNKNOWN_ID = '?'

/**
 * Which of our ids stands for which of Kafka's. A pair is made when both are first seen in the same place, and holds for
 * ever after, in both directions: an id that comes back in another's place is a difference.
 */
export class Pairs {
  readonly #ours = new Map<string, unknown>()
  readonly #theirs = new Map<string, unknown>()

  /** Whether the two may stand for each other; makes the pair when neither is known. */
  match(kind: string, theirs: unknown, ours: unknown): boolean {
    if (isNone(theirs) || isNone(ours)) return theirs === ours
    const [known, back] = [this.#ours.get(keyOf(kind, theirs)), this.#theirs.get(keyOf(kind, ours))]
    if (known !== undefined || back !== undefined) return known === ours && back === theirs
    this.#ours.set(keyOf(kind, theirs), ours)
    this.#theirs.set(keyOf(kind, ours), theirs)
    return true
  }

  /** Whether they may stand for each other, as far as is known; makes no pair. */
  mayMatch(kind: string, theirs: unknown, ours: unknown): boolean {
    if (isNone(theirs) || isNone(ours)) return theirs === ours
    const [known, back] = [this.#ours.get(keyOf(kind, theirs)), this.#theirs.get(keyOf(kind, ours))]
    return known === undefined && back === undefined ? true : known === ours && back === theirs
  }

  /** One name for an id of either side, by which both are sorted alike; that of all ids not known so far is `?`. */
  name(kind: string, id: unknown, ours: boolean): string {
    if (isNone(id)) return String(id)
    const key = keyOf(kind, id)
    if (ours) return String(this.#theirs.get(key) ?? UNKNOWN_ID)
    return this.#ours.has(key) ? String(id) : UNKNOWN_ID
  }
}

/** Says that there is no id, and is the same on both sides. */
function isNone(id: unknown): boolean {
  return id === '' || id === null || id === 0 || id === -1 || id === 'AAAAAAAAAAAAAAAAAAAAAA'
}

function keyOf(kind: string, id: unknown): string {
  return `${kind} ${typeof id} ${String(id)}`
}
