import { readFileSync } from 'node:fs'
import { type ParseArgsConfig, parseArgs } from 'node:util'

/**
 * The options of the script `file`, as `parseArgs` gives them. `--help` prints the comment at its head; a wrong option
 * is told in one line. Both end the process, with the exit codes 0 and 2.
 */
export function scriptOptions<T extends ParseArgsConfig>(file: string, config: T): ReturnType<typeof parseArgs<T>> {
  if (process.argv.includes('--help')) end(0, headComment(file))
  try {
    const parsed = parseArgs(config)
    checkNumbers(config.options, parsed.values)
    return parsed
  } catch (error) {
    end(2, `${(error as Error).message} (--help lists them)`)
  }
}

/** An option whose default is a number takes nothing else: `NaN` rounds of a check would all be good. */
function checkNumbers(options: ParseArgsConfig['options'], values: Readonly<Record<string, unknown>>): void {
  for (const [name, { default: usual }] of Object.entries(options ?? {})) {
    const value = values[name]
    if (typeof usual !== 'string' || usual === '' || typeof value !== 'string' || Number.isNaN(Number(usual))) continue
    if (!(value.trim() !== '' && Number(value) >= 0)) throw new Error(`--${name} ${value}: not a number from 0 on`)
  }
}

function end(code: number, text: string): never {
  process[code === 0 ? 'stdout' : 'stderr'].write(`${text}\n`)
  process.exit(code)
}

function headComment(file: string): string {
  const comment = /^(?:#!.*\n)?\/\*\*([\s\S]*?)\*\//.exec(readFileSync(file, 'utf8'))?.[1] ?? ''
  return comment.replace(/^ *\* ?/gm, '').trim()
}
