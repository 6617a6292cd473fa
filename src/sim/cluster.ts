import { assert } from '../base/assert.ts'
import type { Random } from '../base/random.ts'
import type { Address } from '../env/net.ts'
import { nodeConfig } from '../server/config/node-config.ts'
import { resolveSettings, type Setting } from '../server/config/settings.ts'
import { Node, StartStoppedError } from '../server/node.ts'
import { CreateTopics } from '../protocol/apis/create-topics.ts'
import { ErrorCode, errorName, isRetriable } from '../protocol/errors.ts'
import { ClusterClient } from './clients/cluster-client.ts'
import { History, type LeaderAnswer } from './history/history.ts'
import type { Loss } from './disk/power-loss.ts'
import type { Machine, Process } from './machine.ts'
import type { Sim } from './sim.ts'

const CLIENT_PORT = 9092
const CONTROLLER_PORT = 9093
/** After a clean stop. */
const CLOSED_WITHIN_MS = 10_000
export const DATA_FOLDER = '/data'

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

/** One node on a machine of its own, through all its incarnations. */
export class SimNode {
  readonly nodeId: number
  readonly machine: Machine
  readonly #sim: Sim
  readonly #settings: Readonly<Record<string, string>>
  readonly #onGivenUp: (node: SimNode, error: unknown) => void
  #process: Process | null = null
  #node: Node | null = null
  /** Serves clients now. */
  isServing = false

  constructor(sim: Sim, nodeId: number, { settings = {}, onGivenUp }: ClusterOptions) {
    this.#sim = sim
    this.nodeId = nodeId
    this.machine = sim.addMachine(`node-${nodeId}`)
    this.#settings = settings
    this.#onGivenUp = onGivenUp ?? ((_node, error) => sim.scheduler.fail(error))
  }

  get node(): Node | null {
    return this.#node
  }

  get process(): Process | null {
    return this.#process
  }

  get isRunning(): boolean {
    return this.#process !== null
  }

  /** Starts an incarnation. A start that fails, or a bug that shows itself, fails the run. */
  start(): void {
    assert(this.#process === null, `${this.machine.name} is running`)
    const process = this.machine.boot()
    const config = configOf(this.nodeId, this.#settings)
    const node = new Node(process.env, config, {
      version: 'simulated',
      hostName: this.machine.host.ip,
      onBug: (error) => this.#gaveUp(process, error),
    })
    this.#process = process
    this.#node = node
    node.start().then(
      () => {
        this.isServing = true
      },
      (error) => {
        if (!(error instanceof StartStoppedError)) this.#gaveUp(process, error)
      },
    )
  }

  /** The process ends in an event of its own: what called us may still be running in it. */
  #gaveUp(process: Process, error: unknown): void {
    this.#sim.after(0, () => {
      if (this.#process !== process) return
      this.kill()
      this.#onGivenUp(this, error)
    })
  }

  /** As `kill -9`. */
  kill(): void {
    const process = this.#ended()
    if (process) this.machine.kill(process)
  }

  losePower(loss: Loss): void {
    this.#ended()
    this.machine.losePower(loss)
  }

  /** As SIGTERM, also while it starts: the process ends when the node has stopped. */
  async stop(): Promise<void> {
    const [node, process] = [this.#node, this.#process]
    assert(node !== null && process !== null, `${this.machine.name} is not running`)
    this.isServing = false
    await node.stop()
    if (this.#process !== process) return
    // A read that nobody waits for any more may still be under way.
    const { disk } = process
    await this.#sim.until(() => disk.openFiles === 0, {
      withinMs: CLOSED_WITHIN_MS,
      what: () => `all files are closed (${disk.openPaths.join(', ')})`,
    })
    this.kill()
  }

  #ended(): Process | null {
    const process = this.#process
    this.#process = null
    this.#node = null
    this.isServing = false
    return process
  }
}

function configOf(nodeId: number, settings: Readonly<Record<string, string>>) {
  const values: Record<string, string> = {
    'node.id': String(nodeId),
    listeners: `PLAINTEXT://:${CLIENT_PORT},CONTROLLER://:${CONTROLLER_PORT}`,
    'controller.listener.names': 'CONTROLLER',
    'http.listen': 'off',
    'log.dirs': DATA_FOLDER,
    ...settings,
  }
  const given = Object.entries(values).map(
    ([key, value]): Setting => ({ key, value, origin: 'flag', where: 'scenario' }),
  )
  const { settings: resolved, errors } = resolveSettings(given)
  assert(errors.length === 0, errors.join(', '))
  const { config, errors: wrong } = nodeConfig(resolved)
  assert(wrong.length === 0, wrong.join(', '))
  return config
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
    this.nodes = Array.from({ length: options.brokers }, (_, i) => new SimNode(sim, i + 1, options))
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
