import { assert } from '../../base/assert.ts'
import type { Random } from '../../base/random.ts'
import type { Address } from '../../env/net.ts'
import { CreateTopics } from '../../protocol/apis/create-topics.ts'
import { ErrorCode, errorName, isRetriable } from '../../protocol/errors.ts'
import { ClusterClient } from '../clients/cluster-client.ts'
import { History, type LeaderAnswer } from '../history/history.ts'
import type { Machine, Process } from '../machine.ts'
import type { Sim } from '../sim.ts'
import { CLIENT_PORT } from './node-config.ts'
import { SimNode } from './sim-node.ts'

export interface ClusterOptions {
  readonly brokers: number
  /** Keys of `server.properties`, the same on all nodes. */
  readonly settings?: Readonly<Record<string, string>>
  /**
   * Called when a node gave up: its start failed, or it found that it cannot go on. Its process has ended then. Default:
   * the run fails.
   */
  readonly onGivenUp?: (node: SimNode, error: unknown) => void
}

/** The nodes of one cluster and clients of it. */
export class SimCluster {
  readonly nodes: readonly SimNode[]
  /** What all clients of this cluster saw. */
  readonly history = new History()
  readonly #sim: Sim
  #clients = 0

  constructor(sim: Sim, options: ClusterOptions) {
    this.#sim = sim
    const { brokers, settings = {}, onGivenUp = (_node, error) => sim.scheduler.fail(error) } = options
    this.nodes = Array.from({ length: brokers }, (_, i) => new SimNode(sim, { nodeId: i + 1, settings, onGivenUp }))
    for (const node of this.nodes) node.start()
  }

  get bootstrap(): Address[] {
    return this.nodes.map(({ machine }) => ({ host: machine.host.ip, port: CLIENT_PORT }))
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
