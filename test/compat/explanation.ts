/** A place of an observation, and what each of the two had there. */
export interface Difference {
  /** Names and indexes with `/` between; `fails` where a case failed on one server only. */
  readonly at: string
  readonly kafka: unknown
  readonly millrace: unknown
}

/** A difference that is meant. */
export interface Explanation {
  readonly cases: readonly string[]
  /** Null: all. */
  readonly clients: readonly string[] | null
  /** The whole place of the difference must match. */
  readonly at: RegExp
  /** In a few words, for docs/compatibility.md. */
  readonly kafka: string
  readonly millrace: string
  readonly why: string
}

export function explains(
  { cases, clients, at }: Explanation,
  where: { readonly client: string; readonly case: string },
  difference: Difference,
): boolean {
  const whole = new RegExp(`^(?:${at.source})$`, 'v')
  return cases.includes(where.case) && (clients === null || clients.includes(where.client)) && whole.test(difference.at)
}
