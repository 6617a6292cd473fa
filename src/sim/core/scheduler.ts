import { assert } from '../../base/assert.ts'
import { Heap } from '../../base/heap.ts'
import type { Random } from '../../base/random.ts'
import type { Actor } from './actor.ts'
import type { Events, Scheduled } from './events.ts'
import { microtasksDone, realTurn } from './real-loop.ts'
import { Trace } from './trace.ts'

/** How many steps of the run are kept to be shown when it fails. */
const STEPS_KEPT = 60
/** Steps between two turns of the real event loop. */
const STEPS_PER_TURN = 1024
/** Equal times are told apart by up to this much, so that the seed decides their order. */
const TIE_MS = 0.001

export class StuckError extends Error {
  override name = 'StuckError'
}

class Event implements Scheduled {
  readonly actor: Actor
  readonly kind: string
  readonly digest: number
  run: (() => void) | null

  constructor(actor: Actor, kind: string, digest: number, run: () => void) {
    this.actor = actor
    this.kind = kind
    this.digest = digest
    this.run = run
  }

  cancel(): void {
    this.run = null
  }
}

interface Step {
  readonly step: number
  readonly atMs: number
  readonly event: Event
}

export interface SchedulerOptions {
  /** Decides the order of what is due together. Null: first in, first out. */
  readonly random: Random | null
  /** Numbers drawn so far, all streams together. */
  readonly draws: () => number
  /** A run that takes more steps than this is taken for endless. */
  readonly stepsMax: number
}

/**
 * Virtual time. One event at a time is taken, run, and everything it set off (microtasks) has run before the invariants
 * are checked and the next event is taken. V8 runs microtasks first in, first out, so a run is determined by its seed.
 */
export class Scheduler implements Events {
  nowMs = 0
  step = 0
  readonly trace = new Trace()
  readonly #options: SchedulerOptions
  readonly #queue = new Heap<Event>()
  readonly #invariants: ((actor: Actor) => void)[] = []
  readonly #recent: Step[] = []
  /** Sees every step: `step time actor kind digest`. For comparing two runs line by line. */
  onStep: ((line: string) => void) | null = null
  #failure: { error: unknown } | null = null

  constructor(options: SchedulerOptions) {
    this.#options = options
  }

  schedule(actor: Actor, delayMs: number, kind: string, digest: number, run: () => void): Scheduled {
    assert(delayMs >= 0, `${kind} scheduled ${delayMs} ms from now`)
    const event = new Event(actor, kind, digest, run)
    const random = this.#options.random
    this.#queue.push(this.nowMs + delayMs + (random === null ? 0 : random.float() * TIE_MS), event)
    return event
  }

  note(digest: number): void {
    this.trace.mix(digest)
  }

  /** `check` throws when something that must always hold does not. It runs after every step, and hears whose step it was. */
  addInvariant(check: (actor: Actor) => void): void {
    this.#invariants.push(check)
  }

  /** Ends the run with `error` after the current step. The first one counts. */
  fail(error: unknown): void {
    this.#failure ??= { error }
  }

  /** The last steps, oldest first. */
  get recentSteps(): string[] {
    return this.#recent
      .filter((step) => step !== undefined)
      .sort((a, b) => a.step - b.step)
      .map(lineOf)
  }

  /** Runs until `isDone`, and throws what an event, an invariant or `fail` came up with. */
  async run(isDone: () => boolean): Promise<void> {
    await microtasksDone()
    while (!isDone()) {
      const { actor } = this.#next()
      if (this.step % STEPS_PER_TURN === 0) await realTurn()
      else await microtasksDone()
      for (const check of this.#invariants) check(actor)
      if (this.#failure) throw this.#failure.error
    }
  }

  #next(): Event {
    for (;;) {
      const dueMs = this.#queue.peekPriority()
      const event = this.#queue.pop()
      if (event === undefined || dueMs === null) throw new StuckError('nothing is left that could happen')
      const { run, actor } = event
      if (run === null || !actor.alive) continue
      if (actor.pausedUntilMs > dueMs) {
        // Equal priorities come out in the order of insertion, so what piles up keeps its order.
        this.#queue.push(actor.pausedUntilMs, event)
        continue
      }
      this.nowMs = Math.max(this.nowMs, dueMs)
      this.#record(event)
      event.run = null
      run()
      return event
    }
  }

  #record(event: Event): void {
    const { trace } = this
    this.step++
    if (this.step > this.#options.stepsMax) throw new StuckError(`no end after ${this.#options.stepsMax} steps`)
    trace.mixFloat(this.nowMs)
    trace.mix(event.actor.id)
    trace.mixName(event.kind)
    trace.mix(event.digest)
    trace.mix(this.#options.draws())
    const step = { step: this.step, atMs: this.nowMs, event }
    this.#recent[this.step % STEPS_KEPT] = step
    if (this.onStep !== null) this.onStep(lineOf(step))
  }
}

function lineOf({ step, atMs, event }: Step): string {
  return `${step} ${atMs.toFixed(3)} ${event.actor.name} ${event.kind} ${(event.digest >>> 0).toString(16)}`
}
