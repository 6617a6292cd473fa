import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { atExit } from '../support/at-exit.ts'
import { ownEnvironment } from '../support/process.ts'
import { type Answer, type Command, type Declaration, type Failure, features, type Op } from './protocol.ts'

/** The client, or the server through it, refused a command as a whole. */
export class Refused extends Error {
  override name = 'Refused'
  readonly failure: Failure

  constructor(op: Op, failure: Failure) {
    super(`${op}: ${failure.name} (${failure.code}): ${failure.message}`)
    this.failure = failure
  }
}

const running = new Set<ChildProcess>()
atExit('processes', () => {
  for (const child of running) killGroup(child)
})

/** An adapter may have started processes of its own. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

interface Start {
  readonly command: readonly [string, ...string[]]
  readonly bootstrap: string
  readonly env: Readonly<Record<string, string>>
  /** What it prints on standard error is added there. */
  readonly errorFile: string
  readonly startMs: number
}

/** One process of a client. Commands are answered in order; one that takes too long ends the process. */
export class Adapter {
  readonly declaration: Declaration
  readonly #child: ChildProcess
  readonly #start: Start
  readonly #lines: Lines
  #last: Promise<unknown> = Promise.resolve()

  private constructor(child: ChildProcess, start: Start, lines: Lines, declaration: Declaration) {
    this.#child = child
    this.#start = start
    this.#lines = lines
    this.declaration = declaration
  }

  static async start(start: Start): Promise<Adapter> {
    const [program, ...args] = start.command
    const errors = openSync(start.errorFile, 'a')
    const child = spawn(program, [...args, start.bootstrap], {
      detached: true,
      env: { ...ownEnvironment(), ...start.env },
      stdio: ['pipe', 'pipe', errors],
    })
    closeSync(errors)
    running.add(child)
    child.once('close', () => running.delete(child))
    child.stdin?.on('error', () => {}) // its end is told by the lines
    const lines = new Lines(child)
    try {
      const declaration = readDeclaration(await lines.next(start.startMs))
      return new Adapter(child, start, lines, declaration)
    } catch (error) {
      killGroup(child)
      throw new Error(`${start.command.join(' ')} did not start: ${String(error)}\n${tail(start.errorFile)}`, {
        cause: error,
      })
    }
  }

  get isRunning(): boolean {
    return running.has(this.#child)
  }

  /** The answer. Rejects with `Refused` when there is an error instead, with another error when there is none. */
  async ask<O extends Op>(op: O, command: Command<O>, timeoutMs = 30_000): Promise<Answer<O>> {
    const asked = this.#last.then(async () => {
      this.#child.stdin?.write(`${JSON.stringify({ op, ...command })}\n`)
      return this.#lines.next(timeoutMs)
    })
    this.#last = asked.catch(() => {})
    const line = await asked.catch((error: Error) => {
      this.kill()
      throw new Error(`${op}: ${error.message}\n${tail(this.#start.errorFile)}`, { cause: error })
    })
    const answer = JSON.parse(line) as { ok?: Answer<O>; error?: Failure }
    if (answer.ok !== undefined) return answer.ok
    if (answer.error === undefined) throw new Error(`${op}: neither ok nor error in ${line}`)
    throw new Refused(op, answer.error)
  }

  /** The error that the command must end with. */
  async refusal<O extends Op>(op: O, command: Command<O>, timeoutMs?: number): Promise<Failure> {
    try {
      const answer = await this.ask(op, command, timeoutMs)
      throw new Error(`${op} was not refused: ${JSON.stringify(answer)}`)
    } catch (error) {
      if (error instanceof Refused) return error.failure
      throw error
    }
  }

  /** SIGKILL, for it and what it started. */
  kill(): void {
    killGroup(this.#child)
  }
}

/** What a process prints, line by line. */
class Lines {
  readonly #ready: string[] = []
  #hasEnded = false
  #waiting: { resolve(line: string): void; reject(error: Error): void } | null = null

  constructor(child: ChildProcess) {
    const end = () => {
      this.#hasEnded = true
      this.#waiting?.reject(new Error('the adapter ended'))
    }
    child.once('error', end)
    if (child.stdout === null) return
    const reader = createInterface({ input: child.stdout })
    reader.on('line', (line) => {
      if (this.#waiting === null) this.#ready.push(line)
      else this.#waiting.resolve(line)
      this.#waiting = null
    })
    reader.once('close', end)
  }

  next(timeoutMs: number): Promise<string> {
    const ready = this.#ready.shift()
    if (ready !== undefined) return Promise.resolve(ready)
    if (this.#hasEnded) return Promise.reject(new Error('the adapter has ended'))
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting = null
        reject(new Error(`no answer within ${timeoutMs} ms`))
      }, timeoutMs)
      const settled =
        <T>(settle: (value: T) => void) =>
        (value: T) => {
          clearTimeout(timer)
          settle(value)
        }
      this.#waiting = { resolve: settled(resolve), reject: settled(reject) }
    })
  }
}

function readDeclaration(line: string): Declaration {
  const declaration = JSON.parse(line) as Declaration
  const unknown = Object.keys(declaration.unsupported).filter((name) => !(features as readonly string[]).includes(name))
  if (unknown.length > 0) throw new Error(`no features: ${unknown.join(', ')}`)
  return declaration
}

function tail(file: string): string {
  return readFileSync(file, 'utf8').slice(-3000)
}
