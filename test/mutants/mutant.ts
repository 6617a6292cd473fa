/** One text that another takes the place of. `from` is in the file exactly once, or the mutant is out of date. */
export interface Edit {
  /** Below `src`. */
  readonly file: string
  readonly from: string
  readonly to: string
}

/**
 * A rule of the product that is taken out of it, to see whether the simulator notices (reliability §10). It changes the text
 * of a file while that is loaded, in a process of its own: the product itself knows nothing of it.
 */
export interface Mutant {
  /** In the words of reliability §10. */
  readonly name: string
  readonly edits: readonly Edit[]
  /** Part of the names of the scenarios that look for it. */
  readonly scenario: string
  /** Seeds within which it must be found, when that is other than usual: rare ones get more. */
  readonly within?: number
}

/** Within so many seeds a mutant is found, or the simulator has a hole. */
export const SEEDS_MAX = 200

/** Throws where the text of an edit is not there exactly once. */
export function mutated(source: string, file: string, { name, edits }: Mutant): string {
  let result = source
  for (const { from, to } of edits.filter((edit) => edit.file === file)) {
    const pieces = result.split(from)
    if (pieces.length !== 2) {
      throw new Error(`mutant '${name}': its text is ${pieces.length - 1} times in ${file}, not once:\n${from}`)
    }
    result = pieces.join(to)
  }
  return result
}
