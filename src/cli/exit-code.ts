/** What a script can tell from our exit. Documented in `millrace --help`. */
export const ExitCode = {
  ok: 0,
  /** The command was understood and failed: a refusal by the cluster, nothing found. */
  failed: 1,
  /** The command line or the configuration is wrong; nothing was done. */
  usage: 2,
  /** The data folder is in use, of another cluster or node, of a newer version, or broken. */
  dataRefused: 3,
  /** An address cannot be bound. */
  addressRefused: 4,
  /** No answer from the cluster. */
  unreachable: 5,
  /** A bug in Millrace. The node stopped rather than risk data. */
  bug: 70,
} as const
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode]

/** Ends the command with what failed, a line each; returns when nothing did. */
export function failWith(errors: readonly (Error | null)[]): void {
  const lines = errors.flatMap((error) => (error === null ? [] : [error.message]))
  if (lines.length > 0) throw new CommandError(ExitCode.failed, lines.join('\nmillrace: '))
}

/** Ends the command with `code`; `message` goes to stderr, without a stack. */
export class CommandError extends Error {
  override name = 'CommandError'
  readonly code: ExitCode

  constructor(code: ExitCode, message: string) {
    super(message)
    this.code = code
  }
}
