import type { Random } from '../../base/random.ts'
import type { SimCluster } from '../cluster/sim-cluster.ts'
import type { SimNode } from '../cluster/sim-node.ts'
import type { Cut } from '../net/cuts.ts'
import type { Sim } from '../sim.ts'

/** What a fault may lay hands on, until everything is healed. */
export class FaultWorld {
  readonly sim: Sim
  readonly cluster: SimCluster
  #isHealed = false

  constructor(sim: Sim, cluster: SimCluster) {
    this.sim = sim
    this.cluster = cluster
  }

  /** More of a fault, some time after it struck. */
  later(ms: number, strike: () => void): void {
    this.sim.after(ms, () => {
      if (!this.#isHealed) strike()
    })
  }

  /** Starts the node again after a while, unless something else has. */
  startLater(node: SimNode, afterMs: number): void {
    this.sim.after(afterMs, () => {
      if (!node.isRunning) node.start()
    })
  }

  healLater(cut: Cut, afterMs: number): void {
    this.sim.after(afterMs, () => cut.heal())
  }

  /** No fault strikes any more. */
  healed(): void {
    this.#isHealed = true
  }
}

/**
 * One kind of trouble. Striking begins it; it ends by itself. Whatever it draws comes from the generator it is given, so
 * that leaving out one fault of a run changes no other (`shrink.ts`).
 */
export interface FaultFamily {
  readonly name: string
  strike(world: FaultWorld, random: Random): void
}

/**
 * Troubles last from an instant to longer than any timeout, each power of two as likely as the next: from half of `low`
 * on. Nothing may be demanded that takes a least time; whoever needs one waits for what is to come of it.
 */
export function someMs(random: Random, low: number, high: number): number {
  let ms = low
  while (ms < high && random.chance(DOUBLING_CHANCE)) ms *= 2
  return Math.min(high, ms * (0.5 + random.float()))
}

const DOUBLING_CHANCE = 0.8

export function anyNode({ cluster }: FaultWorld, random: Random): SimNode {
  return random.pick(cluster.nodes)
}
