import { Random } from '../base/random.ts'
import { type DiskProfile, STEADY_DISK } from './disk/disk-faults.ts'
import { type NetProfile, STEADY_NET } from './net/sim-net.ts'

/** How the world of one seed behaves on an ordinary day; what a scenario breaks on top is its own business. */
export interface World {
  readonly disk: DiskProfile
  readonly net: NetProfile
}

/**
 * Draws a world. Every trouble is off in half of the seeds and of any strength in the others: leaving troubles out finds
 * more than having them all at once (swarm testing, Groce et al. 2012).
 */
export function drawWorld(seed: number): World {
  // Apart from the streams of the run, so that drawing one trouble more changes no run that has it off.
  const random = new Random(seed ^ 0x5eed)
  const strength = (low: number, high: number) => (random.chance(0.5) ? 0 : geometric(random, low, high))
  return {
    disk: {
      ...STEADY_DISK,
      readMs: geometric(random, 0.02, 2),
      writeMs: geometric(random, 0.01, 2),
      syncMs: geometric(random, 0.1, 20),
      nameMs: geometric(random, 0.02, 2),
      tailChance: strength(0.001, 0.03),
    },
    net: {
      ...STEADY_NET,
      delayMs: geometric(random, 0.02, 5),
      tailChance: strength(0.0005, 0.05),
      splitChance: strength(0.01, 0.5),
      resetChance: strength(0.01, 1),
    },
  }
}

/** Between `low` and `high`, each power of two as likely as the next. */
function geometric(random: Random, low: number, high: number): number {
  let doublings = 0
  for (let value = low; value < high; value *= 2) doublings++
  return Math.min(high, low * 2 ** random.below(doublings + 1) * (0.75 + random.float() / 2))
}
