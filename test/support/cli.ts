import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { removeTemporary, root, temporaryDirectory } from './files.ts'
import { Background, type Outcome, run, until } from './process.ts'

const COMMAND = join(root, 'bin', 'millrace')
/** No verb of a test takes longer; one that hangs is killed and fails its test. */
const TIMEOUT_MS = 60_000

/** The commands as a user has them in a shell, all for one server. */
export class Cli {
  readonly directory: string
  readonly #env: Record<string, string>

  constructor(context: TestContext, address: string) {
    this.directory = temporaryDirectory('cli')
    this.#env = { MILLRACE_SERVER: address }
    context.after(() => removeTemporary(this.directory))
  }

  /** Runs `millrace` with these arguments to its end. */
  run(args: readonly string[], input?: string | Buffer): Promise<Outcome> {
    const options = { env: this.#env, timeoutMs: TIMEOUT_MS }
    return run(COMMAND, args, input === undefined ? options : { ...options, input })
  }

  /** What it printed; fails the test when it did not end with 0. */
  async text(args: readonly string[], input?: string | Buffer): Promise<string> {
    const { code, stdout, stderr } = await this.run(args, input)
    if (code !== 0) throw new Error(`millrace ${args.join(' ')} ended with ${code}\n${stdout}${stderr}`)
    return stdout
  }

  async json<T>(args: readonly string[]): Promise<T> {
    return JSON.parse(await this.text([...args, '--format', 'json'])) as T
  }

  /** A line of shell in the directory of this test, with `millrace` as a command. */
  shell(line: string): Promise<Outcome> {
    const script = `millrace() { '${COMMAND}' "$@"; }\n${line}`
    return run('sh', ['-c', script], { env: this.#env, cwd: this.directory, timeoutMs: TIMEOUT_MS })
  }

  /** Runs beside the test; the caller ends it. */
  background(context: TestContext, args: readonly string[]): Running {
    const name = `millrace-${args[0]}`
    const outputFile = join(this.directory, `${name}.out`)
    const errorFile = join(this.directory, `${name}.err`)
    const child = new Background(name, COMMAND, args, { outputFile, errorFile, env: this.#env })
    context.after(() => child.kill())
    return new Running(child, errorFile)
  }
}

export class Running {
  readonly #process: Background
  readonly #errorFile: string

  constructor(process: Background, errorFile: string) {
    this.#process = process
    this.#errorFile = errorFile
  }

  /** Waits until it has printed exactly this. */
  async printed(expected: string): Promise<void> {
    await until(`output is ${JSON.stringify(expected)}`, () => this.#progress(expected), { timeoutMs: TIMEOUT_MS })
  }

  #progress(expected: string): true | null {
    const output = this.#process.output()
    if (this.#process.hasEnded && output !== expected) throw new Error(`it ended after ${output}${this.errors()}`)
    return output === expected ? true : null
  }

  /** Waits until it has said this on stderr. */
  async complained(expected: RegExp): Promise<void> {
    const said = () => (expected.test(this.errors()) ? true : null)
    await until(`stderr matches ${expected}`, said, { timeoutMs: TIMEOUT_MS })
  }

  errors(): string {
    return readFileSync(this.#errorFile, 'utf8')
  }

  /** Ctrl-C. Returns the exit code. */
  async interrupt(): Promise<number> {
    this.#process.signal('SIGINT')
    return await this.#process.ended
  }
}
