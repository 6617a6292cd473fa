import { SimCluster, type ClusterOptions } from '../../../src/sim/cluster/sim-cluster.ts'
import type { SimNode } from '../../../src/sim/cluster/sim-node.ts'
import { FaultWorld } from '../../../src/sim/faults/fault.ts'
import { restartWhereDiskFailed } from '../../../src/sim/faults/given-up.ts'
import { healAll } from '../../../src/sim/faults/swarm-of-faults.ts'
import { isPromised } from '../../../src/sim/history/violation.ts'
import { watchInvariants } from '../../../src/sim/invariants/cluster-invariants.ts'
import { assertEqualReplicas } from '../../../src/sim/invariants/equal-replicas.ts'
import type { Sim } from '../../../src/sim/sim.ts'
import { Load, type LoadOptions } from './load.ts'

export interface ClusterRunOptions extends Partial<ClusterOptions>, LoadOptions {
  readonly minInsync?: number
  readonly configs?: Readonly<Record<string, string>>
}

/** The partition that most scenarios are about. */
const TOPIC = 'orders'

/** A cluster under load, with its invariants watched, that a scenario does harm to; in the end everything must be well. */
export class ClusterRun {
  readonly sim: Sim
  readonly cluster: SimCluster
  readonly load: Load
  readonly world: FaultWorld

  private constructor(sim: Sim, cluster: SimCluster, load: Load) {
    this.sim = sim
    this.cluster = cluster
    this.load = load
    this.world = new FaultWorld(sim, cluster)
  }

  /** Three nodes in three zones and a topic of one partition, three copies and min.insync 2, unless told otherwise. */
  static async begin(sim: Sim, options: ClusterRunOptions = {}): Promise<ClusterRun> {
    const settings = {
      'offsets.topic.num.partitions': '1',
      'group.initial.rebalance.delay.ms': '0',
      'replica.lag.time.max.ms': '3000',
      ...options.settings,
    }
    const onGivenUp = restartWhereDiskFailed(sim)
    const cluster = new SimCluster(sim, { nodes: 3, zones: 3, onGivenUp, ...options, settings })
    watchInvariants(sim, cluster)
    await cluster.settled()
    const load = new Load(sim, cluster, { partitions: 1, replicationFactor: 3, gapMs: 60, ...options })
    const run = new ClusterRun(sim, cluster, load)
    await load.start({ 'min.insync.replicas': String(options.minInsync ?? 2), ...options.configs })
    await cluster.settled()
    await run.forAWhile()
    return run
  }

  /** Throws while nobody leads. */
  get leader(): SimNode {
    const leader = this.cluster.leaderOf(TOPIC, 0)
    if (leader === null) throw new Error('nobody leads')
    return leader
  }

  get followers(): [SimNode, SimNode] {
    return this.cluster.followersOf(TOPIC, 0) as [SimNode, SimNode]
  }

  get isr(): readonly number[] {
    return this.cluster.image?.partition(TOPIC, 0)?.isr ?? []
  }

  /** Records acknowledged by all so far. */
  get acknowledged(): number {
    return this.load.history.sends.filter(isPromised).length
  }

  /** Half a second, on average. */
  forAWhile(): Promise<void> {
    return this.sim.runFor(this.sim.streams.faults.float() * 1000)
  }

  async until(condition: () => boolean, what: string, withinMs = 20_000): Promise<void> {
    await this.sim.until(condition, { withinMs, what })
  }

  /** Somebody else leads, and records are acknowledged again. */
  async failedOver(from: SimNode): Promise<void> {
    await this.until(() => ![null, from].includes(this.cluster.leaderOf(TOPIC, 0)), 'another node leads')
    const before = this.acknowledged
    await this.until(() => this.acknowledged > before, 'records are acknowledged again')
  }

  /** Everything is healed: the cluster settles, and nothing is lost, doubled, out of order or different between replicas. */
  async finish(): Promise<void> {
    healAll(this.world)
    await this.cluster.settled()
    await this.load.settleAndJudge()
    await assertEqualReplicas(this.sim, this.cluster)
  }
}
