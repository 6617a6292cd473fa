import { topicConfigSource } from '../controller/topic-config.ts'
import { sleep } from '../env/clock.ts'
import { changesBetween } from '../metadata/changes.ts'
import { MetadataImage } from '../metadata/image.ts'
import { type PartitionRecord, ResourceType } from '../metadata/records.ts'
import { NO_TOPIC_ID } from '../model/ids.ts'
import { AlterPartition, type AlterPartitionRequest } from '../protocol/apis/alter-partition.ts'
import type { AssignReplicasToDirsRequest } from '../protocol/apis/assign-replicas-to-dirs.ts'
import { batchesOf, recordsOf } from '../protocol/batch/records.ts'
import type { ClusterOptions, ReplicaOptions } from '../replica/options.ts'
import { ReplicaManager } from '../replica/replica-manager.ts'
import type { Partition } from '../replica/partition.ts'
import { Peers } from '../rpc/peers.ts'
import { Acceptor } from '../server/connections/acceptor.ts'
import { DEFAULT_LIMITS } from '../server/connections/limits.ts'
import { Dispatcher } from '../server/dispatch/dispatcher.ts'
import { apiVersions } from '../server/handlers/api-versions.ts'
import { replicaApis } from '../server/handlers/replica-apis.ts'
import type { Loss } from '../sim/disk/power-loss.ts'
import type { Machine, Process } from '../sim/machine.ts'
import type { Sim } from '../sim/sim.ts'
import { LogManager } from '../storage/log-manager.ts'
import { newPartition, PlayedController } from './played-controller.ts'
import {
  type FetchOptions,
  type FetchedPartition,
  fetchRequest,
  type ProducedPartition,
  type ProduceOptions,
  requestContext,
  topicIdOf,
} from './replica-node.ts'

const PORT = 9092
/** From the controller to a broker, and back. */
const CONTROLLER_MS = 1

export interface ClusterSettings {
  readonly nodes?: number
  readonly replica?: Partial<ReplicaOptions>
}

/** Replica managers on simulated machines, joined by the simulated network, under a played controller. */
export class ReplicaCluster {
  readonly sim: Sim
  readonly controller = new PlayedController(MetadataImage.empty)
  readonly nodes: ReplicaMember[]
  readonly settings: ClusterSettings

  private constructor(sim: Sim, settings: ClusterSettings) {
    this.sim = sim
    this.settings = settings
    const count = settings.nodes ?? 3
    this.nodes = Array.from({ length: count }, (_, index) => new ReplicaMember(this, index + 1))
    this.controller.onImage = () => {
      for (const node of this.nodes) node.hear()
    }
  }

  static async start(sim: Sim, settings: ClusterSettings = {}): Promise<ReplicaCluster> {
    const cluster = new ReplicaCluster(sim, settings)
    for (const node of cluster.nodes) await node.start()
    return cluster
  }

  node(id: number): ReplicaMember {
    return this.nodes[id - 1] as ReplicaMember
  }

  /** On all nodes, led by the first, unless said otherwise. */
  createTopic(
    name: string,
    {
      partitions = 1,
      idByte = 7,
      configs = {},
      replicas = this.nodes.map(({ id }) => id),
      ...more
    }: {
      readonly partitions?: number
      readonly idByte?: number
      readonly configs?: Readonly<Record<string, string>>
      readonly replicas?: readonly number[]
    } & Partial<PartitionRecord> = {},
  ): void {
    const topicId = topicIdOf(idByte)
    this.controller.commit(
      { type: 'Topic', value: { name, topicId } },
      ...Object.entries(configs).map(([key, value]) => ({
        type: 'Config' as const,
        value: { resourceType: ResourceType.topic, resourceName: name, name: key, value },
      })),
      ...Array.from({ length: partitions }, (_, index) => newPartition(topicId, index, { replicas, ...more })),
    )
  }

  deleteTopic(name: string): void {
    const topicId = this.controller.image.topic(name)?.topicId as string
    this.controller.commit({ type: 'RemoveTopic', value: { topicId } })
  }

  /** Kills the process and has the controller notice after `noticedMs`. */
  async kill(id: number, { noticedMs = 50 }: { readonly noticedMs?: number } = {}): Promise<void> {
    this.node(id).kill()
    await this.sim.runFor(noticedMs)
    this.controller.fence(id)
  }
}

/** One node: a machine, and on it, while it runs, logs and replicas that are served on port 9092. */
export class ReplicaMember {
  readonly id: number
  readonly machine: Machine
  /** False: what the controller decides does not reach it, nor the other way round. */
  isConnected = true
  readonly losses: string[] = []
  readonly #cluster: ReplicaCluster
  #running: Running | null = null

  constructor(cluster: ReplicaCluster, id: number) {
    this.id = id
    this.#cluster = cluster
    this.machine = cluster.sim.addMachine(`node-${id}`)
  }

  get replicas(): ReplicaManager {
    return (this.#running as Running).replicas
  }

  get logs(): LogManager {
    return (this.#running as Running).logs
  }

  get isRunning(): boolean {
    return this.#running !== null
  }

  partition(topic: string, index = 0): Partition {
    const partition = this.replicas.hosted.get(topic, index)
    if (partition === undefined) throw new Error(`node ${this.id} does not host ${topic}-${index}`)
    return partition
  }

  /** A new process: registers, opens its logs, is unfenced. */
  async start(options: { readonly staysInSync?: boolean } = {}): Promise<void> {
    const { controller } = this.#cluster
    const process = this.machine.boot()
    const brokerEpoch = controller.register(this.id, topicIdOf(100 + this.id), options)
    const running = await Running.open(this.#cluster, this, process, brokerEpoch)
    this.#running = running
    controller.unfence(this.id)
  }

  kill(): void {
    if (this.#running !== null) this.machine.kill(this.#running.process)
    this.#running = null
  }

  losePower(loss: Loss = 'any'): void {
    this.#running = null
    this.machine.losePower(loss)
  }

  hear(): void {
    if (this.isConnected) this.#running?.hear()
  }

  /** Produces one batch to partition 0 of `topic`. */
  async produce(topic: string, batch: Buffer, options: ProduceOptions = {}): Promise<ProducedPartition> {
    const { acks = -1, timeoutMs = 30_000, version = 12, partition = 0 } = options
    const partitionData = [{ index: partition, records: [batch] }]
    const topicData = [{ name: topic, topicId: NO_TOPIC_ID, partitionData }]
    const request = { transactionalId: null, acks, timeoutMs, topicData }
    const answer = await this.replicas.produce(request, requestContext(version))
    return answer.responses[0]?.partitionResponses[0] as ProducedPartition
  }

  async fetch(topic: string, options: FetchOptions = {}): Promise<FetchedPartition> {
    const { version = 12 } = options
    const answer = await this.replicas.fetch(fetchRequest([[topic, options]], options), requestContext(version))
    return answer.responses[0]?.partitions[0] as FetchedPartition
  }

  /** All that the log of the replica holds, committed or not. */
  async held(topic: string, index = 0): Promise<string[]> {
    const { log } = this.partition(topic, index)
    if (log === null || log.logStartOffset === log.endOffset) return []
    const limits = { maxBytes: 1e9, limitOffset: log.endOffset, atLeastOneBatch: true }
    const { buffers } = await log.read(log.logStartOffset, limits)
    const all = Buffer.concat(buffers)
    return [...batchesOf(all)].flatMap((at) => [...recordsOf(all, at)].map(({ value }) => value?.toString() ?? ''))
  }
}

/** What lives and dies with a process. */
class Running {
  readonly process: Process
  readonly replicas: ReplicaManager
  readonly logs: LogManager
  readonly #cluster: ReplicaCluster
  #image: MetadataImage
  #turn: Promise<void> = Promise.resolve()

  private constructor(cluster: ReplicaCluster, process: Process, logs: LogManager, replicas: ReplicaManager) {
    this.#cluster = cluster
    this.process = process
    this.logs = logs
    this.replicas = replicas
    this.#image = cluster.controller.image
  }

  static async open(
    cluster: ReplicaCluster,
    member: ReplicaMember,
    process: Process,
    brokerEpoch: number,
  ): Promise<Running> {
    const { env } = process
    const { id: nodeId } = member
    const logs = await LogManager.open(env, { folder: '/data', nodeId, clusterId: 'test-cluster' })
    const options = { clientId: `node-${nodeId}`, connectTimeoutMs: 2000, requestTimeoutMs: 5000 }
    const joined: ClusterOptions = {
      peers: new Peers(env.net, env.timers, options),
      addressOf: (id) => ({ host: cluster.node(id).machine.name, port: PORT }),
      brokerEpoch: () => brokerEpoch,
      controller: {
        async send(api, request) {
          await sleep(env.timers, CONTROLLER_MS)
          if (!member.isConnected) throw new Error('the controller cannot be reached')
          const { controller } = cluster
          const answer =
            api.key === AlterPartition.key
              ? controller.alterPartition(request as AlterPartitionRequest)
              : controller.assignReplicasToDirs(request as AssignReplicasToDirsRequest)
          await sleep(env.timers, CONTROLLER_MS)
          if (!member.isConnected) throw new Error('the controller cannot be reached')
          return answer as never
        },
      },
    }
    const replicas = new ReplicaManager(env, {
      nodeId,
      logs,
      folder: '/data',
      configOf: (topic, at) => topicConfigSource(at, { brokerId: nodeId, staticValues: new Map() }, topic),
      events: {
        onLead() {},
        onResign() {},
        onOffline() {},
        onCommittedLoss: ({ topic, partition }, { from }) => member.losses.push(`${topic}-${partition} from ${from}`),
      },
      cluster: joined,
      ...cluster.settings.replica,
    })
    const running = new Running(cluster, process, logs, replicas)
    await replicas.start(cluster.controller.image)
    await serveOn(process, nodeId, replicas)
    running.hear()
    return running
  }

  /** The newest image, a little later; one at a time. */
  hear(): void {
    const { env } = this.process
    this.#turn = this.#turn.then(async () => {
      await sleep(env.timers, CONTROLLER_MS)
      const { image } = this.#cluster.controller
      if (image === this.#image) return
      const changes = changesBetween(this.#image, image)
      this.#image = image
      await this.replicas.applyImage(changes, image)
    })
  }
}

async function serveOn({ env }: Process, nodeId: number, replicas: ReplicaManager): Promise<void> {
  const apis = replicaApis(replicas)
  const features = () => ({ supported: [], finalized: [], epoch: 0 })
  apis.push(apiVersions({ clusterId: 'test-cluster', nodeId, apis, features }))
  const dispatcher = new Dispatcher(apis, (error) => {
    throw error
  })
  const acceptor = new Acceptor({
    env,
    limits: DEFAULT_LIMITS,
    dispatch: (connection, frame) => dispatcher.dispatch(connection, frame),
    serves: (apiKey) => dispatcher.serves(apiKey),
    endpointOf: () => null,
  })
  await acceptor.listen('PLAINTEXT', { host: '0.0.0.0', port: PORT })
  acceptor.open()
}
