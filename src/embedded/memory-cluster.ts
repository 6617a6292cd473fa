import { silentLogger, type Logger } from '../env/logger.ts'
import type { MetadataImage } from '../metadata/image.ts'
import { Admin } from '../client/admin.ts'
import { Client } from '../client/client.ts'
import { nodeEnv } from '../env-node/node-env.ts'
import type { NodeOptions } from '../server/node-options.ts'
import { MemoryNode } from './memory-node.ts'
import { type Duration, millisecondsOf, SteeredClock } from './steered-clock.ts'

export interface MemoryClusterOptions {
  /** Default 1. */
  readonly nodes?: number
  /** Over which the nodes are dealt; replicas of a partition lie in different ones. Default: none. */
  readonly zones?: number
  /** Keys of `server.properties`, the same on all nodes. */
  readonly settings?: Readonly<Record<string, string>>
  /** Default: silent. */
  readonly log?: Logger
  /** Puts something before the handlers of clients' requests. */
  readonly around?: NodeOptions['around']
}

/** What the time of day decides is looked for this often, so that a test that moves it waits no longer. */
const HOUSEKEEPING_MS = 50

const SETTINGS: Readonly<Record<string, string>> = {
  'log.retention.check.interval.ms': String(HOUSEKEEPING_MS),
  'offsets.retention.check.interval.ms': String(HOUSEKEEPING_MS),
  'log.cleaner.backoff.ms': String(HOUSEKEEPING_MS),
  // A test wants its members assigned now, and its small topics small.
  'group.initial.rebalance.delay.ms': '0',
  'offsets.topic.num.partitions': '4',
}

const SETTLED_WITHIN_MS = 30_000
const LOOK_MS = 5

/**
 * A real cluster in the caller's own process: the product's nodes on real sockets of the loopback interface, with their
 * disks in memory. Any client reaches it; nothing is left when it is closed.
 *
 * ```ts
 * await using cluster = await MemoryCluster.start({ nodes: 3 })
 * const consumer = new Kafka({ brokers: cluster.bootstrapServers.split(',') }).consumer({ groupId: 'billing' })
 * await cluster.leaderOf('orders', 0).kill()
 * ```
 */
export class MemoryCluster implements AsyncDisposable {
  readonly nodes: readonly MemoryNode[]
  readonly #clock = new SteeredClock()
  readonly #failures: unknown[] = []

  private constructor({ nodes = 1, zones = 0, settings = {}, log = silentLogger, around }: MemoryClusterOptions) {
    const made: MemoryNode[] = []
    for (let index = 0; index < nodes; index++) {
      const own: Record<string, string> = { ...SETTINGS, ...settings }
      if (zones > 0) own['broker.rack'] = `zone-${(index % zones) + 1}`
      const options = {
        nodeId: index + 1,
        clock: this.#clock,
        log,
        ...(around === undefined ? {} : { around }),
        onFailure: (error: unknown) => this.#failures.push(error),
      }
      made.push(new MemoryNode({ ...options, settings: own, joins: made[0] ?? null }))
    }
    this.nodes = made
  }

  /** Resolves when all nodes serve clients. */
  static async start(options: MemoryClusterOptions = {}): Promise<MemoryCluster> {
    const cluster = new MemoryCluster(options)
    const [first, ...others] = cluster.nodes
    try {
      await first?.start()
      await Promise.all(others.map((node) => node.start()))
      await cluster.settled()
    } catch (error) {
      await cluster.close()
      throw error
    }
    return cluster
  }

  /** As clients want it: `127.0.0.1:41234,127.0.0.1:41235`. */
  get bootstrapServers(): string {
    return this.nodes.map(({ address }) => address).join(',')
  }

  readonly clock = {
    /** The time of day, as the nodes see it. */
    now: (): Date => new Date(this.#clock.wallMs()),
    /**
     * Moves the time of day. What depends on it (retention, expiry of offsets and tombstones) has been looked at when this
     * resolves. Sessions and timeouts go on in real time.
     */
    advance: async (by: Duration): Promise<void> => {
      this.#clock.move(millisecondsOf(by))
      await Promise.all(this.nodes.map((node) => node.applyRetention()))
      // The rest looks by itself, now and then.
      await sleep(2 * HOUSEKEEPING_MS)
    },
  }

  /** Throws when there is no such node. */
  node(nodeId: number): MemoryNode {
    const node = this.nodes[nodeId - 1]
    if (node === undefined) throw new RangeError(`there is no node ${nodeId}, but 1 to ${this.nodes.length}`)
    return node
  }

  /** Throws where nobody leads. */
  leaderOf(topic: string, partition: number): MemoryNode {
    const leader = this.#image?.partition(topic, partition)?.leader ?? -1
    if (leader < 0) throw new Error(`${topic}-${partition} has no leader`)
    return this.node(leader)
  }

  /** Resolves when every node that runs serves, and every partition has a leader and all its running replicas in sync. */
  async settled(withinMs = SETTLED_WITHIN_MS): Promise<void> {
    const deadlineMs = performance.now() + withinMs
    while (!this.#isSettled) {
      if (performance.now() > deadlineMs) throw new Error(`the cluster has not settled within ${withinMs} ms`)
      await sleep(LOOK_MS)
    }
  }

  async createTopic(
    name: string,
    topic: { partitions?: number; replicationFactor?: number; configs?: Readonly<Record<string, string>> } = {},
  ): Promise<void> {
    const client = new Client(nodeEnv({ log: { level: 'error' } }), { bootstrap: this.bootstrapServers })
    try {
      const [created] = await new Admin(client).createTopics([{ name, ...topic }])
      if (created?.error) throw created.error
    } finally {
      await client.close()
    }
    await this.settled()
  }

  /** Ends every node, and throws what one of them failed of. */
  async close(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.kill()))
    const [failure] = this.#failures
    if (failure !== undefined) throw failure
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** The newest that any node shows to clients. */
  get #image(): MetadataImage | null {
    const images = this.nodes.flatMap(({ node }) => (node === null ? [] : [node.image]))
    return images.reduce<MetadataImage | null>((newest, image) => {
      return newest === null || image.position.offset > newest.position.offset ? image : newest
    }, null)
  }

  get #isSettled(): boolean {
    const image = this.#image
    if (image === null) return false
    const running = this.nodes.filter(({ isRunning }) => isRunning)
    const isUp = (id: number) => running.some(({ nodeId }) => nodeId === id)
    if (!running.every(({ nodeId }) => image.broker(nodeId)?.fenced === false)) return false
    // A controller that does not vote yet is no help when another one dies.
    if (!running.every(({ node }) => node?.hasItsVote === true)) return false
    for (const { partitions } of image.topicsByName.values()) {
      for (const { leader, isr, replicas } of partitions) {
        if (!isUp(leader) || replicas.some((id) => isUp(id) && !isr.includes(id))) return false
      }
    }
    return true
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}
