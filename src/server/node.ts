import { assert } from '../base/assert.ts'
import { type BrokerContext, brokerNumber } from '../controller/config-view.ts'
import { topicConfigSource } from '../controller/topic-config.ts'
import { OFFSETS_TOPIC } from '../controller/topic-names.ts'
import { GroupCoordinator } from '../coordinator/group-coordinator.ts'
import type { Env } from '../env/env.ts'
import { type Address, NetError } from '../env/net.ts'
import type { MetadataChanges } from '../metadata/changes.ts'
import type { MetadataImage } from '../metadata/image.ts'
import { ResourceType } from '../metadata/records.ts'
import type { TopicId } from '../model/ids.ts'
import { BrokerLifecycle } from '../quorum/broker-lifecycle.ts'
import { openQuorum } from '../quorum/open.ts'
import type { Quorum } from '../quorum/quorum.ts'
import { ReplicaManager } from '../replica/replica-manager.ts'
import { Peers } from '../rpc/peers.ts'
import type { LogManager } from '../storage/log-manager.ts'
import { reachableHost, registeredListeners } from './registered-listeners.ts'
import { formatAddress, type ListenerConfig } from './config/listeners.ts'
import type { NodeConfig } from './config/node-config.ts'
import { Acceptor } from './connections/acceptor.ts'
import type { ConnectionLimits } from './connections/limits.ts'
import type { ClientConnection } from './connections/client-connection.ts'
import { takeDataFolder } from './data-folder.ts'
import { type DescriptorShares, shareDescriptors } from './descriptors.ts'
import { Dispatcher } from './dispatch/dispatcher.ts'
import { Endpoints } from './endpoints.ts'
import { cleanerLimitsOf } from './cleaner-limits.ts'
import { groupConfigOf } from './group-config.ts'
import { GROUP_OPERATIONS } from './handlers/authorized-operations.ts'
import type { HealthCheck, HealthReport } from './http/health.ts'
import type { HttpSource } from './http/http-routes.ts'
import { ImagePublisher } from './image-publisher.ts'
import { limitsUnder } from './live-limits.ts'
import { LocalController } from './local-controller.ts'

import type { Family } from './metrics/family.ts'
import { nodeMetrics } from './metrics/node-metrics.ts'
import { nodeApis } from './node-apis.ts'
import type { MetadataSource } from './services.ts'

export interface NodeOptions {
  readonly version: string
  /** The name of this machine, told to other nodes where a listener binds every interface and nothing is advertised. */
  readonly hostName: string
  /** A bug showed itself: nothing in memory can be trusted any more. The process should end. */
  onBug(error: unknown): void
  /** How many files and sockets this process may open; null or left out: not known. */
  readonly descriptorLimit?: number | null
  /** Level of the node's log, by Kafka's names. */
  readonly logLevel?: { get(): string; set(level: string): void }
}

/** `stop` was called before the node served. */
export class StartStoppedError extends Error {
  override name = 'StartStoppedError'
}

/** For a connection to another node, and for its answer unless the request says otherwise. */
const PEER_TIMEOUT_MS = 1000
/** How long a stop waits for the controller to move leaderships to other nodes. */
const HAND_OVER_MS = 500

export interface BoundListener extends ListenerConfig {
  readonly bound: Address
}

/** The parts of a node, each from the moment it has been opened. */
interface Parts {
  logs?: LogManager
  metadata?: Quorum
  replicas?: ReplicaManager
  groups?: GroupCoordinator
  lifecycle?: BrokerLifecycle
}

/**
 * One node: broker and controller over an `Env`. It is the same in production, in the simulator and embedded in a test.
 * Life cycle: `start` once; `stop` at any time, also while it starts and after a `start` that failed. After a crash the
 * object is dropped.
 */
export class Node implements HttpSource {
  readonly config: NodeConfig
  readonly #env: Env
  readonly #options: NodeOptions
  readonly #broker: BrokerContext
  readonly #publisher = new ImagePublisher((changes, image) => this.#applyImage(changes, image))
  readonly #acceptor: Acceptor
  readonly #peers: Peers
  readonly #descriptors: DescriptorShares
  readonly #endpoints: Endpoints
  #dispatchers: { readonly broker: Dispatcher; readonly controller: Dispatcher } | null = null
  #listeners: readonly BoundListener[] = []
  #controllerAddress: Address | null = null
  readonly #parts: Parts = {}
  /** What the node is doing, in words, until it serves; null then. */
  #unready: string | null = 'not started'
  #starting: Promise<void> | null = null
  #stopping: Promise<boolean> | null = null

  constructor(env: Env, config: NodeConfig, options: NodeOptions) {
    this.#env = env
    this.config = config
    this.#options = options
    this.#broker = { brokerId: config.nodeId, staticValues: config.brokerValues }
    this.#endpoints = new Endpoints({
      nodeId: config.nodeId,
      advertised: new Set(config.advertised.keys()),
      image: () => this.#publisher.image,
    })
    this.#descriptors = shareDescriptors(options.descriptorLimit ?? null)
    this.#peers = new Peers(env.net, env.timers, {
      clientId: `node-${config.nodeId}`,
      connectTimeoutMs: PEER_TIMEOUT_MS,
      requestTimeoutMs: PEER_TIMEOUT_MS,
    })
    this.#acceptor = new Acceptor({
      env,
      limits: this.#within(config.limits),
      dispatch: (connection, frame) => this.#dispatch(connection, frame),
      endpointOf: (connection, nodeId) => this.#endpoints.of(connection, nodeId),
    })
  }

  get nodeId(): number {
    return this.config.nodeId
  }

  get clusterId(): string {
    return this.#parts.logs?.metaProperties.clusterId ?? ''
  }

  /** Where clients connect, once started. */
  get listeners(): readonly BoundListener[] {
    return this.#listeners
  }

  get controllerAddress(): Address | null {
    return this.#controllerAddress
  }

  /** Clients connected now. */
  get connectionCount(): number {
    return this.#acceptor.connections.size
  }

  /** The cluster as this node shows it to clients. */
  get image(): MetadataImage {
    return this.#publisher.image
  }

  /**
   * Resolves when clients are served. Rejects with `DataFolderError` (the folder is refused), `NetError` (an address
   * cannot be bound), `RegistrationRefusedError` (another process has this node id), `StartStoppedError`;
   * call `stop` then all the same.
   */
  start(): Promise<void> {
    this.#starting = this.#start()
    return this.#starting
  }

  async #start(): Promise<void> {
    const { config } = this
    const startedMs = this.#env.clock.monotonicMs()
    this.#begin('taking the data folder')
    const { dataFolder: folder, nodeId } = config
    const reserveBytes = config.settings.number('log.min.free.bytes')
    const openFilesMax = this.#descriptors.logFilesMax
    const logs = await takeDataFolder(this.#env, { folder, nodeId, reserveBytes, openFilesMax })
    this.#parts.logs = logs
    this.#begin('binding the listeners')
    await this.#listen()
    this.#begin('joining the metadata quorum')
    const metadata = await this.#openMetadata(logs)
    this.#parts.metadata = metadata
    this.#begin('registering with the controller')
    const lifecycle = this.#newLifecycle(logs, metadata)
    this.#parts.lifecycle = lifecycle
    await lifecycle.register()
    this.#begin('opening the logs')
    await this.#openPartitions(logs, metadata)
    this.#begin('waiting for the controller to let this node serve')
    await lifecycle.serve()
    await this.#publisher.reached(metadata.image.position.offset)
    this.#begin('opening its doors')
    this.#serve(metadata, lifecycle)
    this.#unready = null
    const tookMs = Math.round(this.#env.clock.monotonicMs() - startedMs)
    this.#env.log.info('serving', { nodeId: config.nodeId, clusterId: this.clusterId, tookMs })
  }

  /** Begins a step of the start; between two of them the node can be stopped. */
  #begin(step: string): void {
    if (this.#stopping !== null) throw new StartStoppedError('the node was stopped while it started')
    this.#unready = step
  }

  /**
   * Answers what it can, writes everything down, and leaves the mark of a clean stop last. Returns whether it could:
   * without the mark the next start looks through the ends of the logs.
   */
  stop(): Promise<boolean> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<boolean> {
    if (this.#unready !== null) await this.#endStart()
    this.#unready = 'stopping'
    const { logs, metadata, replicas, groups, lifecycle } = this.#parts
    await this.#acceptor.stopListening()
    // A group member that is told nothing comes back sooner than one that is told to look for another coordinator.
    if (lifecycle !== undefined && this.#hasOthers()) await lifecycle.shutDown(HAND_OVER_MS)
    lifecycle?.abandon()
    this.#publisher.close()
    await replicas?.stop()
    groups?.close()
    this.#acceptor.endAll()
    await metadata?.stop()
    this.#peers.close()
    const isClean = await logs?.close({ brokerEpoch: lifecycle?.brokerEpoch ?? -1 })
    this.#unready = 'stopped'
    return isClean ?? true
  }

  /** What a start waits for may never come now; where it stands it ends, and nothing is opened after that. */
  async #endStart(): Promise<void> {
    this.#parts.lifecycle?.abandon()
    this.#parts.replicas?.interrupt()
    this.#publisher.close()
    // Its caller hears why it ended.
    await this.#starting?.catch(() => undefined)
  }

  health(): HealthReport {
    const { logs, replicas } = this.#parts
    replicas?.refreshGauges()
    const offline = replicas?.metrics.partitionsOffline ?? 0
    const ready: HealthCheck[] = [
      { name: 'start', problem: this.#unready },
      {
        name: 'controller',
        problem:
          this.image.broker(this.nodeId)?.fenced === false ? null : 'this node is fenced: no client is sent here',
      },
      { name: 'disk', problem: logs?.readOnlyReason ?? null },
      { name: 'logs', problem: offline === 0 ? null : `${offline} partitions are offline: their logs failed` },
    ]
    return { live: [{ name: 'event loop', problem: null }], ready }
  }

  metrics(): Iterable<Family> {
    const { logs, replicas, groups } = this.#parts
    if (logs === undefined || replicas === undefined || groups === undefined || this.#dispatchers === null) return []
    replicas.refreshGauges()
    return nodeMetrics({
      version: this.#options.version,
      nodeId: this.config.nodeId,
      clusterId: this.clusterId,
      acceptor: this.#acceptor,
      dispatchers: this.#dispatchers,
      replicas: replicas.metrics,
      storage: logs.usage,
      cleaner: logs.cleanerStats,
      isReadOnly: !logs.isWritable,
      groups: groups.groupCount,
      metadataOffset: this.#publisher.image.position.offset,
    })
  }

  async #listen(): Promise<void> {
    const bound: BoundListener[] = []
    for (const listener of this.config.listeners) {
      bound.push({ ...listener, bound: await this.#bind(listener) })
    }
    this.#listeners = bound
    this.#controllerAddress = await this.#bind(this.config.controllerListener)
  }

  async #bind(listener: ListenerConfig): Promise<Address> {
    try {
      return await this.#acceptor.listen(listener.name, bindAddress(listener))
    } catch (error) {
      if (!(error instanceof NetError)) throw error
      const { name, host, port } = listener
      const where = `${name}://${formatAddress({ host, port })} (listeners, ${this.config.settings.where('listeners')})`
      throw new NetError(error.code, `cannot listen on ${where}: ${error.message}`, { cause: error })
    }
  }

  #openMetadata(logs: LogManager): Promise<Quorum> {
    const { dataFolder, controllerListener } = this.config
    const { host, port } = this.#controllerAddress as Address
    return openQuorum(this.#env, {
      logs,
      dataFolder,
      broker: this.#broker,
      isController: true,
      listener: controllerListener.name,
      endpoints: [{ name: controllerListener.name, host: reachableHost(host, this.#options.hostName), port }],
      peers: this.#peers,
      join: [],
      autoJoin: false,
      onImage: (changes, image) => this.#publisher.take(changes, image),
      onFailure: (error) => this.#bug(error),
    })
  }

  #newLifecycle(logs: LogManager, metadata: Quorum): BrokerLifecycle {
    return new BrokerLifecycle(this.#env, {
      brokerId: this.config.nodeId,
      clusterId: this.clusterId,
      directoryId: logs.metaProperties.directoryId,
      listeners: registeredListeners(this.config, this.#listeners, this.#options.hostName),
      rack: this.config.zone,
      previousBrokerEpoch: logs.previousBrokerEpoch,
      lastBrokerEpoch: null,
      countsDurable: this.#broker.staticValues.get('log.durability.mode') !== 'relaxed',
      heartbeatIntervalMs: brokerNumber(metadata.image, this.#broker, 'broker.heartbeat.interval.ms'),
      controller: new LocalController(metadata),
      appliedOffset: () => this.image.position.offset,
      onRefused: (error) => this.#bug(error),
    })
  }

  async #openPartitions(logs: LogManager, metadata: Quorum): Promise<void> {
    const { image } = metadata
    this.#publisher.hold(image)
    this.#applyBrokerConfigs(image)
    const number = (key: string) => brokerNumber(image, this.#broker, key)
    this.#parts.groups = new GroupCoordinator({
      env: this.#env,
      config: groupConfigOf(image, this.#broker),
      topics: {
        idOf: (name) => this.image.topic(name)?.topicId ?? null,
        nameOf: (id) => this.image.topicById(id)?.name ?? null,
      },
      partitionCount: () => this.image.topic(OFFSETS_TOPIC)?.partitions.length ?? null,
      groupOperations: GROUP_OPERATIONS,
    })
    const replicas = new ReplicaManager(this.#env, {
      nodeId: this.config.nodeId,
      logs,
      folder: this.config.dataFolder,
      configOf: (topic, at) => topicConfigSource(at, this.#broker, topic),
      answers: this.#acceptor.answers,
      removedTopics: () => metadata.removedTopics(),
      lagTimeMaxMs: number('replica.lag.time.max.ms'),
      fetchMaxBytes: number('fetch.max.bytes'),
      producerIdExpirationOf: (at) => brokerNumber(at, this.#broker, 'producer.id.expiration.ms'),
      retentionIntervalMs: number('log.retention.check.interval.ms'),
      cleanerLimitsOf: (at) => cleanerLimitsOf(at, this.#broker),
      highWatermarkIntervalMs: number('replica.high.watermark.checkpoint.interval.ms'),
      events: {
        onLead: (topicPartition, log) => {
          if (topicPartition.topic === OFFSETS_TOPIC) this.#parts.groups?.onLead(topicPartition.partition, log)
        },
        onResign: ({ topic, partition }) => {
          if (topic === OFFSETS_TOPIC) this.#parts.groups?.onResign(partition)
        },
        onOffline: ({ topic, partition }, error) => {
          this.#env.log.error('a partition is offline', { topic, partition, reason: error.message })
        },
      },
    })
    this.#parts.replicas = replicas
    await replicas.start(image)
    this.#publisher.begin()
  }

  /** Asks of this node what a new image asks, before clients see it. */
  async #applyImage(changes: MetadataChanges, image: MetadataImage): Promise<void> {
    const { replicas, groups } = this.#parts
    await replicas?.applyImage(changes, image)
    if (changes.configs.some(({ type }) => type === ResourceType.broker)) this.#applyBrokerConfigs(image)
    if (groups === undefined) return
    if (changes.deletedTopics.length === 0) return
    const deleted = new Map(changes.deletedTopics.map(({ name, topicId }): [string, TopicId] => [name, topicId]))
    groups.forgetTopics(deleted).catch((error: unknown) => this.#bug(error))
  }

  /** What was set at run time, now or in an earlier life, stands above the node's own settings. */
  #applyBrokerConfigs(image: MetadataImage): void {
    const { groups } = this.#parts
    if (groups !== undefined) groups.config = groupConfigOf(image, this.#broker)
    this.#acceptor.limits = this.#within(limitsUnder(this.config.limits, image, this.#broker))
  }

  #within(limits: ConnectionLimits): ConnectionLimits {
    return { ...limits, connectionsMax: Math.min(limits.connectionsMax, this.#descriptors.connectionsMax) }
  }

  #serve(metadata: Quorum, lifecycle: BrokerLifecycle): void {
    const source: MetadataSource = {
      env: this.#env,
      clusterId: this.clusterId,
      nodeId: this.config.nodeId,
      image: () => this.#publisher.image,
      activeController: () => metadata.activeController(),
    }
    const apis = nodeApis({
      source,
      endpoints: this.#endpoints,
      broker: this.#broker,
      channel: new LocalController(metadata),
      describeQuorum: (request) => metadata.describeQuorum(request),
      kraftVersion: () => metadata.kraftVersion,
      replicas: this.#parts.replicas as ReplicaManager,
      groups: this.#parts.groups as GroupCoordinator,
      brokerEpoch: () => lifecycle.brokerEpoch,
      caughtUp: () => this.#publisher.reached(metadata.image.position.offset),
      logLevel: this.#options.logLevel ?? { get: () => 'INFO', set() {} },
    })
    const bug = (error: unknown) => this.#bug(error)
    this.#dispatchers = { broker: new Dispatcher(apis.broker, bug), controller: new Dispatcher(apis.controller, bug) }
    this.#acceptor.open()
  }

  #dispatch(connection: ClientConnection, frame: Buffer): string | null {
    const dispatchers = this.#dispatchers
    assert(dispatchers !== null, 'a request before the gate was opened')
    const isQuorums = connection.listenerName === this.config.controllerListener.name
    return (isQuorums ? dispatchers.controller : dispatchers.broker).dispatch(connection, frame)
  }

  /** Other nodes that could take over what this one leads. */
  #hasOthers(): boolean {
    for (const [nodeId, { fenced }] of this.image.brokers) if (nodeId !== this.config.nodeId && !fenced) return true
    return false
  }

  #bug(error: unknown): void {
    this.#acceptor.destroyAll()
    this.#options.onBug(error)
  }
}

/** An empty host, as in `PLAINTEXT://:9092`, binds every interface. */
function bindAddress({ host, port }: Address): Address {
  return { host: host === '' ? '0.0.0.0' : host, port }
}
