export type Status = 'ok' | 'warn' | 'fail'

/** One line of what the doctor says. */
export interface Finding {
  readonly status: Status
  /** The kind of check, for programs: `address`, `descriptors`, `disk`, `clock`… */
  readonly check: string
  /** A node, an address, a folder. */
  readonly about: string
  readonly text: string
  /** What to do about it; null when it is well. */
  readonly advice: string | null
}

/** Names what a group of checks is about. */
export function findings(about: string) {
  return {
    ok: (check: string, text: string): Finding => ({ status: 'ok', check, about, text, advice: null }),
    warn: (check: string, text: string, advice: string): Finding => ({ status: 'warn', check, about, text, advice }),
    fail: (check: string, text: string, advice: string): Finding => ({ status: 'fail', check, about, text, advice }),
  }
}
