import { mkdirSync } from 'node:fs'
import { Cluster, zoneOf } from '../../test/cluster/cluster.ts'
import { ZoneNetwork } from '../../test/cluster/zone-network.ts'
import { Load, type LoadClient } from '../../test/load/load.ts'
import { until } from '../../test/support/process.ts'
import type { ServerKind } from '../../test/support/server.ts'
import { electPreferred } from '../../test/support/wire-admin.ts'
import { AckTimes } from './ack-times.ts'

export const topic = 'failover'
export const partitions = [0, 1, 2]
/** Where the producer runs, apart from all nodes. */
const CLIENTS = 'clients'
/** Acknowledgements must have flowed for this long before a fault, and after it. */
const CALM_MS = 1000

/**
 * Three nodes in three zones and a warm idempotent producer in a fourth, which writes to three partitions, one led by each
 * node. A fault is measured by the longest time in which a partition had no acknowledgement.
 */
export class Rig {
  readonly cluster: Cluster
  readonly acks: AckTimes
  readonly #load: Load

  private constructor(cluster: Cluster, acks: AckTimes, load: Load) {
    this.cluster = cluster
    this.acks = acks
    this.#load = load
  }

  static async start(options: {
    kind: ServerKind
    client: LoadClient
    directory: string
    perSecond: number
    settings: Readonly<Record<string, string>>
  }): Promise<Rig> {
    const { kind, client, directory, perSecond, settings } = options
    mkdirSync(directory, { recursive: true })
    const network = await ZoneNetwork.create([1, 2, 3].map(zoneOf).concat(CLIENTS))
    const cluster = await Cluster.prepare({ kind, directory, nodes: 3, network })
    await cluster.start()
    await cluster.createTopic(topic, partitions.length, { 'min.insync.replicas': '2' })
    const acks = new AckTimes()
    const load = new Load({
      client,
      addresses: cluster.addresses,
      topic,
      producer: 0,
      partitions: partitions.length,
      keys: 100,
      perSecond,
      valueBytes: 500,
      settings,
      wrapper: network.wrapperOf(CLIENTS),
      directory,
      onAck: (ack) => acks.add(ack),
    })
    const rig = new Rig(cluster, acks, load)
    await rig.settled()
    return rig
  }

  async stop(): Promise<void> {
    await this.#load.finish()
    await this.cluster.kill()
    this.cluster.network.remove()
  }

  /** All in sync, one partition led by each node, records flowing. */
  async settled(): Promise<void> {
    await this.cluster.inSync(topic, 180_000)
    await this.cluster.ask((wire) => electPreferred(wire, topic, partitions), { callMs: 30_000 })
    await until('a leader on each node', async () => ((await this.#leaders()).size === 3 ? true : null), {
      timeoutMs: 30_000,
    })
    await this.flowing(partitions)
  }

  async #leaders(): Promise<Set<number>> {
    return new Set((await this.cluster.describe(topic)).map(({ leader }) => leader))
  }

  async ledBy(nodeId: number): Promise<number[]> {
    const entries = await this.cluster.describe(topic)
    return entries.filter(({ leader }) => leader === nodeId).map(({ partition }) => partition)
  }

  /** Waits until these partitions have been acknowledging for a while from now on. */
  async flowing(which: readonly number[]): Promise<void> {
    for (const goal of [Date.now(), Date.now() + CALM_MS]) {
      const flows = () => {
        this.#load.throwFailures()
        return which.every((partition) => this.acks.newest(partition) >= goal) ? true : null
      }
      await until('records are acknowledged', flows, { timeoutMs: 180_000, everyMs: 10 })
    }
  }

  /** Waits until others lead what this node led. */
  async ledByOthers(nodeId: number, which: readonly number[]): Promise<void> {
    const moved = async () => {
      const entries = await this.cluster.describe(topic)
      return which.every((partition) => {
        const leader = entries.find((entry) => entry.partition === partition)?.leader ?? -1
        return leader >= 0 && leader !== nodeId
      })
    }
    await until(`others lead what node ${nodeId} led`, async () => ((await moved()) ? true : null), {
      timeoutMs: 120_000,
      everyMs: 10,
    })
  }

  longestGap(which: readonly number[]): number {
    return Math.max(0, ...which.map((partition) => this.acks.longestGap(partition)))
  }
}
