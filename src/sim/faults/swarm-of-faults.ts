import { Random } from '../../base/random.ts'
import { DISK_FAULTS } from './disk-faults.ts'
import type { FaultFamily, FaultWorld } from './fault.ts'
import { NET_FAULTS } from './net-faults.ts'
import { PROCESS_FAULTS } from './process-faults.ts'

export const ALL_FAULTS: readonly FaultFamily[] = [...PROCESS_FAULTS, ...NET_FAULTS, ...DISK_FAULTS]

interface PlannedFault {
  readonly atMs: number
  readonly family: FaultFamily
  readonly seed: number
}

export interface SwarmOptions {
  readonly families?: readonly FaultFamily[]
  /** How long faults go on. */
  readonly forMs: number
  /** Between two of them, on average. */
  readonly gapMs: number
}

/**
 * Lets faults of some families strike for a while, then heals everything. Each family is in half of the seeds: leaving
 * troubles out finds more than having them all at once (Groce et al. 2012).
 */
export async function swarmOfFaults(world: FaultWorld, options: SwarmOptions): Promise<void> {
  const { sim } = world
  const beganMs = sim.nowMs
  for (const { atMs, family, seed } of sim.knobs.list('faults', planned(sim.streams.faults, options))) {
    await sim.runFor(beganMs + atMs - sim.nowMs)
    sim.log(`fault: ${family.name}`)
    family.strike(world, new Random(seed))
  }
  await sim.runFor(Math.max(0, beganMs + sim.knobs.number('forMs', options.forMs) - sim.nowMs))
  healAll(world)
}

function planned(random: Random, { families = ALL_FAULTS, forMs, gapMs }: SwarmOptions): PlannedFault[] {
  const chosen = families.filter(() => random.chance(0.5))
  const faults: PlannedFault[] = []
  if (chosen.length === 0) return faults
  for (let atMs = random.float() * 2 * gapMs; atMs < forMs; atMs += random.float() * 2 * gapMs) {
    faults.push({ atMs, family: random.pick(chosen), seed: random.uint32() })
  }
  return faults
}

/** From now on all is well, and progress can be demanded. Pauses and clean stops that have begun take their time. */
export function healAll(world: FaultWorld): void {
  const { sim, cluster } = world
  sim.log('all faults are healed')
  world.healed()
  sim.net.heal()
  for (const node of cluster.nodes) {
    node.machine.leaveRoom(Number.POSITIVE_INFINITY)
    node.machine.diskState.openFilesMax = Number.POSITIVE_INFINITY
    node.machine.diskState.stalledUntilMs = 0
    node.machine.diskState.faults.clear()
    // A log whose sync has failed takes nothing more in this life of its node: an operator starts the node again.
    if (node.hasFailedLogs) node.kill()
    if (!node.isRunning) node.start()
  }
}
