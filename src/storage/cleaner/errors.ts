/** The work is no longer wanted, or what it was begun with is no longer true. Nothing was lost; a later round begins anew. */
export class CleaningAbortedError extends Error {
  override name = 'CleaningAbortedError'
}

/** This log cannot be compacted, now or later. */
export class UncleanableError extends Error {
  override name = 'UncleanableError'
}
