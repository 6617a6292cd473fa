import { CommandError, ExitCode } from '../exit-code.ts'

/** `key=value` flags as pairs. */
export function parseSettings(flags: readonly string[] = []): Record<string, string> {
  const settings: Record<string, string> = {}
  for (const flag of flags) {
    const at = flag.indexOf('=')
    if (at < 1) throw new CommandError(ExitCode.usage, `--config ${flag} is not key=value`)
    settings[flag.slice(0, at)] = flag.slice(at + 1)
  }
  return settings
}

/** A number from 1 up, or undefined where the flag was not given. */
export function parseCount(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new CommandError(ExitCode.usage, `${flag} ${text} is not a number above 0`)
  return Number(text)
}
