import assert from 'node:assert/strict'
import { SimCluster, type ClusterOptions } from '../../../src/sim/cluster/sim-cluster.ts'
import type { SimNode } from '../../../src/sim/cluster/sim-node.ts'
import type { PartitionImage } from '../../../src/metadata/image.ts'
import { FaultWorld } from '../../../src/sim/faults/fault.ts'
import { restartWhereDiskFailed } from '../../../src/sim/faults/given-up.ts'
import { someOf } from '../../../src/sim/faults/process-faults.ts'
import { healAll } from '../../../src/sim/faults/swarm-of-faults.ts'
import { isPromised } from '../../../src/sim/history/violation.ts'
import { watchInvariants } from '../../../src/sim/invariants/cluster-invariants.ts'
import { assertEqualReplicas } from '../../../src/sim/invariants/equal-replicas.ts'
import type { Sim } from '../../../src/sim/sim.ts'
import { Operator } from './operator.ts'
import { Load, type LoadOptions } from './load.ts'

export interface ClusterRunOptions extends Partial<ClusterOptions>, LoadOptions {
  readonly minInsync?: number
  readonly configs?: Readonly<Record<string, string>>
}

/** The partition that most scenarios are about. */
const TOPIC = 'orders'

/** Nodes that may give up, and why they did. */
class Refusals {
  readonly expected = new Set<SimNode>()
  readonly of = new Map<SimNode, unknown>()
  readonly #otherwise: (node: SimNode, error: unknown) => void

  constructor(otherwise: (node: SimNode, error: unknown) => void) {
    this.#otherwise = otherwise
  }

  gaveUp(node: SimNode, error: unknown): void {
    if (this.expected.has(node)) this.of.set(node, error)
    else this.#otherwise(node, error)
  }
}

/** A cluster under load, with its invariants watched, that a scenario does harm to; in the end everything must be well. */
export class ClusterRun {
  readonly sim: Sim
  readonly cluster: SimCluster
  readonly load: Load
  readonly world: FaultWorld
  readonly operator: Operator
  readonly #refusals: Refusals

  private constructor(parts: { sim: Sim; cluster: SimCluster; load: Load; refusals: Refusals }) {
    const { sim, cluster, load, refusals } = parts
    this.sim = sim
    this.cluster = cluster
    this.load = load
    this.world = new FaultWorld(sim, cluster)
    this.#refusals = refusals
    this.operator = new Operator(cluster.client('operator').client)
  }

  /** Three nodes in three zones and a topic of one partition, three copies and min.insync 2, unless told otherwise. */
  static async begin(sim: Sim, options: ClusterRunOptions = {}): Promise<ClusterRun> {
    const settings = {
      'offsets.topic.num.partitions': '1',
      'group.initial.rebalance.delay.ms': '0',
      'replica.lag.time.max.ms': '3000',
      ...options.settings,
    }
    const refusals = new Refusals(restartWhereDiskFailed(sim))
    const onGivenUp = (node: SimNode, error: unknown) => refusals.gaveUp(node, error)
    const cluster = new SimCluster(sim, { nodes: 3, zones: 3, onGivenUp, ...options, settings })
    watchInvariants(sim, cluster)
    await cluster.settled()
    const load = new Load(sim, cluster, { partitions: 1, replicationFactor: 3, gapMs: 60, ...options })
    const run = new ClusterRun({ sim, cluster, load, refusals })
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

  /** Those that vote, in an order of the seed. */
  get controllers(): SimNode[] {
    const voters = this.cluster.nodes.filter(({ settings }) => settings['process.roles'] !== 'broker')
    return someOf(voters, voters.length, this.sim.streams.faults)
  }

  /** As the newest metadata have it. */
  get partition(): PartitionImage | undefined {
    return this.cluster.image?.partition(TOPIC, 0)
  }

  get isr(): readonly number[] {
    return this.partition?.isr ?? []
  }

  get nodeIds(): number[] {
    return this.cluster.brokers.map(({ nodeId }) => nodeId)
  }

  /** Records acknowledged by all so far. */
  get acknowledged(): number {
    return this.load.history.sends.filter(isPromised).length
  }

  /** The node, started on what a fault has left of its disk, must refuse to; the reason is what its operator reads. */
  async refuses(node: SimNode, reason: RegExp): Promise<void> {
    this.#refusals.expected.add(node)
    node.start()
    await this.until(() => this.#refusals.of.has(node), `${node.machine.name} refuses to start`)
    const error = this.#refusals.of.get(node)
    assert.match(error instanceof Error ? error.message : String(error), reason)
    this.#refusals.expected.delete(node)
    this.#refusals.of.delete(node)
  }

  /** The node starts with an empty disk, and is a full member again: its copies are made anew. */
  async replaceDisk(node: SimNode): Promise<void> {
    node.replaceDisk(this.cluster.nodes.filter((other) => other !== node))
    await this.forAWhile()
    node.start()
    await this.cluster.settled()
  }

  /** Another topic, empty; it comes through any node. */
  async createTopic(name: string): Promise<void> {
    const { client } = this.cluster.client(`maker-of-${name}`)
    const made = this.cluster.createTopic(client, { name, partitions: 1, replicationFactor: 3 })
    await this.sim.within(made, { withinMs: 60_000, what: `${name} is created` })
    await this.cluster.settled()
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

  /** Everything is healed, and replicas that are on their way arrive. */
  async finishMoves(): Promise<void> {
    healAll(this.world)
    const isMoving = () => (this.partition?.addingReplicas.length ?? 0) + (this.partition?.removingReplicas.length ?? 0)
    await this.until(() => isMoving() === 0, 'all moves are done', 60_000)
  }

  /** Everything is healed: the cluster settles, and nothing is lost, doubled, out of order or different between replicas. */
  async finish(): Promise<void> {
    healAll(this.world)
    await this.cluster.settled()
    await this.load.settleAndJudge()
    await assertEqualReplicas(this.sim, this.cluster)
  }
}
