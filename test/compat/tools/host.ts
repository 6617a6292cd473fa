import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { root } from '../../support/files.ts'
import { kafkaLibs, type KafkaTool, kafkaTools, kafkaVersion } from '../../support/kafka-oracle.ts'
import { type Outcome, track } from '../../support/process.ts'

type Answer = { readonly id: number } & (
  | { readonly stdout: string }
  | { readonly stderr: string }
  | { readonly code: number }
)

/** No command of a case takes longer; one that hangs is ended and fails its case. */
const TIMEOUT_MS = 60_000

/** A pipe that keeps no process from ending. */
function unref(stream: unknown): void {
  if (stream instanceof Socket) stream.unref()
}

/** A JVM that runs Kafka's command-line tools, any number of them, one after another or side by side: a start costs a second. */
export class ToolHost {
  readonly #process: ChildProcess
  readonly #running = new Map<number, RunningTool>()
  #lastId = 0
  #errors = ''

  constructor() {
    const libs = kafkaLibs()
    const tools = `kafka-tools-${kafkaVersion}.jar`
    // Without the tools: each command loads a copy of its own.
    const classPath = readdirSync(libs)
      .filter((name) => name.endsWith('.jar') && name !== tools)
      .map((name) => join(libs, name))
    const source = join(root, 'test', 'compat', 'tools', 'ToolHost.java')
    const flags = [
      '-Xmx512M',
      '-XX:+UseSerialGC',
      '-XX:TieredStopAtLevel=1',
      '-Duser.timezone=UTC',
      '--add-opens=java.base/java.lang=ALL-UNNAMED',
    ]
    this.#process = spawn('java', [...flags, '-cp', classPath.join(':'), source, join(libs, tools)])
    track(this.#process)
    // It never keeps this process from ending: it ends with its standard input.
    this.#process.unref()
    for (const stream of [this.#process.stdin, this.#process.stdout, this.#process.stderr]) unref(stream)
    this.#process.stderr?.on('data', (chunk: Buffer) => (this.#errors += chunk.toString()))
    if (this.#process.stdout !== null) {
      createInterface({ input: this.#process.stdout }).on('line', (line) => this.#answered(JSON.parse(line) as Answer))
    }
    this.#process.once('close', () => {
      for (const tool of this.#running.values()) tool.fail(this.#death())
    })
  }

  /** Starts a tool; `name` is that of its script without `kafka-` and `.sh`. */
  start(name: KafkaTool, args: readonly string[], input = ''): RunningTool {
    const id = ++this.#lastId
    const tool = new RunningTool(`${name} ${args.join(' ')}`, () => this.#send({ id, stop: true }))
    this.#running.set(id, tool)
    if (this.#hasEnded) tool.fail(this.#death())
    else this.#send({ id, run: kafkaTools[name], args, input })
    return tool
  }

  get #hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null
  }

  #death(): Error {
    return new Error(`the JVM of the tools ended\n${this.#errors}`)
  }

  #send(request: object): void {
    this.#process.stdin?.write(`${JSON.stringify(request)}\n`)
  }

  #answered(answer: Answer): void {
    const tool = this.#running.get(answer.id)
    if (tool === undefined) return
    if ('code' in answer) {
      this.#running.delete(answer.id)
      tool.end(answer.code)
    } else if ('stdout' in answer) tool.print('stdout', answer.stdout)
    else tool.print('stderr', answer.stderr)
  }
}

/** One command: what it has printed so far, and its end. */
export class RunningTool {
  readonly outcome: Promise<Outcome>
  readonly #name: string
  readonly #stop: () => void
  readonly #printed = { stdout: '', stderr: '' }
  #onPrint: () => void = () => {}
  #settle = Promise.withResolvers<Outcome>()
  #timer: NodeJS.Timeout

  constructor(name: string, stop: () => void) {
    this.#name = name
    this.#stop = stop
    this.outcome = this.#settle.promise
    this.outcome.catch(() => {})
    this.#timer = setTimeout(() => {
      this.fail(new Error(`not within ${TIMEOUT_MS} ms: ${this.#name}\n${this.#printed.stdout}${this.#printed.stderr}`))
      stop()
    }, TIMEOUT_MS)
  }

  /** SIGTERM. */
  async stop(): Promise<Outcome> {
    this.#stop()
    return await this.outcome
  }

  /** Resolves when its standard output matches; rejects when it ends before. */
  async prints(pattern: RegExp): Promise<void> {
    const seen = new Promise<void>((resolve) => {
      this.#onPrint = () => {
        if (pattern.test(this.#printed.stdout)) resolve()
      }
      this.#onPrint()
    })
    const ended = this.outcome.then(({ stdout, stderr }) => {
      if (!pattern.test(stdout)) throw new Error(`${this.#name} ended without ${pattern}\n${stdout}${stderr}`)
    })
    await Promise.race([seen, ended])
  }

  print(stream: 'stdout' | 'stderr', latin1: string): void {
    this.#printed[stream] += latin1
    this.#onPrint()
  }

  end(code: number): void {
    clearTimeout(this.#timer)
    const text = (latin1: string) => Buffer.from(latin1, 'latin1').toString()
    this.#settle.resolve({ code, stdout: text(this.#printed.stdout), stderr: text(this.#printed.stderr) })
  }

  fail(error: Error): void {
    clearTimeout(this.#timer)
    this.#settle.reject(error)
  }
}
