import type { Argument, Command, Option } from 'commander'

/** What may stand at a place: words that are known now, or names that have to be asked for. */
export type Candidates =
  | { readonly type: 'words'; readonly words: readonly string[] }
  | { readonly type: 'topics' | 'groups' | 'files' | 'errors' | 'settings' }

const NOTHING: Candidates = { type: 'words', words: [] }

/** Options whose value is a file or a folder. */
const FILE_OPTIONS: ReadonlySet<string> = new Set(['--data', '--config-file', '--measured'])

/** What `words` (without the program's name) may go on with, where the last of them is being written. By the table that --help shows. */
export function candidatesFor(program: Command, words: readonly string[]): Candidates {
  const current = words.at(-1) ?? ''
  let command = program
  let given = 0
  let open: Option | null = null
  for (const word of words.slice(0, -1)) {
    if (open !== null) open = null
    else if (word.startsWith('-')) open = valueOf(command, word)
    else {
      const next = subcommand(command, word)
      if (next === null) given++
      else command = next
    }
  }
  if (open !== null) return ofOption(command, open)
  if (current.startsWith('-')) return { type: 'words', words: flagsOf(command) }
  const names = subcommands(command).map((each) => each.name())
  return names.length > 0 ? { type: 'words', words: names } : ofArgument(command, given)
}

/** The option of this name, when a word of its own follows it. */
function valueOf(command: Command, word: string): Option | null {
  const option = command.options.find(({ short, long }) => short === word || long === word)
  return option !== undefined && (option.required || option.optional) ? option : null
}

function subcommand(command: Command, word: string): Command | null {
  return command.commands.find((each) => each.name() === word || each.aliases().includes(word)) ?? null
}

function subcommands(command: Command): Command[] {
  return command.commands.filter((each) => !each.name().startsWith('_'))
}

function flagsOf(command: Command): string[] {
  const shown = command.options.filter(({ hidden }) => !hidden)
  return [...shown.flatMap(({ long, short }) => long ?? short ?? []), '--help']
}

function ofOption(command: Command, option: Option): Candidates {
  if (option.argChoices !== undefined) return { type: 'words', words: option.argChoices }
  if (option.long === '--topic') return { type: 'topics' }
  if (option.long === '--group') return { type: 'groups' }
  const takesFile = FILE_OPTIONS.has(option.long ?? '') || (command.name() === 'start' && option.long === '--config')
  return takesFile ? { type: 'files' } : NOTHING
}

/** By the name of the argument, and by the command it is of. */
function ofArgument(command: Command, given: number): Candidates {
  const all: readonly Argument[] = command.registeredArguments
  const argument = all[given] ?? (all.at(-1)?.variadic === true ? all.at(-1) : undefined)
  if (argument === undefined) return NOTHING
  if (argument.argChoices !== undefined) return { type: 'words', words: argument.argChoices }
  const isOfTopic = command.parent?.name() === 'topic' && command.name() !== 'create'
  switch (argument.name()) {
    case 'topic':
      return { type: 'topics' }
    case 'name':
      return isOfTopic ? { type: 'topics' } : NOTHING
    case 'group':
      return { type: 'groups' }
    case 'file':
      return { type: 'files' }
    case 'error':
      return { type: 'errors' }
    case 'key':
      return { type: 'settings' }
    default:
      return NOTHING
  }
}
