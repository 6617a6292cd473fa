import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { AskLeader } from '../history/reader.ts'
import { freePort } from '../support/ports.ts'
import { until } from '../support/process.ts'
import { isTemporary } from '../support/retry.ts'
import { type Place, Server, type ServerKind } from '../support/server.ts'
import { describeQuorum } from '../support/wire-admin.ts'
import {
  createTopic,
  findCoordinator,
  listOffset,
  metadata,
  WireError,
  type WirePartition,
} from '../support/wire-calls.ts'
import { Wire } from '../support/wire.ts'
import type { ZoneNetwork } from './zone-network.ts'

export interface ClusterOptions {
  readonly kind: ServerKind
  /** Holds everything of the nodes; must exist. */
  readonly directory: string
  readonly nodes: number
  readonly config?: Readonly<Record<string, string>>
  /** Zones named as `zoneOf` says; left out: all on loopback. */
  readonly network?: ZoneNetwork
  /** What the nodes say of their zones, where their network does not. */
  zoneName?(nodeId: number): string
  dataDirectoryOf?(nodeId: number): string
}

/** The zone of a node, and the network namespace it runs in when there is one. */
export function zoneOf(nodeId: number): string {
  return `zone${nodeId}`
}

/** How long one node may think about one call before another is asked. */
const CALL_MS = 3000

/** Some nodes, Millrace or a real Kafka, that form one cluster; each is broker and controller in one process. */
export class Cluster {
  readonly kind: ServerKind
  readonly nodes: readonly Server[]
  /** Nodes that a fault keeps from knowing what is so, or from answering; they are not asked. */
  readonly unreliable = new Set<number>()
  #turn = 0

  readonly #network: ZoneNetwork | undefined

  private constructor(kind: ServerKind, nodes: readonly Server[], network: ZoneNetwork | undefined) {
    this.kind = kind
    this.nodes = nodes
    this.#network = network
  }

  /** Chooses addresses; `start` runs it. */
  static async prepare(options: ClusterOptions): Promise<Cluster> {
    const { kind, directory, config = {}, network } = options
    const places = await placesFor(options)
    const nodes: Server[] = []
    for (const place of places) {
      const home = join(directory, `node${place.nodeId}`)
      mkdirSync(home, { recursive: true })
      const dataDirectory = options.dataDirectoryOf?.(place.nodeId) ?? join(home, 'data')
      const wrapper = network?.wrapperOf(zoneOf(place.nodeId)) ?? []
      nodes.push(await Server.prepare({ kind, directory: home, dataDirectory, config, place, wrapper }))
    }
    return new Cluster(kind, nodes, network)
  }

  /** Starts all nodes; resolves when each serves and knows all others, and all of them vote. */
  async start(): Promise<void> {
    for (const node of this.nodes) await node.launch()
    for (const node of this.nodes) await node.ready(90_000)
    for (const node of this.nodes) await this.#knowsAll(node)
    // One joins after the other; before the third has, the death of a voter would leave no majority.
    const allVote = async () => {
      const { voters } = await this.ask((wire) => describeQuorum(wire))
      return voters.length === this.nodes.length ? true : null
    }
    await until('all controllers vote', allVote, { timeoutMs: 60_000, everyMs: 20 })
  }

  async #knowsAll(node: Server): Promise<void> {
    const sees = async () => {
      const { brokers } = await this.askNode(node, (wire) => metadata(wire, []))
      return brokers.length === this.nodes.length ? true : null
    }
    await until(`node ${node.place.nodeId} knows all nodes`, () => sees().catch(() => null), { timeoutMs: 60_000 })
  }

  async kill(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.kill()))
  }

  /** One after the other, so that none waits for a majority that is gone. */
  async stop(): Promise<void> {
    for (const node of this.nodes) await node.stop()
  }

  /** The process stands still, and its sockets stay open: what a node looks like from outside whose machine is too busy. */
  pause(nodeId: number): void {
    this.unreliable.add(nodeId)
    this.node(nodeId).process.signal('SIGSTOP')
  }

  resume(nodeId: number): void {
    this.node(nodeId).process.signal('SIGCONT')
    this.unreliable.delete(nodeId)
  }

  /** Pulls the node's cable: neither nodes nor clients in other zones reach it. */
  async isolate(nodeId: number): Promise<void> {
    this.unreliable.add(nodeId)
    await this.network.isolate(zoneOf(nodeId))
  }

  async heal(): Promise<void> {
    await this.network.heal()
    this.unreliable.clear()
  }

  get network(): ZoneNetwork {
    if (this.#network === undefined) throw new Error('the nodes are on loopback, where no cable can be cut')
    return this.#network
  }

  /** Starts a node that is down; resolves when it serves. */
  async restart(nodeId: number): Promise<void> {
    await this.node(nodeId).start()
  }

  /** As clients are told it. */
  get addresses(): string {
    return this.nodes.map(({ address }) => address).join(',')
  }

  node(nodeId: number): Server {
    const node = this.nodes.find(({ place }) => place.nodeId === nodeId)
    if (node === undefined) throw new Error(`no node ${nodeId}`)
    return node
  }

  /** One call to this node; a node that does not answer in time fails it as a broken connection. */
  async askNode<T>(node: Server, call: (wire: Wire) => Promise<T>, timeoutMs = CALL_MS): Promise<T> {
    const wire = await Wire.connect(node.address, 1000)
    const timer = setTimeout(() => wire.close(), timeoutMs)
    try {
      return await call(wire)
    } finally {
      clearTimeout(timer)
      wire.close()
    }
  }

  /** Asks a running node, another one where that fails, while the cluster says to try again. */
  async ask<T>(call: (wire: Wire) => Promise<T>, options: { timeoutMs?: number; callMs?: number } = {}): Promise<T> {
    return this.#retried(options.timeoutMs ?? 60_000, () => {
      return this.askNode(this.#next(), call, options.callMs)
    })
  }

  /** Asks the leader of the partition, as most nodes know it: one that was cut off believes for a moment that it still leads. */
  readonly askLeader: AskLeader = async (topic, partition, call) =>
    this.#retried(60_000, async () => {
      const leader = await this.#agreedLeader(topic, partition)
      if (leader < 0 || this.unreliable.has(leader)) throw new WireError(`${topic}-${partition} has no leader`, 5)
      return await this.askNode(this.node(leader), call, 10_000)
    })

  async #agreedLeader(topic: string, partition: number): Promise<number> {
    const answers = await Promise.allSettled(
      this.#candidates.map((node) => this.askNode(node, (wire) => describe(wire, topic), 1000)),
    )
    const views = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    const leaders = views.filter((each) => each.partition === partition).map(({ leader }) => leader)
    const agreed = leaders.find((leader) => 2 * leaders.filter((other) => other === leader).length > leaders.length)
    if (agreed === undefined) throw new WireError(`nobody or not all agree who leads ${topic}-${partition}`, 5)
    return agreed
  }

  async askCoordinator<T>(group: string, call: (wire: Wire) => Promise<T>): Promise<T> {
    return await this.#retried(60_000, async () => {
      const coordinator = await this.askNode(this.#next(), (wire) => findCoordinator(wire, group))
      return await this.askNode(this.node(coordinator), call)
    })
  }

  async #retried<T>(timeoutMs: number, attempt: () => Promise<T>): Promise<T> {
    const deadline = performance.now() + timeoutMs
    for (;;) {
      try {
        return await attempt()
      } catch (error) {
        if (!isTemporary(error) || performance.now() > deadline) throw error
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }

  get #candidates(): Server[] {
    return this.nodes.filter(({ place, isRunning }) => isRunning && !this.unreliable.has(place.nodeId))
  }

  #next(): Server {
    const candidates = this.#candidates
    const node = candidates[this.#turn++ % candidates.length]
    if (node === undefined) throw new WireError('no node to ask', 5)
    return node
  }

  /** Creates a topic with a copy on each node, and waits until each partition has a leader that answers. */
  async createTopic(topic: string, partitions: number, configs: Readonly<Record<string, string>> = {}): Promise<void> {
    const copies = this.nodes.length
    await this.ask((wire) => createTopic(wire, topic, partitions, configs, copies), { callMs: 30_000 })
    for (let partition = 0; partition < partitions; partition++) {
      await this.askLeader(topic, partition, (wire) => listOffset(wire, { topic, partition, timestamp: -1 }))
    }
  }

  async describe(topic: string): Promise<readonly WirePartition[]> {
    return await this.ask((wire) => describe(wire, topic))
  }

  /** -1 while there is none. */
  async leaderOf(topic: string, partition: number): Promise<number> {
    const entry = (await this.describe(topic)).find((each) => each.partition === partition)
    if (entry === undefined) throw new WireError(`${topic}-${partition}`, 3)
    return entry.leader
  }

  /** The node that leads the quorum. */
  async controller(): Promise<number> {
    return await this.ask(async (wire) => {
      const { leader } = await describeQuorum(wire)
      if (leader < 0) throw new WireError('the quorum has no leader', 5)
      return leader
    })
  }

  /** Waits until all copies of all partitions of the topic are in sync, as every node sees it: one may be behind. */
  async inSync(topic: string, timeoutMs: number): Promise<void> {
    const all = async (node: Server) => {
      const partitions = await this.askNode(node, (wire) => describe(wire, topic))
      return partitions.every(({ leader, replicas, isr }) => leader >= 0 && isr.length === replicas.length)
    }
    for (const node of this.nodes) {
      const probe = () => all(node).then((good) => (good ? true : null))
      const patient = () => probe().catch((error) => (isTemporary(error) ? null : Promise.reject(error as Error)))
      await until(`${topic} is in sync`, patient, { timeoutMs, everyMs: 20 })
    }
  }
}

async function describe(wire: Wire, topic: string): Promise<readonly WirePartition[]> {
  const [entry] = (await metadata(wire, [topic])).topics
  if (entry === undefined || entry.errorCode !== 0) throw new WireError(`Metadata ${topic}`, entry?.errorCode ?? 3)
  return entry.partitions
}

async function placesFor({ nodes, network, zoneName = zoneOf }: ClusterOptions): Promise<Place[]> {
  const ids = Array.from({ length: nodes }, (_, index) => index + 1)
  const addressOn = async (nodeId: number, port: number) =>
    network === undefined ? `127.0.0.1:${await freePort()}` : `${network.hostOf(zoneOf(nodeId))}:${port}`
  const voters: { nodeId: number; address: string }[] = []
  for (const nodeId of ids) voters.push({ nodeId, address: await addressOn(nodeId, 9093) })
  const places: Place[] = []
  for (const { nodeId, address: controllerAddress } of voters) {
    places.push({
      nodeId,
      zone: zoneName(nodeId),
      address: await addressOn(nodeId, 9092),
      controllerAddress,
      httpAddress: await addressOn(nodeId, 9644),
      voters,
      join: places[0]?.address ?? null,
    })
  }
  return places
}
