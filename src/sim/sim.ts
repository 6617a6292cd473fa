import { poisonFreeBlocks } from '../base/blocks.ts'
import type { Actor } from './core/actor.ts'
import { replaceGlobals } from './core/globals.ts'
import { Scheduler } from './core/scheduler.ts'
import { Streams } from './core/streams.ts'
import { type DiskProfile, STEADY_DISK } from './disk/disk-faults.ts'
import { Knobs } from './knobs.ts'
import { LogKeeper } from './log-keeper.ts'
import { Machine } from './machine.ts'
import { type NetProfile, SimNet, STEADY_NET } from './net/sim-net.ts'

export interface SimOptions {
  readonly seed: number
  readonly disk?: DiskProfile
  readonly net?: NetProfile
  /** Default 20 million. */
  readonly stepsMax?: number
  /** Errors say where they come from, and what nodes log is kept: wanted when a run has failed, and it costs a tenth of its time. */
  readonly isExplained?: boolean
  /** Narrows what a scenario would draw. */
  readonly knobs?: ReadonlyMap<string, string>
}

const STEPS_MAX = 20_000_000

export interface Deadline {
  readonly withinMs: number
  /** What is demanded; asked for when it did not come. */
  readonly what: string | (() => string)
}

/** What a scenario acts on: virtual time, machines, the network between them. */
export class Sim {
  readonly seed: number
  readonly streams: Streams
  readonly scheduler: Scheduler
  readonly net: SimNet
  readonly logs = new LogKeeper()
  readonly machines: Machine[] = []
  readonly knobs: Knobs
  readonly #diskProfile: DiskProfile
  /** The scenario itself: it lives as long as the run. */
  readonly #actor: Actor = { id: 1, name: 'scenario', alive: true, pausedUntilMs: 0 }
  #actors = 1

  constructor(options: SimOptions) {
    this.seed = options.seed
    this.knobs = new Knobs(options.knobs)
    const streams = new Streams(options.seed)
    this.streams = streams
    this.scheduler = new Scheduler({
      random: streams.schedule,
      draws: () => streams.draws,
      stepsMax: options.stepsMax ?? STEPS_MAX,
    })
    this.net = new SimNet({
      events: this.scheduler,
      random: streams.net,
      profile: options.net ?? STEADY_NET,
      traced: true,
    })
    this.#diskProfile = options.disk ?? STEADY_DISK
  }

  get nowMs(): number {
    return this.scheduler.nowMs
  }

  addMachine(name: string): Machine {
    const machine = new Machine({
      name,
      scheduler: this.scheduler,
      streams: this.streams,
      net: this.net,
      logs: this.logs,
      diskProfile: this.#diskProfile,
      nextActorId: () => ++this.#actors,
    })
    this.machines.push(machine)
    return machine
  }

  /** A line among those of the nodes. */
  log(line: string): void {
    this.logs.add(`${this.nowMs.toFixed(3)} scenario ${line}`)
  }

  /** Lets the world go on for `ms` of virtual time. */
  runFor(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(ms, resolve)
    })
  }

  /** Something the scenario does later, while it does other things. */
  after(ms: number, action: () => void): void {
    this.scheduler.schedule(this.#actor, ms, 'scenario', 0, action)
  }

  /** Lets the world go on until `condition` holds; looks every `everyMs`. Throws when it does not hold `withinMs` from now. */
  async until(condition: () => boolean, options: Deadline & { everyMs?: number }): Promise<void> {
    const deadlineMs = this.nowMs + options.withinMs
    while (!condition()) {
      if (this.nowMs >= deadlineMs) throw new NotInTimeError(options)
      await this.runFor(options.everyMs ?? 10)
    }
  }

  /** Settles as `promise` does; throws when that takes longer than `withinMs`. */
  within<T>(promise: Promise<T>, options: Deadline): Promise<T> {
    return new Promise((resolve, reject) => {
      promise.then(resolve, reject)
      this.after(options.withinMs, () => {
        reject(new NotInTimeError(options))
      })
    })
  }
}

/** Progress that was demanded and did not come. */
export class NotInTimeError extends Error {
  override name = 'NotInTimeError'

  constructor({ withinMs, what }: Deadline) {
    super(`${typeof what === 'string' ? what : what()}: not within ${withinMs} ms`)
  }
}

export interface RunReport {
  readonly seed: number
  readonly hash: string
  readonly steps: number
  readonly virtualMs: number
}

/** A run that ended with an error, with what helps to understand it. */
export class RunFailure extends Error {
  override name = 'RunFailure'
  readonly report: RunReport
  readonly knobs: Knobs
  readonly recentSteps: readonly string[]
  readonly logLines: readonly string[]

  constructor(sim: Sim, cause: unknown) {
    const text = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)
    super(`seed ${sim.seed}, step ${sim.scheduler.step}, ${sim.nowMs.toFixed(3)} ms: ${text}`, { cause })
    this.report = reportOf(sim)
    this.knobs = sim.knobs
    this.recentSteps = sim.scheduler.recentSteps
    this.logLines = sim.logs.lines
  }
}

/**
 * Runs `body` in a world of its own, in virtual time. Throws `RunFailure` when the body, the code under simulation or an
 * invariant failed. One run at a time in a process: the globals that reach past the simulator are replaced meanwhile.
 */
export async function simulate(options: SimOptions, body: (sim: Sim) => Promise<void>): Promise<RunReport> {
  // Whoever lets go of memory too early shall be found out (reliability X7).
  poisonFreeBlocks()
  const sim = new Sim(options)
  const onRejection = (error: unknown) => sim.scheduler.fail(error)
  process.on('unhandledRejection', onRejection)
  const restoreGlobals = replaceGlobals()
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = options.isExplained === false ? 0 : stackTraceLimit
  sim.logs.isOn = options.isExplained !== false
  try {
    let done = false
    body(sim).then(
      () => {
        done = true
      },
      (error) => sim.scheduler.fail(error),
    )
    await sim.scheduler.run(() => done)
    return reportOf(sim)
  } catch (error) {
    throw new RunFailure(sim, error)
  } finally {
    restoreGlobals()
    Error.stackTraceLimit = stackTraceLimit
    process.off('unhandledRejection', onRejection)
  }
}

function reportOf(sim: Sim): RunReport {
  const { scheduler, seed } = sim
  return { seed, hash: scheduler.trace.hash, steps: scheduler.step, virtualMs: scheduler.nowMs }
}
