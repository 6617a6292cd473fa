import { assert } from '../../base/assert.ts'
import type { Random } from '../../base/random.ts'
import type { Address } from '../../env/net.ts'
import type { MetadataImage } from '../../metadata/image.ts'
import { CreateTopics } from '../../protocol/apis/create-topics.ts'
import { ErrorCode, errorName, isRetriable } from '../../protocol/errors.ts'
import { ClusterClient } from '../clients/cluster-client.ts'
import { History, type LeaderAnswer } from '../history/history.ts'
import type { Machine, Process } from '../machine.ts'
import type { Sim } from '../sim.ts'
import { CLIENT_PORT, CONTROLLER_PORT } from './node-config.ts'
import { SimNode } from './sim-node.ts'

export interface ClusterOptions {
  readonly nodes: number
  /** The first so many nodes are controllers only, the others brokers only. Default 0: every node is both, as far as it goes. */
  readonly controllers?: number
  /** Over which the nodes are dealt; 0: the nodes say nothing of zones. */
  readonly zones?: number
  /** Keys of `server.properties`, the same on all nodes. */
  readonly settings?: Readonly<Record<string, string>>
  /**
   * Called when a node gave up: its start failed, or it found that it cannot go on. Its process has ended then. Default:
   * the run fails.
   */
  readonly onGivenUp?: (node: SimNode, error: unknown) => void
}

/** Of a cluster whose nodes are all well. */
const SETTLED_WITHIN_MS = 60_000

/** The nodes of one cluster and clients of it. Made with its nodes starting; the first one forms it, the others join. */
export class SimCluster {
  readonly nodes: readonly SimNode[]
  /** Those that have partitions. */
  readonly brokers: readonly SimNode[]
  /** What all clients of this cluster saw. */
  readonly history = new History()
  readonly #sim: Sim
  #clients = 0

  constructor(sim: Sim, options: ClusterOptions) {
    this.#sim = sim
    const { nodes, onGivenUp = (_node, error) => sim.scheduler.fail(error) } = options
    this.nodes = Array.from({ length: nodes }, (_, index) => {
      return new SimNode(sim, { nodeId: index + 1, settings: settingsOf(index, options), onGivenUp })
    })
    this.brokers = this.nodes.slice(options.controllers ?? 0)
    for (const node of this.nodes) node.start()
  }

  /** The newest that any node shows to clients; null while none does. */
  get image(): MetadataImage | null {
    let newest: MetadataImage | null = null
    for (const { node } of this.nodes) {
      const image = node?.image
      if (image !== undefined && image.position.offset > (newest?.position.offset ?? -1)) newest = image
    }
    return newest
  }

  /** Throws when the id is not one of a node. */
  node(nodeId: number): SimNode {
    const node = this.nodes[nodeId - 1]
    assert(node !== undefined, `node ${nodeId} of ${this.nodes.length}`)
    return node
  }

  /** By the newest metadata. Null while nobody leads. */
  leaderOf(topic: string, partition: number): SimNode | null {
    const leader = this.image?.partition(topic, partition)?.leader ?? -1
    return leader < 0 ? null : this.node(leader)
  }

  /** The nodes that hold a replica and do not lead. */
  followersOf(topic: string, partition: number): SimNode[] {
    const { replicas = [], leader } = this.image?.partition(topic, partition) ?? {}
    return replicas.filter((id) => id !== leader).map((id) => this.node(id))
  }

  /** Null while none is known, or more than one says it is. */
  get activeController(): SimNode | null {
    const active = this.nodes.filter(({ node }) => node?.quorum?.isActive === true)
    return active.length === 1 ? (active[0] as SimNode) : null
  }

  /** Every node serves and has its vote, and every replica of every partition is in sync. */
  get isSettled(): boolean {
    const { image } = this
    if (image === null || !this.nodes.every(({ isServing, node }) => isServing && node?.hasItsVote)) return false
    for (const { nodeId } of this.brokers) if (image.broker(nodeId)?.fenced !== false) return false
    for (const { partitions } of image.topicsByName.values()) {
      for (const { isr, replicas, leader } of partitions) if (leader < 0 || isr.length < replicas.length) return false
    }
    return true
  }

  /** Resolves when the cluster is well; throws when that takes too long. */
  settled(withinMs = SETTLED_WITHIN_MS): Promise<void> {
    return this.#sim.until(() => this.isSettled, {
      withinMs,
      everyMs: 50,
      what: () => `the cluster settles: ${this.dump()}`,
    })
  }

  /** What keeps it from being well. */
  dump(): string {
    const nodes = this.nodes.map((node) => {
      const state = node.isServing ? 'serves' : node.isRunning ? 'starts' : 'is down'
      return `${node.machine.name} ${state}${this.image?.broker(node.nodeId)?.fenced === false ? '' : ' (fenced)'}`
    })
    const lacking = [...(this.image?.topicsByName.values() ?? [])].flatMap(({ name, partitions }) =>
      partitions.flatMap(({ leader, isr, elr, replicas }, index) => {
        if (leader >= 0 && isr.length === replicas.length) return []
        return [`${name}-${index} leader ${leader} isr (${isr.join()}) elr (${elr.join()}) of (${replicas.join()})`]
      }),
    )
    return [...nodes, ...lacking].join('; ')
  }

  get bootstrap(): Address[] {
    return this.brokers.map(({ machine }) => ({ host: machine.host.ip, port: CLIENT_PORT }))
  }

  /** A client on a machine of its own. */
  client(name: string): { client: ClusterClient; machine: Machine; process: Process } {
    const machine = this.#sim.addMachine(name)
    return { ...this.clientOn(machine, name), machine }
  }

  /** A client in a new process on `machine`. */
  clientOn(machine: Machine, name: string): { client: ClusterClient; process: Process } {
    const process = machine.boot()
    const random: Random = this.#sim.streams.workload.fork()
    const clientId = `${name}-${++this.#clients}`
    const onLeader = (leader: LeaderAnswer) => this.history.leader(leader)
    const options = { env: process.env, random, bootstrap: this.bootstrap, clientId, onLeader }
    return { process, client: new ClusterClient(options) }
  }

  /** Creates the topic, however long it takes. */
  async createTopic(
    client: ClusterClient,
    topic: { name: string; partitions: number; replicationFactor?: number; configs?: Readonly<Record<string, string>> },
  ): Promise<void> {
    const configs = Object.entries(topic.configs ?? {}).map(([name, value]) => ({ name, value }))
    const { name, partitions: numPartitions, replicationFactor = 1 } = topic
    const body = { topics: [{ name, numPartitions, replicationFactor, assignments: [], configs }], timeoutMs: 10_000 }
    await client.persist(async () => {
      const answer = await (await client.any()).request(CreateTopics, body, { fromVersion: 5 })
      const result = answer.topics[0]
      assert(result !== undefined, 'CreateTopics without the topic')
      const { errorCode, errorMessage } = result
      // A repeated request finds what the first one made.
      if (errorCode === 0 || errorCode === ErrorCode.TOPIC_ALREADY_EXISTS) return true
      assert(isRetriable(errorCode), `CreateTopics: ${errorName(errorCode)} ${errorMessage}`)
      return null
    })
  }
}

function settingsOf(index: number, options: ClusterOptions): Record<string, string> {
  const { controllers = 0, zones = 0, settings = {} } = options
  const result: Record<string, string> = { ...settings }
  if (controllers > 0) result['process.roles'] = index < controllers ? 'controller' : 'broker'
  if (zones > 0) result['broker.rack'] = `zone-${(index % zones) + 1}`
  if (index > 0) result['join'] = `node-1:${CONTROLLER_PORT}`
  return result
}
