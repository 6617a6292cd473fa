import { Random } from '../../base/random.ts'
import type { Scenario } from '../scenario.ts'

/** One seed of one scenario. */
export interface Run {
  readonly scenario: Scenario
  readonly seed: number
}

export interface SeedRange {
  readonly first: number
  /** Null: as many as each scenario says. */
  readonly count: number | null
}

/** Every scenario, each with all the seeds. */
export function eachScenario(chosen: readonly Scenario[], { first, count }: SeedRange): Run[] {
  return chosen.flatMap((scenario) => {
    return Array.from({ length: count ?? scenario.options.seeds }, (_, i) => ({ scenario, seed: first + i }))
  })
}

/** Every seed once, of a scenario that the seed draws: by their shares, so that a long campaign has some of each. */
export function mixed(chosen: readonly Scenario[], { first, count }: SeedRange): Run[] {
  return Array.from({ length: count ?? MIXED_SEEDS }, (_, i) => {
    return { scenario: drawn(chosen, first + i), seed: first + i }
  })
}

/** Where nobody says how many. */
const MIXED_SEEDS = 500

function drawn(chosen: readonly Scenario[], seed: number): Scenario {
  const shareOf = ({ options }: Scenario) => options.share ?? 1
  // Apart from the streams of the run itself.
  const random = new Random(seed ^ 0x5ce9e)
  let left = random.float() * chosen.reduce((sum, scenario) => sum + shareOf(scenario), 0)
  const found = chosen.find((scenario) => {
    left -= shareOf(scenario)
    return left < 0
  })
  return found ?? (chosen.at(-1) as Scenario)
}
