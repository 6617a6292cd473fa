import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type KafkaTool, kafkaTools } from '../../support/kafka-oracle.ts'
import type { Outcome } from '../../support/process.ts'
import type { RunningTool, ToolHost } from './host.ts'
import { settled } from './settled.ts'

export interface LineOptions {
  /** Standard input of the tool. */
  readonly input?: string
  /** Lines whose order is promised: they are compared as one text. */
  readonly ordered?: boolean
  /** What must differ beyond `always`, and what stands for it. */
  readonly mask?: readonly (readonly [RegExp, string])[]
  /** For a line that ends by the clock, and may so on a slow machine before all has come: it runs again until its output matches, for a minute. */
  readonly until?: RegExp
}

const UNTIL_WITHIN_MS = 60_000

/** Lines after which the next one waits until the broker knows: a user who reads at once would look again. */
const changes = / --(create|alter|delete|execute)\b/

/** Lines as keys, so that one that only one server gives is one difference, named by its text; `true`, or how often it came. */
type Lines = string | Readonly<Record<string, true | number>>

/** What a command line did: its exit code, and what it printed where. Nothing in it changes from run to run. */
export interface Entry {
  readonly code: number
  readonly stdout: Lines
  readonly stderr: Lines
}

/** What differs between any two runs. */
const always: readonly (readonly [RegExp, string])[] = [
  [/127\.0\.0\.1:\d+/g, 'HOST:PORT'],
  [/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, 'UUID'],
  [/((?:Topic ?Id|Cluster ?ID|Directory ?Id)"?: *"?)[\w-]{22}\b/gi, '$1ID'],
  [/\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[:.,]\d{3}Z?/g, 'DATETIME'],
  [/\b1[789]\d{11}\b/g, 'TIME'],
  [/\bconsole-consumer-\d+\b/g, 'console-consumer-N'],
  // Columns are as wide as what stands in them.
  [/[ \t]+/g, ' '],
]

/** The command lines that a case runs against one server, and what came of them. */
export class Transcript {
  readonly entries: Record<string, Entry> = {}
  readonly #host: ToolHost
  readonly #address: string
  /** In that of the server. */
  readonly #directory: string

  constructor(host: ToolHost, server: { readonly address: string }, directory: string) {
    this.#host = host
    this.#address = server.address
    this.#directory = directory
  }

  /** A file for a tool to read; its name is the same for both servers when it is shown. */
  file(name: string, content: string): string {
    const path = join(this.#directory, name)
    writeFileSync(path, content)
    return path
  }

  /** Runs `topics --list` to its end, notes what it printed, and returns that as it was. */
  async run(line: string, options: LineOptions = {}): Promise<Outcome> {
    const outcome = await this.#outcome(line, options)
    this.note(line, outcome, options)
    return outcome
  }

  /** Runs it without a note: its output is no matter of the case, only that it worked. */
  async quietly(line: string, options: LineOptions = {}): Promise<Outcome> {
    const outcome = await this.#outcome(line, options)
    if (outcome.code !== 0) throw new Error(`${line} ended with ${outcome.code}\n${outcome.stdout}${outcome.stderr}`)
    return outcome
  }

  async #outcome(line: string, options: LineOptions): Promise<Outcome> {
    const giveUp = performance.now() + UNTIL_WITHIN_MS
    for (;;) {
      const outcome = await this.start(line, options).outcome
      if (changes.test(line)) await settled(this.#address)
      if (options.until?.test(outcome.stdout) !== false || performance.now() >= giveUp) return outcome
    }
  }

  /** Runs it beside what follows. */
  start(line: string, options: LineOptions = {}): RunningTool {
    const [name = '', ...args] = words(line)
    if (!(name in kafkaTools)) throw new Error(`${name} is none of Kafka's tools`)
    const placed = args.map((arg) => (arg === '%' ? this.#address : arg))
    const all = args.includes('%') ? placed : ['--bootstrap-server', this.#address, ...placed]
    return this.#host.start(name as KafkaTool, all, options.input)
  }

  note(line: string, outcome: Outcome, options: LineOptions = {}): void {
    let key = `kafka-${this.#masked(line, [])}`
    while (key in this.entries) key += ' (again)'
    this.entries[key] = {
      code: outcome.code,
      stdout: this.#lines(outcome.stdout, options),
      stderr: this.#lines(outcome.stderr, options),
    }
  }

  #lines(text: string, { mask = [], ordered = false }: LineOptions): Lines {
    const lines = text
      .split('\n')
      .map((line) => this.#masked(line, mask).trim())
      // Where in the tool's own code something went wrong is no matter of the server.
      .filter((line) => line !== '' && !/^at [\w.$/<>]+\(/.test(line))
    return ordered ? lines.join('\n') : byText(lines)
  }

  #masked(line: string, mask: NonNullable<LineOptions['mask']>): string {
    const own = line.replaceAll(this.#directory, 'DIR').replaceAll(dirname(this.#directory), 'SERVER')
    return [...mask, ...always].reduce((text, [pattern, by]) => text.replace(pattern, by), own)
  }
}

function byText(lines: readonly string[]): Record<string, true | number> {
  const counts = new Map<string, number>()
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1)
  return Object.fromEntries([...counts].map(([line, count]) => [line, count === 1 ? true : count]))
}

/** A line as a shell takes it apart, with single quotes. */
function words(line: string): string[] {
  return [...line.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", ''))
}
