import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

/**
 * Scenarios as text, after etcd's and CockroachDB's datadriven tests. A file is a sequence of blocks, kept apart by
 * blank lines; comments begin with `#`.
 *
 * ```text
 * # why this step
 * command word key=value list=(1,2)
 * ----
 * what the command answered
 * ```
 * With MILLRACE_UPDATE=1 the answers are written into the files instead of compared; the diff is then reviewed.
 */
export class Command {
  readonly name: string
  readonly #args: ReadonlyMap<string, string>
  readonly words: readonly string[]

  constructor(line: string) {
    const [name = '', ...parts] = line.trim().split(/\s+/)
    this.name = name
    this.words = parts.filter((part) => !part.includes('='))
    this.#args = new Map(
      parts
        .filter((part) => part.includes('='))
        .map((part) => [part.slice(0, part.indexOf('=')), part.slice(part.indexOf('=') + 1)]),
    )
  }

  has(key: string): boolean {
    return this.#args.has(key)
  }

  text(key: string, absent?: string): string {
    const value = this.#args.get(key) ?? absent
    assert.ok(value !== undefined, `${this.name} needs ${key}=`)
    return value
  }

  number(key: string, absent?: number): number {
    const value = this.#args.get(key)
    if (value === undefined && absent !== undefined) return absent
    const number = Number(this.text(key))
    assert.ok(!Number.isNaN(number), `${this.name} ${key}=${value} is no number`)
    return number
  }

  /** `1,2,3` or `(1,2,3)`; the empty list is `()`. */
  numbers(key: string, absent?: readonly number[]): readonly number[] {
    if (!this.has(key) && absent !== undefined) return absent
    const inner = this.text(key).replace(/^\(|\)$/g, '')
    return inner === '' ? [] : inner.split(',').map(Number)
  }
}

type Run = (command: Command) => string

/**
 * One test per `*.txt` in `testdata` (or another folder) beside the module `url`; `start` makes the machine that answers one
 * file's commands.
 */
export function scenarios(url: string, start: () => Run, inFolder = 'testdata'): void {
  const folder = join(fileURLToPath(new URL('.', url)), inFolder)
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.txt'))) {
    test(`scenario ${basename(file, '.txt')}`, () => {
      const path = join(folder, file)
      const before = readFileSync(path, 'utf8')
      const after = answer(before, start())
      if (process.env.MILLRACE_UPDATE === '1') writeFileSync(path, after)
      else assert.equal(after, before)
    })
  }
}

/** The text with each answer replaced by what `run` gives. */
function answer(text: string, run: Run): string {
  const blocks = text.trimEnd().split(/\n\n+/)
  return `${blocks.map((block) => answerBlock(block, run)).join('\n\n')}\n`
}

function answerBlock(block: string, run: Run): string {
  const { asked, commands } = askedBy(block)
  if (commands.length === 0) return block
  const answers = commands.map((command) => run(command)).filter((text) => text !== '')
  return [...asked, '----', ...answers].join('\n')
}

/** The same for a machine that has to be waited for. */
export async function answerLater(text: string, run: (command: Command) => Promise<string>): Promise<string> {
  const answered: string[] = []
  for (const block of text.trimEnd().split(/\n\n+/)) {
    const { asked, commands } = askedBy(block)
    const answers: string[] = []
    for (const command of commands) answers.push(await run(command))
    answered.push(commands.length === 0 ? block : [...asked, '----', ...answers].join('\n'))
  }
  return `${answered.join('\n\n')}\n`
}

function askedBy(block: string): { readonly asked: readonly string[]; readonly commands: readonly Command[] } {
  const lines = block.split('\n')
  const rule = lines.indexOf('----')
  const asked = rule < 0 ? lines : lines.slice(0, rule)
  const commands = asked.filter((line) => line.trim() !== '' && !line.startsWith('#'))
  return { asked, commands: commands.map((line) => new Command(line)) }
}
