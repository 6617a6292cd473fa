import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Run } from './plan.ts'
import { type RunOptions, runScenario } from '../scenario.ts'
import { RunFailure, type RunReport } from '../sim.ts'
import { explained, type Telling } from './tell.ts'

/** How a run ended. */
export type Outcome = { readonly report: RunReport } | { readonly failure: string }

/** Does one run after the other, in this process or in another one. */
export interface Worker {
  run(run: Run): Promise<Outcome>
  end(): void
}

/** What a worker process is told, and answers with an `Outcome`. */
export interface Order {
  readonly scenario: string
  readonly seed: number
  readonly knobs: readonly (readonly [string, string])[]
  readonly shrinkRuns: number
}

export async function runHere({ scenario, seed }: Run, telling: Telling, options: RunOptions): Promise<Outcome> {
  try {
    return { report: await runScenario(scenario, seed, { knobs: telling.knobs, ...options }) }
  } catch (error) {
    if (!(error instanceof RunFailure)) throw error
    return { failure: await explained(scenario, error, telling) }
  }
}

/** A process of its own. It is told its next run when it has answered, so that nothing reaches it while a run goes on. */
export class WorkerProcess implements Worker {
  readonly #child: ChildProcess
  readonly #telling: Telling
  #ended = false

  constructor(folder: string, telling: Telling) {
    this.#telling = telling
    this.#child = fork(fileURLToPath(new URL('./worker.ts', import.meta.url)), [folder])
  }

  run({ scenario, seed }: Run): Promise<Outcome> {
    const { knobs, shrinkRuns } = this.#telling
    return new Promise((resolve, reject) => {
      const died = (code: number | null, signal: string | null) => {
        reject(new Error(`a process ended (${signal ?? code}) in seed ${seed} of '${scenario.name}'`))
      }
      this.#child.once('exit', died)
      this.#child.once('message', (outcome: Outcome) => {
        this.#child.off('exit', died)
        resolve(outcome)
      })
      const order: Order = { scenario: scenario.name, seed, knobs: [...knobs], shrinkRuns }
      this.#child.send(order)
    })
  }

  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#child.kill()
  }
}

export interface Listener {
  /** Asked when its turn comes; one that is not wanted any more is passed over. */
  readonly isWanted: (run: Run) => boolean
  /** Called in the order of the runs. */
  readonly onOutcome: (run: Run, outcome: Outcome) => void
}

/**
 * Has the runs done, each by the next worker that is free, and tells their outcomes in the order of the runs: whoever
 * listens cannot tell how many workers there are, except that runs not wanted any more may have been begun.
 */
export async function doAll(runs: readonly Run[], workers: readonly Worker[], listener: Listener): Promise<void> {
  const outcomes: (Outcome | 'passed over' | undefined)[] = []
  let [begun, told] = [0, 0]
  const tell = () => {
    for (let outcome = outcomes[told]; outcome !== undefined; outcome = outcomes[++told]) {
      outcomes[told] = undefined
      if (outcome !== 'passed over') listener.onOutcome(runs[told] as Run, outcome)
    }
  }
  const work = async (worker: Worker) => {
    while (begun < runs.length) {
      const index = begun++
      const run = runs[index] as Run
      outcomes[index] = listener.isWanted(run) ? await worker.run(run) : 'passed over'
      tell()
    }
  }
  await Promise.all(workers.map(work))
}
