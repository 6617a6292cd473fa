import { Random } from '../../base/random.ts'

/** One generator per concern, so that one concern drawing more does not shift the others' numbers. */
export class Streams {
  readonly schedule: Random
  readonly net: Random
  readonly disk: Random
  readonly clock: Random
  readonly entropy: Random
  readonly faults: Random
  readonly workload: Random

  constructor(seed: number) {
    const root = new Random(seed)
    this.schedule = root.fork()
    this.net = root.fork()
    this.disk = root.fork()
    this.clock = root.fork()
    this.entropy = root.fork()
    this.faults = root.fork()
    this.workload = root.fork()
  }

  /** Part of the trace: a draw too many shows at the step it happened in. */
  get draws(): number {
    const { schedule, net, disk, clock, entropy, faults, workload } = this
    return schedule.draws + net.draws + disk.draws + clock.draws + entropy.draws + faults.draws + workload.draws
  }
}

/** However bad the luck. Longer stalls are ordered by the scenario. */
const LONGEST_MS = 5000

/**
 * A duration with a heavy tail: `typicalMs` or a little around it, and with `tailChance` doubled again and again. Made of
 * multiplications only, for the library's logarithms differ between versions of V8.
 */
export function heavyTailed(random: Random, typicalMs: number, tailChance: number): number {
  let ms = typicalMs * (0.5 + random.float())
  if (tailChance <= 0 || !random.chance(tailChance)) return ms
  do ms *= 2 + 2 * random.float()
  while (random.chance(0.5))
  return Math.min(ms, LONGEST_MS)
}
