import { bug } from '../../base/assert.ts'
import { Heap } from '../../base/heap.ts'
import type { Random } from '../../base/random.ts'
import type { Actor } from './actor.ts'
import type { Events, Scheduled } from './events.ts'
import { afterRealTurn, onceSettled } from './real-loop.ts'
import { Trace } from './trace.ts'

/** How many steps of the run are kept to be shown when it fails. */
const STEPS_KEPT = 60
/** Steps between two turns of the real event loop. */
const STEPS_PER_TURN = 1024
/** Equal times are told apart by up to this much, so that the seed decides their order. */
const TIE_MS = 0.001
/** Cancelled events are taken out of the queue when there are so many, and they are more than half of it. */
const CANCELLED_MAX = 500

export class StuckError extends Error {
  override name = 'StuckError'
}

class Event implements Scheduled {
  readonly actor: Actor
  readonly kind: string
  readonly digest: number
  /** Null when it has run or was cancelled. */
  run: (() => void) | null
  readonly #queue: Queue

  constructor(queue: Queue, actor: Actor, kind: string, digest: number, run: () => void) {
    this.#queue = queue
    this.actor = actor
    this.kind = kind
    this.digest = digest
    this.run = run
  }

  cancel(): void {
    if (this.run === null) return
    this.run = null
    this.#queue.cancelled()
  }
}

/** Events by their time. Most timeouts are cancelled long before they are due, and would make up nearly all of it. */
class Queue {
  readonly heap = new Heap<Event>()
  #cancelled = 0

  /** The next event is gone: if it was a cancelled one, one fewer is left. */
  pop(): Event | undefined {
    const event = this.heap.pop()
    if (event?.run === null) this.#cancelled--
    return event
  }

  cancelled(): void {
    this.#cancelled++
    if (this.#cancelled < CANCELLED_MAX || this.#cancelled < this.heap.size / 2) return
    this.heap.retain(({ run }) => run !== null)
    this.#cancelled = 0
  }
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
  readonly #queue = new Queue()
  readonly #invariants: ((actor: Actor) => void)[] = []
  /** The last steps, by their number modulo `STEPS_KEPT`: when, and what. */
  readonly #recentMs = new Float64Array(STEPS_KEPT)
  readonly #recent: Event[] = []
  /** Sees every step: `step time actor kind digest`. For comparing two runs line by line. */
  onStep: ((line: string) => void) | null = null
  #failure: { error: unknown } | null = null

  constructor(options: SchedulerOptions) {
    this.#options = options
  }

  schedule(actor: Actor, delayMs: number, kind: string, digest: number, run: () => void): Scheduled {
    if (!(delayMs >= 0)) bug(`${kind} scheduled ${delayMs} ms from now`)
    const event = new Event(this.#queue, actor, kind, digest, run)
    const random = this.#options.random
    this.#queue.heap.push(this.nowMs + delayMs + (random === null ? 0 : random.float() * TIE_MS), event)
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
    const first = Math.max(1, this.step - STEPS_KEPT + 1)
    return Array.from({ length: this.step - first + 1 }, (_, i) => this.#lineOf(first + i))
  }

  /** Runs until `isDone`, and throws what an event, an invariant or `fail` came up with. */
  run(isDone: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      let last: Actor | null = null
      // Once for each event, when everything the one before it set off has run. No promise of ours is between.
      const turn = () => {
        try {
          if (last !== null) this.#check(last)
          if (isDone()) {
            resolve()
            return
          }
          last = this.#next().actor
          if (this.step % STEPS_PER_TURN === 0) afterRealTurn(turn)
          else goOn()
        } catch (error) {
          reject(error)
        }
      }
      const goOn = onceSettled(turn)
      goOn()
    })
  }

  #check(actor: Actor): void {
    for (const check of this.#invariants) check(actor)
    if (this.#failure) throw this.#failure.error
  }

  #next(): Event {
    for (;;) {
      const dueMs = this.#queue.heap.peekPriority()
      const event = this.#queue.pop()
      if (event === undefined || dueMs === null) throw new StuckError('nothing is left that could happen')
      const { run, actor } = event
      if (run === null || !actor.alive) continue
      if (actor.pausedUntilMs > dueMs) {
        // Equal priorities come out in the order of insertion, so what piles up keeps its order.
        this.#queue.heap.push(actor.pausedUntilMs, event)
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
    const index = this.step % STEPS_KEPT
    this.#recentMs[index] = this.nowMs
    this.#recent[index] = event
    if (this.onStep !== null) this.onStep(this.#lineOf(this.step))
  }

  #lineOf(step: number): string {
    const index = step % STEPS_KEPT
    const { actor, kind, digest } = this.#recent[index] as Event
    const atMs = this.#recentMs[index] as number
    return `${step} ${atMs.toFixed(3)} ${actor.name} ${kind} ${(digest >>> 0).toString(16)}`
  }
}
