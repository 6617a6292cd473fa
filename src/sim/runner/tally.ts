import type { Outcome } from './crew.ts'
import type { Run } from './plan.ts'

/** A word now and then of how far a long campaign is. */
const PROGRESS_RUNS = 500

/** What the runs gave so far, told as it comes. */
export class Tally {
  /** Of the runs that ended well, by `scenario seed`. */
  readonly hashes = new Map<string, string>()
  failures = 0
  readonly #startMs = performance.now()
  readonly #failed = new Set<string>()
  readonly #left = new Map<string, number>()
  readonly #options: { readonly runs: readonly Run[]; readonly mixed: boolean; readonly keepGoing: boolean }
  readonly #print: boolean
  #done = 0
  #steps = 0
  #virtualMs = 0

  constructor(options: { runs: readonly Run[]; mixed: boolean; keepGoing: boolean; hashesOnly: boolean }) {
    this.#options = options
    this.#print = !options.hashesOnly
    for (const { scenario } of options.runs) this.#left.set(scenario.name, (this.#left.get(scenario.name) ?? 0) + 1)
  }

  /** After a failure the other seeds of a scenario, or of a mixed campaign, are not wanted. */
  isWanted({ scenario }: Run): boolean {
    if (this.#options.keepGoing) return true
    return this.#options.mixed ? this.failures === 0 : !this.#failed.has(scenario.name)
  }

  /** In the order of the runs. */
  add(run: Run, outcome: Outcome): void {
    if (!this.isWanted(run)) return
    this.#done++
    if ('failure' in outcome) this.#fail(run, outcome.failure)
    else {
      this.#steps += outcome.report.steps
      this.#virtualMs += outcome.report.virtualMs
      const name = `${run.scenario.name} ${run.seed}`
      this.hashes.set(name, outcome.report.hash)
      if (!this.#print) console.log(`hash ${name} ${outcome.report.hash}`)
    }
    this.#tellProgress(run)
  }

  #fail({ scenario }: Run, text: string): void {
    this.failures++
    this.#failed.add(scenario.name)
    console.log(text)
  }

  #tellProgress({ scenario: { name }, seed }: Run): void {
    const left = (this.#left.get(name) as number) - 1
    this.#left.set(name, left)
    if (!this.#print) return
    if (this.#options.mixed) {
      if (this.#done % PROGRESS_RUNS === 0) console.log(`      up to seed ${seed}: ${this.#summary()}`)
    } else if (left === 0 && !this.#failed.has(name)) {
      const seeds = this.#options.runs.filter(({ scenario }) => scenario.name === name).length
      console.log(`ok    ${name}: ${seeds} seeds`)
      if (seeds === 1) console.log(`      hash ${this.hashes.get(`${name} ${seed}`)}`)
    }
  }

  /** A failure that ended the runs has the last word. */
  end(): void {
    if (this.#print && (this.failures === 0 || this.#options.keepGoing))
      console.log(`${this.failures === 0 ? 'ok   ' : 'FAIL '} ${this.#summary()}`)
  }

  #summary(): string {
    const seconds = (performance.now() - this.#startMs) / 1000
    const rate = `${Math.round(this.#steps / seconds)} events/s, ${Math.round(this.#virtualMs / 1000 / seconds)} times real time`
    return `${this.#done} runs, ${this.failures} failures, ${this.#steps} events in ${seconds.toFixed(1)} s (${rate})`
  }
}
