/** Values that say which, how many, how long; units in the names. Never secrets, never record contents. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>

/** `message` is a constant sentence; what varies goes into `fields`. */
export interface Logger {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
}

export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} }
