import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { atExit } from './at-exit.ts'

export interface RunOptions {
  readonly cwd?: string
  readonly env?: Record<string, string>
  /** Written to its standard input, which is then closed. */
  readonly input?: string | Buffer
  /** Killed after this long. */
  readonly timeoutMs?: number
}

export interface Outcome {
  /** Exit code, or -1 when a signal ended it. */
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Whatever this process started dies with it, however it ends short of SIGKILL. */
const running = new Set<ChildProcess>()
atExit('processes', () => {
  for (const child of running) child.kill('SIGKILL')
})

export function track(child: ChildProcess): void {
  running.add(child)
  child.once('close', () => running.delete(child))
}

/** Without the variables that configure a node or this harness: a test's node is configured by the test alone. */
export function ownEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(MILLRACE|KAFKA)_/.test(name)))
}

/** Runs a command to its end and returns what it printed. Never rejects for an exit code. */
export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: { ...ownEnvironment(), ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: options.timeoutMs ?? 600_000,
    killSignal: 'SIGKILL',
  })
  track(child)
  const stdout: Buffer[] = []
  const stderr: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk))
  child.stdin.on('error', () => {}) // it may end without reading all
  child.stdin.end(options.input)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      resolve({
        code: code ?? -1,
        stdout: Buffer.concat(stdout).toString(),
        stderr: Buffer.concat(stderr).toString(),
      })
    })
  })
}

/** As `run`, but an exit code other than 0 is an error that shows what was printed. */
export async function runOrFail(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await run(command, args, options)
  if (code !== 0) {
    throw new Error(`${command} ${args.join(' ')} ended with ${code}\n${stdout.slice(-4000)}${stderr.slice(-4000)}`)
  }
  return stdout
}

/** A process that runs beside the test; what it prints goes to a file. */
export class Background {
  readonly name: string
  readonly child: ChildProcess
  readonly outputFile: string
  /** Resolves with the exit code (-1 for a signal) when it has ended. */
  readonly ended: Promise<number>
  hasEnded = false

  constructor(
    name: string,
    command: string,
    args: readonly string[],
    options: { outputFile: string; errorFile?: string; env?: Record<string, string>; input?: 'pipe'; append?: boolean },
  ) {
    this.name = name
    this.outputFile = options.outputFile
    const output = openSync(options.outputFile, options.append === true ? 'a' : 'w')
    const errors = options.errorFile === undefined ? output : openSync(options.errorFile, 'a')
    this.child = spawn(command, args, {
      env: { ...ownEnvironment(), ...options.env },
      stdio: [options.input ?? 'ignore', output, errors],
    })
    closeSync(output)
    if (errors !== output) closeSync(errors)
    track(this.child)
    this.ended = new Promise((resolve, reject) => {
      this.child.once('error', reject)
      this.child.once('close', (code) => {
        this.hasEnded = true
        resolve(code ?? -1)
      })
    })
    this.ended.catch(() => {})
  }

  get pid(): number {
    if (this.child.pid === undefined) throw new Error(`${this.name} did not start`)
    return this.child.pid
  }

  signal(signal: NodeJS.Signals): void {
    if (this.hasEnded) return
    try {
      process.kill(this.pid, signal)
    } catch (error) {
      // It has ended already, and the event that says so is still on its way to us.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }

  /** `kill -9`, and waits until it is gone. */
  async kill(): Promise<void> {
    this.signal('SIGKILL')
    await this.ended
  }

  /** SIGTERM, then SIGKILL when that takes too long. Returns the exit code. */
  async stop(withinMs = 20_000): Promise<number> {
    this.signal('SIGTERM')
    const timer = setTimeout(() => this.signal('SIGKILL'), withinMs)
    const code = await this.ended
    clearTimeout(timer)
    return code
  }

  /** What it printed, its end first to matter. */
  output(bytes = 6000): string {
    return readFileSync(this.outputFile, 'utf8').slice(-bytes)
  }
}

/** Asks again and again until `probe` answers something other than null; the one place where tests wait by the clock. */
export async function until<T>(
  what: string,
  probe: () => Promise<T | null> | T | null,
  options: { timeoutMs: number; everyMs?: number },
): Promise<T> {
  const deadline = performance.now() + options.timeoutMs
  for (;;) {
    const answer = await probe()
    if (answer !== null) return answer
    if (performance.now() > deadline) throw new Error(`not within ${options.timeoutMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, options.everyMs ?? 50))
  }
}
