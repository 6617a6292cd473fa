import { assert } from '../base/assert.ts'
import type { DiskProfile } from './disk/disk-faults.ts'
import type { NetProfile } from './net/sim-net.ts'
import { type RunReport, type Sim, simulate } from './sim.ts'
import { drawWorld } from './swarm.ts'

export interface ScenarioOptions {
  /** How many seeds a routine run takes. */
  readonly seeds: number
  /** How often a mixed campaign draws it, beside the others. Default: 1. */
  readonly share?: number
  /** Its speed is what `--speed` tells when nothing else is asked for. */
  readonly measured?: boolean
  /** Default: drawn from the seed. */
  readonly disk?: DiskProfile
  readonly net?: NetProfile
  readonly stepsMax?: number
}

export interface Scenario {
  readonly name: string
  readonly options: ScenarioOptions
  readonly body: (sim: Sim) => Promise<void>
}

const registered = new Map<string, Scenario>()

/**
 * Registers a scenario. It states its faults first, then heals, and only then demands progress; it throws when something
 * is wrong. The name is a sentence.
 */
export function scenario(name: string, options: ScenarioOptions, body: (sim: Sim) => Promise<void>): void {
  assert(!registered.has(name), `two scenarios named '${name}'`)
  registered.set(name, { name, options, body })
}

export function scenarios(): Scenario[] {
  return [...registered.values()]
}

/** Throws when there is none. */
export function scenarioNamed(name: string): Scenario {
  const found = registered.get(name)
  assert(found !== undefined, `no scenario is named '${name}'`)
  return found
}

export interface RunOptions {
  readonly isExplained?: boolean
  readonly knobs?: ReadonlyMap<string, string>
  /** May look at the world before anything happens. */
  readonly prepare?: (sim: Sim) => void
}

/** Runs one seed. Throws `RunFailure`. */
export function runScenario(
  { options, body }: Scenario,
  seed: number,
  { prepare, ...run }: RunOptions = {},
): Promise<RunReport> {
  const world = drawWorld(seed)
  return simulate({ seed, ...world, ...options, ...run }, (sim) => {
    prepare?.(sim)
    return body(sim)
  })
}
