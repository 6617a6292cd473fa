/** The name most like `wanted`, or null when none is close enough to be what the user meant. */
export function nearestName(wanted: string, names: Iterable<string>): string | null {
  let best: string | null = null
  let bestDistance = Math.max(2, Math.floor(wanted.length / 3)) + 1
  for (const name of names) {
    if (Math.abs(name.length - wanted.length) >= bestDistance) continue
    const distance = editDistance(wanted, name)
    if (distance < bestDistance) {
      best = name
      bestDistance = distance
    }
  }
  return best
}

/** Insertions, removals, replacements (Levenshtein). */
function editDistance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let row = 1; row <= left.length; row++) {
    const current = [row]
    for (let column = 1; column <= right.length; column++) {
      const replaced = (previous[column - 1] as number) + (left[row - 1] === right[column - 1] ? 0 : 1)
      current.push(Math.min(replaced, (previous[column] as number) + 1, (current[column - 1] as number) + 1))
    }
    previous = current
  }
  return previous[right.length] as number
}
