import { type ScenarioOptions, scenario } from '../../../src/sim/scenario.ts'
import type { Sim } from '../../../src/sim/sim.ts'
import { ClusterRun, type ClusterRunOptions } from './cluster-run.ts'

export interface ClusterScenarioOptions extends Partial<ScenarioOptions> {
  /** Other than three nodes in three zones with one topic. */
  readonly run?: ClusterRunOptions | ((sim: Sim) => ClusterRunOptions)
}

/** A few seeds each: every one of these is about one fault, and the swarm draws them all. */
const SEEDS = 30

/**
 * A scenario that finds a cluster under load, does harm to it, and may demand what the harm allows; afterwards all is
 * healed, and everything must be well: nothing lost, doubled, out of order, or different between replicas.
 */
export function clusterScenario(
  name: string,
  { run: options = {}, ...given }: ClusterScenarioOptions,
  body: (run: ClusterRun, sim: Sim) => Promise<void>,
): void {
  scenario(name, { seeds: SEEDS, ...given }, async (sim) => {
    const run = await ClusterRun.begin(sim, typeof options === 'function' ? options(sim) : options)
    await body(run, sim)
    await run.finish()
  })
}
