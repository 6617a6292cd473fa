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
