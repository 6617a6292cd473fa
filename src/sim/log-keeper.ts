import type { LogFields, Logger } from '../env/logger.ts'

/** Lines kept to be shown when a run fails. */
const LINES_KEPT = 400

/** What the programs under simulation logged, all machines together, in the order of virtual time. */
export class LogKeeper {
  #lines: string[] = []
  /** Off in runs that are to be fast: a run that fails is repeated for its log. */
  isOn = true
  /** Sees every line at once; for watching one run. */
  onLine: ((line: string) => void) | null = null

  add(line: string): void {
    this.onLine?.(line)
    this.#lines.push(line)
    if (this.#lines.length >= 2 * LINES_KEPT) this.#lines = this.#lines.slice(-LINES_KEPT)
  }

  get lines(): readonly string[] {
    return this.#lines
  }
}

export function simLogger(keeper: LogKeeper, name: string, nowMs: () => number): Logger {
  const log = (level: string) => (message: string, fields?: LogFields) => {
    if (!keeper.isOn) return
    const values = Object.entries(fields ?? {}).filter(([, value]) => value !== undefined)
    const text = values.map(([key, value]) => ` ${key}=${value}`).join('')
    keeper.add(`${nowMs().toFixed(3)} ${name} ${level} ${message}${text}`)
  }
  return { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') }
}
