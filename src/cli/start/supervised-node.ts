import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { ExitCode } from '../exit-code.ts'
import type { BannerFacts } from './banner.ts'
import type { NodePlan } from './nodes-plan.ts'

/** What a node tells the process that runs it, over the channel between them. */
export interface ServingMessage {
  readonly type: 'serving'
  readonly facts: BannerFacts
}

export interface SupervisedNodeOptions {
  /** Program and arguments in front of `start`. */
  readonly command: readonly string[]
  readonly logFormat: 'text' | 'json'
  /** Puts out a line of the node's, or about it. */
  say(line: string, isError: boolean): void
}

const BACKOFF_MS_MIN = 100
const BACKOFF_MS_MAX = 10_000
/** A node that served so long is well: its next crash is a new one. */
const WELL_AFTER_MS = 30_000
/** More than a node itself gives its stop. */
const STOP_DEADLINE_MS = 40_000

/** It cannot start: another try would end the same way. */
export class NodeRefusedError extends Error {
  override name = 'NodeRefusedError'
  readonly code: ExitCode

  constructor(code: ExitCode, message: string) {
    super(message)
    this.code = code
  }
}

/**
 * One node as a process of its own, started again whenever it ends without having been told to, after a pause that grows
 * while it keeps ending. Should this process die, the node notices by the closed channel and stops cleanly.
 */
export class SupervisedNode {
  readonly plan: NodePlan
  readonly #options: SupervisedNodeOptions
  readonly #serving = Promise.withResolvers<BannerFacts>()
  #child: ChildProcess | null = null
  #ended: Promise<void> = Promise.resolve()
  #backoffMs = BACKOFF_MS_MIN
  #timer: NodeJS.Timeout | null = null
  #isStopping = false

  constructor(plan: NodePlan, options: SupervisedNodeOptions) {
    this.plan = plan
    this.#options = options
    // Whether anybody waits for it or not.
    this.#serving.promise.catch(() => {})
  }

  /**
   * Resolves when it serves, however often it had to be started for that. Rejects with `NodeRefusedError` when it ends
   * before for a reason that stays.
   */
  start(args: readonly string[] = this.plan.args): Promise<BannerFacts> {
    this.#launch(args)
    return this.#serving.promise
  }

  #launch(args: readonly string[]): void {
    const { command, logFormat } = this.#options
    const [program, ...before] = command as [string, ...string[]]
    const all = [...before, 'start', '--supervised', '--log-format', logFormat, ...args]
    // In a group of its own, so that Ctrl-C reaches this process only: nodes are stopped one after the other.
    const child = spawn(program, all, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], detached: true })
    this.#child = child
    const startedMs = performance.now()
    this.#pipe(child.stdout as Readable, false)
    this.#pipe(child.stderr as Readable, true)
    child.on('message', (message: ServingMessage) => {
      if (message.type === 'serving') this.#serving.resolve(message.facts)
    })
    child.on('error', (error) => this.#serving.reject(error))
    this.#ended = new Promise((over) => {
      child.once('close', (code, signal) => {
        over()
        if (isRefusal(code)) this.#serving.reject(new NodeRefusedError(code, `${this.plan.name} cannot start`))
        this.#onEnded(args, signal === null ? `with code ${code}` : `by ${signal}`, performance.now() - startedMs)
      })
    })
  }

  #pipe(stream: Readable, isError: boolean): void {
    createInterface({ input: stream }).on('line', (line) => this.#options.say(this.#marked(line), isError))
  }

  /** Lines of JSON stay that. */
  #marked(line: string): string {
    const { name } = this.plan
    return line.startsWith('{"') ? `{"node":"${name}",${line.slice(1)}` : `${name} | ${line}`
  }

  #onEnded(args: readonly string[], how: string, livedMs: number): void {
    this.#child = null
    if (this.#isStopping) return
    if (livedMs >= WELL_AFTER_MS) this.#backoffMs = BACKOFF_MS_MIN
    this.#options.say(`${this.plan.name} | ended ${how}; starting again in ${this.#backoffMs} ms`, true)
    this.#timer = setTimeout(() => this.#again(args), this.#backoffMs)
    this.#backoffMs = Math.min(BACKOFF_MS_MAX, this.#backoffMs * 2)
  }

  #again(args: readonly string[]): void {
    this.#launch(args)
    this.#options.say(`${this.plan.name} | started again, pid ${this.#child?.pid ?? 'none'}`, true)
  }

  /** Resolves when the process has ended. */
  async stop(): Promise<void> {
    this.#isStopping = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    const child = this.#child
    if (child === null) return
    child.kill('SIGTERM')
    const deadline = setTimeout(() => child.kill('SIGKILL'), STOP_DEADLINE_MS)
    await this.#ended
    clearTimeout(deadline)
  }
}

function isRefusal(code: number | null): code is ExitCode {
  return code === ExitCode.usage || code === ExitCode.dataRefused || code === ExitCode.addressRefused
}
