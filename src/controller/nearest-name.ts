/** More would be a list to read, and no hint. */
const LIKELY_MAX = 4
/** A shorter word is part of too many names. */
const PART_LETTERS_MIN = 4

/**
 * `A`, or `A, B or C`: the names that a user who typed `text` most likely meant. The nearest, or those that `text` is a part
 * of, word by word, whole words but for the last. Null when there is none.
 */
export function likelyNames(text: string, names: Iterable<string>): string | null {
  const all = [...names]
  const nearest = nearestName(text, all)
  const containing = namesWith(text, all)
  const likely = nearest === null || containing.includes(nearest) ? containing : [nearest]
  const last = likely.at(-1)
  if (last === undefined) return null
  return likely.length === 1 ? last : `${likely.slice(0, -1).join(', ')} or ${last}`
}

/** Those that begin with it first, then the shortest. */
function namesWith(text: string, names: readonly string[]): string[] {
  const typed = wordsOf(text)
  if (text.length < PART_LETTERS_MIN || typed.length === 0) return []
  const part = `.${typed.join('.')}`
  const at = (name: string) => `.${wordsOf(name).join('.')}`.indexOf(part)
  return names
    .filter((name) => at(name) >= 0)
    .sort((left, right) => Math.sign(at(left)) - Math.sign(at(right)) || left.length - right.length)
    .slice(0, LIKELY_MAX)
}

function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')
}

/**
 * The name in `names` that a user who typed `text` most likely meant, or null when none is near. Near is: at most a
 * third of its letters inserted, left out, changed or swapped with their neighbour.
 */
export function nearestName(text: string, names: Iterable<string>): string | null {
  const typed = text.toLowerCase()
  let best: string | null = null
  let bestDistance = Math.floor(typed.length / 3) + 1
  for (const name of names) {
    if (Math.abs(name.length - typed.length) >= bestDistance) continue
    const distance = editDistance(typed, name.toLowerCase())
    if (distance < bestDistance) {
      best = name
      bestDistance = distance
    }
  }
  return best
}

/** Insertions, deletions, substitutions and swaps of neighbours between `a` and `b` (optimal string alignment). */
export function editDistance(a: string, b: string): number {
  let before: number[] = []
  let above = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let cost = Math.min(
        (above[j - 1] as number) + (same ? 0 : 1),
        (above[j] as number) + 1,
        (row[j - 1] as number) + 1,
      )
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (swapped) cost = Math.min(cost, (before[j - 2] as number) + 1)
      row.push(cost)
    }
    before = above
    above = row
  }
  return above[b.length] as number
}
