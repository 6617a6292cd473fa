import type { Command } from 'commander'
import { CommandError, ExitCode } from './exit-code.ts'

/** What nearly every verb takes, and so may stand in front of it, too. */
const TAKEN: Readonly<Record<string, string>> = { '-s': '--server', '--server': '--server', '--format': '--format' }
/** Of the program and of each group of verbs. */
const OWN: ReadonlySet<string> = new Set(['-h', '--help', '-V', '--version'])

export interface LeadingOptions {
  /** `--server`, its value, …: those that stood in front of the verb. */
  readonly options: readonly string[]
  /** The line without them. */
  readonly words: readonly string[]
  /** How many of these name the verb (`topic ls`: 2); null: it is not named, or does not exist. */
  readonly verbWords: number | null
}

/** Takes `-s HOST:PORT topic ls` apart. Throws `CommandError` for an option that only stands behind its verb. */
export function leadingOptions(program: Command, line: readonly string[]): LeadingOptions {
  const options: string[] = []
  const words: string[] = []
  let command = program
  let index = 0
  for (; index < line.length && command.commands.length > 0; index++) {
    const word = line[index] ?? ''
    const { name, value } = parts(word)
    const option = TAKEN[name]
    if (option !== undefined && (value !== null || index + 1 < line.length)) {
      options.push(option, value ?? line[++index] ?? '')
      continue
    }
    const next = subcommand(command, word)
    if (next === null) {
      if (word.startsWith('-')) refuseMisplaced(command, [...words, ...line.slice(index)], words.length)
      break
    }
    words.push(word)
    command = next
  }
  const verbWords = command.commands.length === 0 ? words.length : null
  return { options, words: [...words, ...line.slice(index)], verbWords }
}

/** The line as verbs understand it. */
export function behindVerb({ options, words, verbWords }: LeadingOptions): string[] {
  // Without a verb, that it is missing is what has to be said.
  return verbWords === null ? [...words] : [...words.slice(0, verbWords), ...options, ...words.slice(verbWords)]
}

/** `--server=A`, `-sA`; null: the value is the next word. */
function parts(word: string): { name: string; value: string | null } {
  const end = word.startsWith('--') ? word.indexOf('=') : word.startsWith('-s') && word.length > 2 ? 2 : -1
  if (end < 0) return { name: word, value: null }
  return { name: word.slice(0, end), value: word.slice(word.startsWith('--') ? end + 1 : end) }
}

function subcommand(command: Command, word: string): Command | null {
  return command.commands.find((each) => each.name() === word || each.aliases().includes(word)) ?? null
}

function refuseMisplaced(command: Command, line: readonly string[], at: number): void {
  const word = line[at] ?? ''
  const verb = line.slice(at + 1).find((each) => subcommand(command, each) !== null)
  if (OWN.has(word) || verb === undefined) return
  const before = ['millrace', ...line.slice(0, at), verb].join(' ')
  throw new CommandError(ExitCode.usage, `${word} stands behind the command that it is for: ${before} … ${word}`)
}
